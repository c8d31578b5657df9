// What the series route answers, and its drawing form. A bucket carries the exact lowest and highest value, so no
// extreme is ever hidden; a stretch without rows is a break in the line, never a line across it.

/** One signal of an answer. */
export interface Series {
  type: string;
  column: string;
  channel: string | null;
  unit: string;
  raw: boolean;
  t: number[];
  min: (number | null)[];
  max: (number | null)[];
  /** The length of its buckets, where answers of different fineness were put together. */
  bucket_ms?: number;
}

/** Why there are no data. */
export type GapReason = "not_worn" | "charging" | "low_battery" | "not_synced";

/** A stretch without data. */
export interface Gap {
  from: number;
  to: number;
  reason: GapReason;
}

/** The whole answer. */
export interface SeriesAnswer {
  from: number;
  to: number;
  bucket_ms: number;
  series: Series[];
  gaps: Gap[];
  /** The patient's zone. */
  time_zone?: string;
}

/** The name in a request, `ppg2.value.green.0`. */
export function seriesName(series: Pick<Series, "type" | "column" | "channel">): string {
  return [series.type, series.column, ...(series.channel ? [series.channel] : [])].join(".");
}

const REASONS: Record<GapReason, string> = {
  not_worn: "not worn",
  charging: "charging",
  low_battery: "low battery",
  not_synced: "not synced",
};

/** A reason in words. */
export function reasonText(reason: string): string {
  return REASONS[reason as GapReason] ?? reason.replaceAll("_", " ");
}

/** The length above which two neighbouring points are not joined: well over their usual distance. */
export function joinLimit(t: number[], bucketMs: number, usualMs: number): number {
  // One row may be lost without a break, two may not.
  return Math.max(2.5 * bucketMs, 2.5 * usualMs, 2.5 * medianStep(t));
}

function medianStep(t: number[]): number {
  if (t.length < 8) return 0;
  // A sample of the steps is enough: the median of a thousand is that of them all, near enough for a limit.
  const stride = Math.max(1, Math.floor(t.length / 500));
  const steps: number[] = [];
  for (let index = 1; index < t.length; index += stride) steps.push(t[index]! - t[index - 1]!);
  steps.sort((left, right) => left - right);
  return steps[Math.floor(steps.length / 2)]!;
}

/** A signal with `null` put wherever the line has to break. */
export interface Line {
  t: number[];
  min: (number | null)[];
  max: (number | null)[];
}

/** Breaks a signal where rows are missing: over the join limit, or over a gap that lies between two points. */
export function broken(series: Pick<Series, "t" | "min" | "max">, limitMs: number, gaps: Gap[]): Line {
  const line: Line = { t: [], min: [], max: [] };
  let gap = 0;
  for (let index = 0; index < series.t.length; index += 1) {
    const at = series.t[index]!;
    const before = series.t[index - 1];
    if (before !== undefined) {
      while (gap < gaps.length && gaps[gap]!.to <= before) gap += 1;
      const between = gap < gaps.length && gaps[gap]!.from >= before && gaps[gap]!.to <= at;
      if (at - before > limitMs || between) push(line, (before + at) / 2, null, null);
    }
    push(line, at, series.min[index] ?? null, series.max[index] ?? null);
  }
  return line;
}

function push(line: Line, at: number, min: number | null, max: number | null) {
  line.t.push(at);
  line.min.push(min);
  line.max.push(max);
}

/** Values of a column on a common time axis: `undefined` where the signal has no point there, `null` where it breaks. */
export type Aligned = (number | null | undefined)[];

/** Puts several lines on one ascending time axis. */
export function aligned(lines: Line[]): { t: number[]; columns: { min: Aligned; max: Aligned }[] } {
  if (lines.length === 1) return { t: lines[0]!.t, columns: [{ min: lines[0]!.min, max: lines[0]!.max }] };
  const at = lines.map(() => 0);
  const t: number[] = [];
  const columns = lines.map(() => ({ min: [] as Aligned, max: [] as Aligned }));
  for (;;) {
    let next = Infinity;
    for (const [index, line] of lines.entries()) next = Math.min(next, line.t[at[index]!] ?? Infinity);
    if (next === Infinity) return { t, columns };
    t.push(next);
    lines.forEach((line, index) => {
      const here = at[index]!;
      const has = line.t[here] === next;
      columns[index]!.min.push(has ? line.min[here] : undefined);
      columns[index]!.max.push(has ? line.max[here] : undefined);
      if (has) at[index] = here + 1;
    });
  }
}

/** Several answers about the same stretch as one; each signal keeps the length of its own buckets. */
export function together(answers: SeriesAnswer[]): SeriesAnswer {
  const first = answers[0]!;
  const series = answers.flatMap((answer) => answer.series.map((one) => ({ ...one, bucket_ms: answer.bucket_ms })));
  return { ...first, series };
}
