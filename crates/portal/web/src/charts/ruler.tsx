// The times above a stack of charts, once for all of them, on the patient's clock; it stays in sight while the reader
// scrolls. The time under the cursor is written into it directly, without rendering.

import type { RefObject } from "preact";
import { timeLabels, timeMarks, timeStep } from "./axis";
import type { Range } from "./range";
import { AXIS_PX, labelPx, RIGHT_PX } from "./track_chart";
import { clock, shortDate } from "./zone";

interface Props {
  range: Range;
  zone: string;
  widthPx: number;
  now: RefObject<HTMLSpanElement | null>;
}

export function Ruler({ range, zone, widthPx, now }: Props) {
  const plotPx = Math.max(widthPx - AXIS_PX - RIGHT_PX, 1);
  const step = timeStep(range.to - range.from, plotPx, labelPx(range.to - range.from));
  const marks = timeMarks(range.from, range.to, step, zone);
  const labels = timeLabels(marks, step, zone);
  const x = (at: number) => AXIS_PX + ((at - range.from) / (range.to - range.from)) * plotPx;
  return (
    <div class="ruler" aria-hidden="true">
      {marks.map((mark, index) => {
        const left = x(mark);
        // A label that would be cut off says nothing.
        if (left < 20 || left > widthPx - 22) return null;
        return (
          <span key={mark} style={{ left: `${left}px` }}>
            {labels[index]}
          </span>
        );
      })}
      <span class="now" ref={now} hidden />
    </div>
  );
}

/** Writes the time under the cursor into the ruler. */
export function showNow(
  element: HTMLElement | null,
  atMs: number | null,
  range: Range,
  zone: string,
  widthPx: number,
): void {
  if (!element) return;
  element.hidden = atMs === null;
  if (atMs === null) return;
  const span = range.to - range.from;
  const precision = span <= 60_000 ? "millisecond" : span <= 6 * 3_600_000 ? "second" : "minute";
  element.textContent = `${clock(atMs, zone, precision)}\n${shortDate(atMs, zone)}`;
  const plotPx = widthPx - AXIS_PX - RIGHT_PX;
  const left = AXIS_PX + ((atMs - range.from) / span) * plotPx;
  element.style.left = `${Math.min(Math.max(left, 36), widthPx - 36)}px`;
}
