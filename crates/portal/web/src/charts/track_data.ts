// The part of an answer that belongs to a track, in the form that the chart draws: one time axis and, for every signal,
// its highest and lowest values.

import { columnOf } from "../data_columns";
import { type Aligned, aligned, broken, type Gap, joinLimit, type Series, type SeriesAnswer } from "./series";
import type { Signal, Track } from "./tracks";

/** A signal that has arrived. */
export interface Drawn {
  signal: Signal;
  label: string;
  series: Series;
}

/** A track with its data. */
export interface TrackData {
  drawn: Drawn[];
  t: number[];
  /** Highest, then lowest values of each drawn signal. */
  columns: Aligned[];
  gaps: Gap[];
}

/** The signals of a track in an answer. One channel more is one line more. */
export function drawnOf(track: Track, answer: SeriesAnswer): Drawn[] {
  return track.signals.flatMap((signal) => {
    const found = answer.series.filter((series) => signal.name === `${series.type}.${series.column}`);
    return found
      .filter((series) => series.t.length > 0)
      .map((series) => ({ signal, series: known(series), label: labelOf(signal, series, found.length) }));
  });
}

function labelOf(signal: Signal, series: Series, channels: number): string {
  return series.channel && channels > 1 ? `${signal.label} ${series.channel.replaceAll(".", " ")}` : signal.label;
}

/** Drops rows that represent "no value". A score that cannot be given stays: it ends the one before. */
function known(series: Series): Series {
  if (series.type === "news") return series;
  const none = columnOf(`${series.type}.${series.column}`)?.noValue;
  const dropped = (index: number) => series.max[index] == null || (none !== undefined && series.max[index] === none);
  if (!series.t.some((_, index) => dropped(index))) return series;
  const kept: Series = { ...series, t: [], min: [], max: [] };
  series.t.forEach((at, index) => {
    if (dropped(index)) return;
    kept.t.push(at);
    kept.min.push(series.min[index] ?? null);
    kept.max.push(series.max[index] ?? null);
  });
  return kept;
}

/** Everything that a track draws. */
export function trackData(track: Track, answer: SeriesAnswer): TrackData {
  const drawn = drawnOf(track, answer);
  const lines = drawn.map(({ series }) => {
    if (track.holds) return series;
    const limit = joinLimit(series.t, series.raw ? 0 : (series.bucket_ms ?? answer.bucket_ms), track.usualMs);
    return broken(series, limit, answer.gaps);
  });
  if (lines.length === 0) return { drawn, t: [], columns: [], gaps: answer.gaps };
  const { t, columns } = aligned(lines);
  return { drawn, t, columns: columns.flatMap(({ max, min }) => [max, min]), gaps: answer.gaps };
}

/** Whether an answer brings a track the very series that it draws already. */
export function isDrawn(data: TrackData, track: Track, answer: SeriesAnswer): boolean {
  const drawn = drawnOf(track, answer);
  const same = drawn.length === data.drawn.length && drawn.every(({ series }, at) => series === data.drawn[at]!.series);
  return same && answer.gaps === data.gaps;
}

/** The stretch of the value axis for values between two extremes: at least as long as the track wants. */
export function valueRange(track: Track, min: number | null, max: number | null): [number, number] {
  if (track.fixed) return track.fixed;
  if (min == null || max == null) return [0, track.leastSpan || 1];
  if (track.drawing === "bars") return [0, Math.max(max * 1.08, track.leastSpan)];
  if (track.drawing === "step") return [0, Math.max(max + 1, track.leastSpan)];
  const span = Math.max((max - min) * 1.16, track.leastSpan, 1e-6);
  const middle = (min + max) / 2;
  return [middle - span / 2, middle + span / 2];
}
