// The history of a score as signals for the charts. An entry holds until the next one, which is written when a part
// changes; the last one holds as long as a score counts, and no further than now.

import { PORTAL } from "../../api/paths";
import type { Range } from "../../charts/range";
import type { Series } from "../../charts/series";
import { STALE_AFTER_MS } from "../board/news";

/** Parts of an entry, besides its total. */
const PARTS = [
  "value",
  "score_respiration_rate",
  "score_spo2",
  "score_oxygen",
  "score_blood_pressure",
  "score_heart_rate",
  "score_consciousness",
  "score_temperature",
] as const;

/** One evaluation; parts without a measurement are null. */
export type NewsEntry = { timestamp: number } & Partial<Record<(typeof PARTS)[number], number | null>>;

/** What the route answers: the entry that holds at the beginning of the range, and those within it. */
export interface NewsHistory {
  time_zone: string | null;
  entries: NewsEntry[];
}

/** Where the history is read. */
export function newsPath(uuid: string, { from, to }: Range): string {
  return `${PORTAL}/patients/${encodeURIComponent(uuid)}/news?from=${from}&to=${to}&peek=1`;
}

/** The entries as one signal for the total and one for each part. */
export function newsSeries(entries: NewsEntry[], nowMs: number): Series[] {
  const last = entries[entries.length - 1];
  if (!last) return [];
  const end = { ...last, timestamp: Math.max(last.timestamp, Math.min(last.timestamp + STALE_AFTER_MS, nowMs)) };
  const held = end.timestamp > last.timestamp ? [...entries, end] : entries;
  const t = held.map((entry) => entry.timestamp);
  return PARTS.map((column) => {
    const values = held.map((entry) => entry[column] ?? null);
    return { type: "news", column, channel: null, unit: "", raw: true, t, min: values, max: values };
  });
}
