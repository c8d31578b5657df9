// Sleep stages as blocks on four levels, in the order that sleep laboratories draw them. A bucket that holds several
// stages fills all levels between its lowest and highest: nothing is averaged between stages.

import type uPlot from "uplot";
import { token } from "./colours";
import { joinLimit } from "./series";
import type { Drawn } from "./track_data";
import { stageLevel } from "./tracks";

const COLOURS = ["sleep-deep", "sleep-light", "sleep-rem", "sleep-awake"];

/** Draws the stages that `drawn` returns; `bucketMs` is 0 for rows as they are. */
export function hypnogramBlocks(drawn: () => Drawn | undefined, bucketMs: () => number, usualMs: number): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const stages = drawn();
        if (stages) drawStages(plot, stages, bucketMs(), usualMs);
      },
    },
  };
}

function drawStages(plot: uPlot, { series }: Drawn, bucketMs: number, usualMs: number): void {
  const { ctx, bbox } = plot;
  const colours = COLOURS.map((name) => token(name));
  const limit = joinLimit(series.t, series.raw ? 0 : bucketMs, usualMs);
  const lengthMs = series.raw ? usualMs : Math.max(bucketMs, usualMs);
  const level = (value: number) => plot.valToPos(value, "y", true);
  const half = Math.abs(level(0) - level(1)) * 0.36;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  series.t.forEach((at, index) => {
    const [min, max] = [series.min[index], series.max[index]];
    if (min == null || max == null) return;
    const next = series.t[index + 1];
    const end = next !== undefined && next - at <= limit ? next : at + lengthMs;
    const left = plot.valToPos(at, "x", true);
    const width = Math.max(plot.valToPos(end, "x", true) - left, devicePixelRatio);
    if (left > bbox.left + bbox.width || left + width < bbox.left) return;
    const levels = [stageLevel(Math.round(min)), stageLevel(Math.round(max))].sort((one, other) => one - other);
    for (let at = levels[0]!; at <= levels[1]!; at += 1) {
      ctx.fillStyle = colours[at]!;
      ctx.fillRect(left, level(at) - half, width, 2 * half);
    }
  });
  ctx.restore();
}
