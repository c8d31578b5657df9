// What of a patient is on the screen, as the address has it: the last hours up to now, or some days that end with a
// date, or a stretch within them.

import { LEAST_MS, MOST_MS, type Range } from "../../charts/range";
import { addDays, civilDate, dateOf, dayRange } from "../../charts/zone";

/** The days that are chosen, and the stretch that is seen. */
export interface View {
  /** Whether the days are the last ones up to now and not civil days. */
  rolling: boolean;
  /** The last of the days. */
  date: string;
  days: number;
  home: Range;
  range: Range;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const DAY_CHOICES = [1, 3, 7, 14] as const;

/** The latest instant that the service takes. */
const LATEST_MS = 2 ** 43 - 1;

/** Reads the view from an address. What cannot be read of it is as if it were not there. */
export function viewOf(query: URLSearchParams, zone: string, nowMs: number): View {
  const given = civilDate(query.get("date"));
  const rolling = given === null;
  const date = given ?? dateOf(nowMs, zone);
  const wanted = Number(query.get("days"));
  const days = Number.isInteger(wanted) && wanted >= 1 && wanted <= 31 ? wanted : 1;
  const now = Math.ceil(nowMs / MINUTE) * MINUTE;
  const home = rolling
    ? { from: now - days * DAY, to: now }
    : { from: dayRange(addDays(date, 1 - days), zone).from, to: dayRange(date, zone).to };
  const [from, to] = [Math.round(Number(query.get("from"))), Math.round(Number(query.get("to")))];
  const zoomed = from > 0 && to <= LATEST_MS && to - from >= LEAST_MS && to - from <= MOST_MS;
  return { rolling, date, days, home, range: zoomed ? { from, to } : home };
}

/** The civil days that a stretch touches, the first of them first. */
export function datesOf(range: Range, zone: string): string[] {
  const last = dateOf(range.to - 1, zone);
  const dates = [dateOf(range.from, zone)];
  while (dates[dates.length - 1]! < last) dates.push(addDays(dates[dates.length - 1]!, 1));
  return dates;
}

/** Whether the view is zoomed to less than its days. */
export function isHome(view: View): boolean {
  return view.range.from === view.home.from && view.range.to === view.home.to;
}

/**
 * What the address of a stretch differs in. A stretch outside the days takes its own last day along, and one within the
 * last hours the day of now: it stays where it is while time goes on.
 */
export function rangeQuery(view: View, range: Range, zone: string): Record<string, string | null> {
  if (range.from === view.home.from && range.to === view.home.to) return { from: null, to: null };
  const outside = range.to <= view.home.from || range.from >= view.home.to;
  return {
    from: String(Math.round(range.from)),
    to: String(Math.round(range.to)),
    ...(outside || view.rolling ? { date: dateOf(range.to - 1, zone) } : {}),
  };
}
