// Alarms as rows of a form and back.

import type { Alarm } from "../../api/types";
import { numberOf } from "../../changes";

export interface AlarmRow {
  vital: string;
  below: string;
  above: string;
  for_s: string;
}

export function rowsOf(alarms: Alarm[]): AlarmRow[] {
  return alarms.map(({ vital, below, above, for_s }) => ({
    vital,
    below: text(below),
    above: text(above),
    for_s: String(for_s),
  }));
}

/** What is sent; a limit that is empty is left out, one that is no number goes as it is, for the server to refuse. */
export function alarmsOf(rows: AlarmRow[]): Alarm[] {
  return rows.map(({ vital, below, above, for_s }) => ({
    vital,
    ...limit("below", below),
    ...limit("above", above),
    for_s: Number(for_s) || 0,
  }));
}

function text(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

function limit(name: "below" | "above", value: string) {
  const trimmed = value.trim();
  return trimmed === "" ? {} : { [name]: numberOf(trimmed) };
}
