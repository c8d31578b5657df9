// Which patients a board shows and in which order. Who cannot be read is with the sickest, at the worrying end of every
// column. The sickest come first: by score; a patient whose data
// have stopped is above those whose score asks for nothing, because nobody knows how they are.

import { compareText, holdsAll, wordsOf } from "../../words";
import { ageText, OUTDATED_MS } from "./age";
import { riskOf, STALE_AFTER_MS } from "./news";
import type { Row } from "./types";

/** What a column sorts by. */
export type SortKey =
  | "news"
  | "name"
  | "heart_rate"
  | "respiration_rate"
  | "spo2"
  | "temperature"
  | "blood_pressure"
  | "battery"
  | "last_sync";

/** A column and a direction. */
export interface Sort {
  key: SortKey;
  descending: boolean;
}

/** Which patients stay. */
export type Attention = "all" | "attention" | "stale" | "missing" | "not_worn";

/** What a reader has asked for. */
export interface Filter {
  text: string;
  attention: Attention;
}

/** The direction that a column starts with: the worrying end first. */
export function firstDirection(key: SortKey): boolean {
  return key !== "name" && key !== "spo2" && key !== "battery" && key !== "last_sync";
}

/** The rows that pass, in order. The given list stays as it is. */
export function arranged(rows: Row[], filter: Filter, sort: Sort, nowMs: number): Row[] {
  const words = wordsOf(filter.text);
  const kept = rows.filter((row) => passes(row, words, filter.attention, nowMs));
  const sign = sort.descending ? -1 : 1;
  // Values are taken once for each row, not once for each comparison.
  const keyed = kept.map((row) => ({ row, value: sortValue(row, sort.key, nowMs), name: row.name }));
  keyed.sort((left, right) => {
    if (typeof left.value === "string" || typeof right.value === "string") {
      return sign * compareText(String(left.value), String(right.value));
    }
    // Those without a value come last in both directions.
    if (left.value === null || right.value === null) {
      return Number(left.value === null) - Number(right.value === null) || compareText(left.name, right.name);
    }
    // Two that cannot be read differ by no number: infinity less infinity is none, and the name decides.
    return sign * (left.value - right.value) || compareText(left.name, right.name);
  });
  return keyed.map(({ row }) => row);
}

function sortValue(row: Row, key: SortKey, nowMs: number): number | string | null {
  if (row.unreadable && key !== "name") return firstDirection(key) ? Infinity : -Infinity;
  switch (key) {
    case "name":
      return row.name;
    case "news":
      return urgency(row, nowMs);
    case "blood_pressure":
      return row.blood_pressure?.systolic ?? null;
    case "battery":
      return row.battery?.percent ?? null;
    case "last_sync":
      return row.last_sync;
    default:
      return row[key]?.value ?? null;
  }
}

/**
 * A number that grows with the need to look: the score; a part that scores 3 just under 5; no data for long under that; no
 * score 0.5. Damaged data are above every score: they can hide any.
 */
export function urgency(row: Row, nowMs: number): number {
  const scored = scoredUrgency(row);
  return silence(row, nowMs) === null ? scored : Math.max(scored, SILENT);
}

function scoredUrgency({ news, unreadable }: Row): number {
  if (unreadable) return Infinity;
  if (!news) return 0.5;
  const low = riskOf(news) === "low-medium";
  if (low || (news.score === null && news.red_parameter)) return 4.5;
  return news.score ?? 0.5;
}

// Above every score that asks for nothing: a bracelet that says nothing can hide any.
const SILENT = 4.25;

/** Whether somebody has to look at once: 5 and more, a part that scores 3, or data that cannot be read. */
export function isUrgent(row: Row): boolean {
  return scoredUrgency(row) >= 4.5;
}

/** Why nothing has come of a patient for longer than a value counts; null when something has, and before the first sync. */
export function silence(row: Row, nowMs: number): string | null {
  if (row.unreadable || row.last_sync === null) return null;
  const since = nowMs - row.last_sync;
  if (since > OUTDATED_MS.sync) return `no data for ${ageText(since)}`;
  const signs = [row.heart_rate, row.respiration_rate, row.spo2, row.temperature];
  const newest = Math.max(...signs.map((sign) => sign?.timestamp ?? 0));
  if (newest === 0 || nowMs - newest <= OUTDATED_MS.vital) return null;
  const age = ageText(nowMs - newest);
  if (row.charging) return `charging, no values for ${age}`;
  return row.worn === false ? `off the wrist, no values for ${age}` : `no values for ${age}`;
}

function passes(row: Row, words: string[], attention: Attention, nowMs: number): boolean {
  return holdsAll(`${row.name} ${row.external_id ?? ""}`, words) && isOf(row, attention, nowMs);
}

/** Whether a row belongs to a filter. */
export function isOf(row: Row, attention: Attention, nowMs: number): boolean {
  switch (attention) {
    case "all":
      return true;
    case "attention":
      return urgency(row, nowMs) >= SILENT;
    case "stale":
      return row.last_sync !== null && (isOldScore(row, nowMs) || nowMs - row.last_sync > OUTDATED_MS.sync);
    case "missing":
      return row.news?.score == null;
    case "not_worn":
      return row.worn === false;
  }
}

function isOldScore(row: Row, nowMs: number): boolean {
  return row.news !== null && nowMs - row.news.timestamp > STALE_AFTER_MS;
}

/** How many rows belong to each filter, for its label. */
export function counts(rows: Row[], nowMs: number): Record<Attention, number> {
  const found: Record<Attention, number> = { all: rows.length, attention: 0, stale: 0, missing: 0, not_worn: 0 };
  for (const row of rows) {
    for (const attention of ["attention", "stale", "missing", "not_worn"] as const) {
      if (isOf(row, attention, nowMs)) found[attention] += 1;
    }
  }
  return found;
}
