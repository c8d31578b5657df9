// State of the board's line, in a word next to a dot, and how old the newest data are: a line that is up says nothing of them.

import { ageText } from "./age";
import type { LineState } from "./live";
import type { Row } from "./types";

const WORDS: Record<LineState, string> = {
  connecting: "Connecting…",
  live: "Connected",
  lost: "Connection lost, trying again",
};

// A bracelet that is worn syncs every minute or so; of a whole study somebody does.
const OLD_MS = 5 * 60_000;

export function LineSign({ line }: { line: LineState }) {
  return (
    <span class={`line-sign ${line}`} role="status">
      <i aria-hidden="true" />
      {WORDS[line]}
    </span>
  );
}

/** Age of the newest sync of all patients. */
export function DataAge({ rows, nowMs }: { rows: Row[]; nowMs: number }) {
  const newest = rows.reduce((newest, { last_sync }) => Math.max(newest, last_sync ?? 0), 0);
  if (newest === 0) return <span class="data-age">no data yet</span>;
  const age = Math.max(0, nowMs - newest);
  return (
    <span class={`data-age${age > OLD_MS ? " old" : ""}`}>
      {age > OLD_MS ? `no new data for ${ageText(age)}` : `data: ${ageText(age)}`}
    </span>
  );
}
