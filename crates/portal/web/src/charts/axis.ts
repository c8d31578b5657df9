// Where a time axis has its marks: at round times of the patient's clock, from milliseconds to days, as far apart as the
// labels need. uPlot's own marks follow the browser's zone, which is not the patient's.

import { clock, dateOf, instantOf, offsetMs, shortDate } from "./zone";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 28, 56, 112].map((count) => count * DAY),
];

/** The smallest round step that leaves at least `gapPx` between two marks. */
export function timeStep(spanMs: number, widthPx: number, gapPx: number): number {
  const least = (spanMs / Math.max(widthPx, 1)) * gapPx;
  return STEPS.find((step) => step >= least) ?? STEPS[STEPS.length - 1]!;
}

/** Round local times inside a range, ascending, as instants. */
export function timeMarks(fromMs: number, toMs: number, stepMs: number, zone: string): number[] {
  const marks: number[] = [];
  let local = Math.ceil((fromMs + offsetMs(fromMs, zone)) / stepMs) * stepMs;
  // Bounded, so that no stretch and step that do not fit each other can hang the page.
  for (let count = 0; count < 1000; count += 1, local += stepMs) {
    const mark = instantOf(local, zone);
    if (mark > toMs) break;
    // Twice the same hour when clocks go back, and one that is skipped when they go forward.
    if (mark >= fromMs && mark > (marks[marks.length - 1] ?? -Infinity)) marks.push(mark);
  }
  return marks;
}

/** Labels of marks; the date is in a second line at the first mark and where a day begins. */
export function timeLabels(marks: number[], stepMs: number, zone: string): string[] {
  const precision = stepMs < SECOND ? "millisecond" : stepMs < MINUTE ? "second" : "minute";
  let shown = "";
  return marks.map((mark) => {
    if (stepMs >= DAY) return shortDate(mark, zone);
    const date = dateOf(mark, zone);
    const label = clock(mark, zone, precision);
    if (date === shown) return label;
    shown = date;
    return `${label}\n${shortDate(mark, zone)}`;
  });
}
