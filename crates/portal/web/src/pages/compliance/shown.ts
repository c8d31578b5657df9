// What of a study's compliance is on the screen, as the address has it.

import { addDays, civilDate } from "../../charts/zone";

export interface Shown {
  from: string;
  to: string;
  days: number;
  /** The day of the patient that is opened. */
  date: string;
}

const USUAL_DAYS = 14;
const MOST_DAYS = 92;

/** Reads an address. What cannot be read of it is as if it were not there. */
export function shownOf(query: URLSearchParams, today: string): Shown {
  const to = civilDate(query.get("to")) ?? today;
  const wanted = Number(query.get("days"));
  const days = Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST_DAYS ? wanted : USUAL_DAYS;
  return { from: addDays(to, 1 - days), to, days, date: civilDate(query.get("date")) ?? to };
}
