// A signal of codes as blocks: each row or bucket holds until the next, or, unless the track says otherwise, for its own
// length where the next is far.

import type uPlot from "uplot";
import { joinLimit, type Series } from "./series";
import type { Track } from "./tracks";

/** Calls back for every block in sight with its place in pixels of the canvas and its lowest and highest code. */
export function eachBlock(
  plot: uPlot,
  series: Series,
  { usualMs, holds }: Track,
  block: (leftPx: number, widthPx: number, min: number, max: number) => void,
): void {
  const { left: begin, width: whole } = plot.bbox;
  const bucketMs = series.raw ? 0 : (series.bucket_ms ?? 0);
  const limit = holds ? Infinity : joinLimit(series.t, bucketMs, usualMs);
  const lengthMs = holds ? 0 : Math.max(bucketMs, usualMs);
  series.t.forEach((at, index) => {
    const [min, max] = [series.min[index], series.max[index]];
    if (min == null || max == null) return;
    const next = series.t[index + 1];
    const end = next !== undefined && next - at <= limit ? next : at + lengthMs;
    const left = plot.valToPos(at, "x", true);
    const width = Math.max(plot.valToPos(end, "x", true) - left, devicePixelRatio);
    if (left > begin + whole || left + width < begin) return;
    block(left, width, Math.round(min), Math.round(max));
  });
}
