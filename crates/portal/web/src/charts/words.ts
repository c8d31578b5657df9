// A chart in words, for those who do not see it and for those who want the number: lowest and highest with their times,
// the last value, and the stretches without data.

import { lengthText, type Range } from "./range";
import { type Gap, reasonText, type Series } from "./series";
import { clock, rangeText, shortDate } from "./zone";

/** The lowest and highest value of a signal inside a range, and what its last row or bucket holds. */
export interface Extremes {
  lowest: { value: number; at: number };
  highest: { value: number; at: number };
  last: { low: number; high: number; at: number };
}

/** Extremes of a signal; none when it has no value there. */
export function extremes(series: Pick<Series, "t" | "min" | "max">, range: Range): Extremes | null {
  let found: Extremes | null = null;
  series.t.forEach((at, index) => {
    const [min, max] = [series.min[index], series.max[index]];
    if (at < range.from || at > range.to || min == null || max == null) return;
    if (!found) {
      found = { lowest: { value: min, at }, highest: { value: max, at }, last: { low: min, high: max, at } };
      return;
    }
    if (min < found.lowest.value) found.lowest = { value: min, at };
    if (max > found.highest.value) found.highest = { value: max, at };
    found.last = { low: min, high: max, at };
  });
  return found;
}

/** A value with the digits of its column. */
export function valueText(value: number | null | undefined, decimals = 0): string {
  return value == null ? "–" : value.toFixed(decimals);
}

/** The bucket or row nearest to an instant, as text; a bucket shows its lowest and highest. */
export function valueAt(series: Series, atMs: number, withinMs: number, decimals: number): string {
  const index = nearest(series.t, atMs);
  if (index === null || Math.abs(series.t[index]! - atMs) > withinMs) return "–";
  const [min, max] = [series.min[index], series.max[index]];
  const [low, high] = [valueText(min, decimals), valueText(max, decimals)];
  return low === high ? high : `${low}–${high}`;
}

/** The value that holds at an instant, as text. */
export function valueHeldAt(series: Series, atMs: number, decimals: number): string {
  if (atMs > (series.t[series.t.length - 1] ?? -Infinity)) return "–";
  const next = series.t.findIndex((at) => at > atMs);
  return valueText(series.max[(next < 0 ? series.t.length : next) - 1], decimals);
}

/** The index of the time nearest to an instant. */
export function nearest(t: number[], atMs: number): number | null {
  if (t.length === 0) return null;
  let [low, high] = [0, t.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle]! < atMs) low = middle + 1;
    else high = middle;
  }
  return low > 0 && atMs - t[low - 1]! < t[low]! - atMs ? low - 1 : low;
}

/** What a sentence needs of a signal. Without `raw` its times are begins of buckets, within which the values came somewhere. */
type Reported = Pick<Series, "t" | "min" | "max" | "raw" | "bucket_ms">;

/** What a signal is called in a sentence, and how its values are written. */
export interface Naming {
  label: string;
  unit: string;
  decimals: number;
}

/** One signal in a sentence. Of a bucket the time is shown no finer than it is known, and no value as the very last. */
export function signalText(naming: Naming, series: Reported | undefined, range: Range, zone: string): string {
  const { label, unit, decimals } = naming;
  const found = series && extremes(series, range);
  if (!found) return `${label}: no values.`;
  const bucketMs = series.raw ? 0 : (series.bucket_ms ?? 0);
  const at = (instant: number) => `${series.raw ? "" : "about "}${timeText(instant, range, zone, bucketMs)}`;
  const value = (number: number, upTo = number) => {
    const [low, high] = [valueText(number, decimals), valueText(upTo, decimals)];
    return `${low === high ? low : `${low}–${high}`}${unit ? ` ${unit}` : ""}`;
  };
  return (
    `${label}: lowest ${value(found.lowest.value)} at ${at(found.lowest.at)}, ` +
    `highest ${value(found.highest.value)} at ${at(found.highest.at)}, ` +
    `last ${value(found.last.low, found.last.high)} at ${at(found.last.at)}.`
  );
}

/** A time as finely as the range needs it, and no finer than its bucket is long. */
function timeText(instant: number, range: Range, zone: string, bucketMs: number): string {
  const span = range.to - range.from;
  const fine = span <= 20_000 && bucketMs < 1_000;
  const text = clock(
    instant,
    zone,
    fine ? "millisecond" : span <= 1_200_000 && bucketMs < 60_000 ? "second" : "minute",
  );
  return span > 86_400_000 + 3_600_000 ? `${shortDate(instant, zone)} ${text}` : text;
}

/** The gaps inside a range, in a sentence; empty when there are none. */
export function gapsText(gaps: Gap[], range: Range, zone: string): string {
  const inside = gaps.filter((gap) => gap.to > range.from && gap.from < range.to);
  if (inside.length === 0) return "";
  const shown = inside.slice(0, 12).map((gap) => {
    const cut = { from: Math.max(gap.from, range.from), to: Math.min(gap.to, range.to) };
    return `${reasonText(gap.reason)} ${rangeText(cut.from, cut.to, zone)} (${lengthText(cut.to - cut.from)})`;
  });
  const more = inside.length - shown.length;
  return `No data: ${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}
