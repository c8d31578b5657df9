// What of a patient is on the screen, as the address tells it: the last hours up to now, or some days that end with a
// date, or a stretch within them.

import { LEAST_MS, type Range } from "../../charts/range";
import { addDays, dateOf, dayRange } from "../../charts/zone";

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

/** Reads the view from an address. */
export function viewOf(query: URLSearchParams, zone: string, nowMs: number): View {
  const given = query.get("date") ?? "";
  const rolling = !/^\d{4}-\d\d-\d\d$/.test(given) || Number.isNaN(Date.parse(given));
  const date = rolling ? dateOf(nowMs, zone) : given;
  const wanted = Number(query.get("days"));
  const days = Number.isInteger(wanted) && wanted >= 1 && wanted <= 31 ? wanted : 1;
  const now = Math.ceil(nowMs / MINUTE) * MINUTE;
  const home = rolling
    ? { from: now - days * DAY, to: now }
    : { from: dayRange(addDays(date, 1 - days), zone).from, to: dayRange(date, zone).to };
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  const zoomed = from > 0 && to - from >= LEAST_MS;
  return { rolling, date, days, home, range: zoomed ? { from, to } : home };
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
