// State of the board's line, in a word next to a dot.

import type { LineState } from "./live";

const WORDS: Record<LineState, string> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Connection lost, trying again",
};

export function LineSign({ line }: { line: LineState }) {
  return (
    <span class={`line-sign ${line}`} role="status">
      <i aria-hidden="true" />
      {WORDS[line]}
    </span>
  );
}
