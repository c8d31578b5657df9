// The history of a score as signals for the charts. An entry holds until the next one, which is written when a part
// changes; it is not drawn where no vital signs came any more, nor beyond now.

import { PORTAL } from "../../api/paths";
import type { Range } from "../../charts/range";
import type { Gap, Series } from "../../charts/series";
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

/**
 * The entries over a range as one signal for the total and one for each part. An entry holds until the next one, for it is
 * written only when something changes, so the one before the range holds at its begin. But a score is made of vital signs:
 * where the gaps say that there are none, it ends when the last ones are as old as a score may be, 30 min, and holds
 * again when there are some. Neither does it hold beyond now.
 */
export function newsSeries(entries: NewsEntry[], range: Range, gaps: Gap[], nowMs: number): Series[] {
  const until = Math.min(range.to, nowMs);
  const seen = entries.filter((entry) => entry.timestamp <= until);
  if (seen.length === 0) return [];
  const start = Math.max(range.from, seen[0]!.timestamp);
  if (start > until) return [];
  const silences = silencesOf(gaps, until);
  const changes = [...seen.map((entry) => entry.timestamp), ...silences.flatMap(({ from, to }) => [from, to])];
  const inside = changes.filter((at) => at > start && at < until);
  const t = [...new Set([start, ...inside, until])].sort((one, other) => one - other);
  let next = 0;
  const held = t.map((at) => {
    while (next < seen.length && seen[next]!.timestamp <= at) next += 1;
    return silences.some(({ from, to }) => from <= at && at < to) ? null : seen[next - 1]!;
  });
  return PARTS.map((column) => {
    const values = held.map((entry) => entry?.[column] ?? null);
    return { type: "news", column, channel: null, unit: "", raw: true, t, min: values, max: values };
  });
}

const MINUTE = 60_000;

/** Where no score is known: from 30 min after the vital signs ended until they are back. */
function silencesOf(gaps: Gap[], until: number): Range[] {
  const whole: Range[] = [];
  for (const { from, to } of gaps) {
    const before = whole[whole.length - 1];
    // Not worn and then charging is one stretch without vital signs.
    if (before && from - before.to <= MINUTE) before.to = Math.max(before.to, to);
    else whole.push({ from, to });
  }
  return whole
    .filter(({ from, to }) => to - from > STALE_AFTER_MS)
    .map(({ from, to }) => {
      // A gap that lasts until now has not ended, whatever the clocks of server and browser differ by.
      const end = to >= until - MINUTE ? Infinity : to;
      return { from: from + STALE_AFTER_MS, to: end };
    });
}
