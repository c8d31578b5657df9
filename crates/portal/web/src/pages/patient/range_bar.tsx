// Which days and which stretch of them: every move that keys and the mouse make can be made by buttons, too.

import { lengthText, panned, type Range, zoomed } from "../../charts/range";
import { addDays, dateOf, longDate, rangeText } from "../../charts/zone";
import { Button } from "../../design/button";
import { DAY_CHOICES, isHome, type View } from "./view";

interface Props {
  view: View;
  zone: string;
  /** Named when it is not the reader's own. */
  zoneText: string;
  /** Some civil days; without a date the last ones up to now. */
  onDate(date: string | null, days: number): void;
  onRange(range: Range): void;
}

/** Lengths to go to at once, about the middle of what is seen. */
const CLOSER: [string, number][] = [
  ["6 h", 6 * 3_600_000],
  ["1 h", 3_600_000],
  ["1 min", 60_000],
  ["10 s", 10_000],
  ["1 s", 1000],
];

export function RangeBar({ view, zone, zoneText, onDate, onRange }: Props) {
  const { rolling, date, days, range, home } = view;
  const today = dateOf(Date.now(), zone);
  const span = range.to - range.from;
  return (
    <div class="range-bar">
      <div class="row">
        <Button
          small
          icon="left"
          label={days === 1 ? "Day before" : "Days before"}
          onClick={() => onDate(addDays(date, -days), days)}
        />
        <input
          type="date"
          aria-label={days === 1 ? "Day" : "Last day"}
          value={date}
          onChange={(event) => event.currentTarget.value && onDate(event.currentTarget.value, days)}
        />
        <Button
          small
          icon="right"
          label={days === 1 ? "Day after" : "Days after"}
          disabled={date >= today}
          onClick={() => onDate(addDays(date, days), days)}
        />
        <Button small disabled={rolling && isHome(view)} onClick={() => onDate(null, days)}>
          Now
        </Button>
        <div class="segments" role="group" aria-label="Days">
          {DAY_CHOICES.map((count) => (
            <button
              type="button"
              key={count}
              aria-pressed={days === count && isHome(view)}
              onClick={() => onDate(rolling ? null : date, count)}
            >
              {count === 1 ? (rolling ? "24 h" : "Day") : `${count} d`}
            </button>
          ))}
        </div>
        <div class="segments" role="group" aria-label="Zoom to">
          {CLOSER.map(([name, ms]) => (
            <button
              type="button"
              key={name}
              aria-pressed={Math.abs(span - ms) < 2}
              onClick={() => onRange(closer(range, ms))}
            >
              {name}
            </button>
          ))}
        </div>
        <Button small icon="plus" label="Zoom in" onClick={() => onRange(zoomed(range, 0.5))} />
        <Button small onClick={() => onRange(zoomed(range, 2))} label="Zoom out">
          −
        </Button>
        <Button small icon="left" label="Earlier" onClick={() => onRange(panned(range, -0.5))} />
        <Button small icon="right" label="Later" onClick={() => onRange(panned(range, 0.5))} />
        {!isHome(view) && (
          <Button small kind="quiet" onClick={() => onRange(home)}>
            {days === 1 ? "Whole day" : `All ${days} days`}
          </Button>
        )}
      </div>
      <p class="small soft range-words" role="status">
        <b>{title(view, zone)}</b> · {lengthText(span)} · {zoneText}
      </p>
    </div>
  );
}

function title(view: View, zone: string): string {
  if (!isHome(view)) return rangeText(view.range.from, view.range.to, zone);
  if (view.rolling) return `Up to now, ${rangeText(view.range.from, view.range.to, zone)}`;
  return view.days === 1 ? longDate(view.date) : rangeText(view.range.from, view.range.to, zone);
}

function closer(range: Range, ms: number): Range {
  const middle = Math.round((range.from + range.to) / 2);
  // Nothing has been measured yet in the future: a day that still runs is entered at its last hours.
  const to = Math.min(middle + ms / 2, Math.max(Date.now(), range.from + ms));
  return { from: Math.round(to - ms), to: Math.round(to) };
}
