// The board of a study, live: rows, the state of the line, and what went wrong when it cannot be had at all.

import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../../api/client";
import { connectionLost, useConnection } from "../../api/connection";
import { PORTAL } from "../../api/paths";
import { BoardRows } from "./board_rows";
import { type LineState, LiveLine } from "./live";
import type { BoardAnswer, Row } from "./types";

export interface Board {
  rows: Row[] | null;
  line: LineState;
  error: Error | null;
}

/** The address of the board. */
export const boardPath = (code: string) => `${PORTAL}/groups/${encodeURIComponent(code)}/board`;

export function useBoard(code: string): Board {
  const [rows, setRows] = useState<Row[] | null>(null);
  const [line, setLine] = useState<LineState>("connecting");
  const [error, setError] = useState<Error | null>(null);
  const [live, setLive] = useState<LiveLine<Row> | null>(null);
  const { lostSince } = useConnection();

  useEffect(() => {
    setRows(null);
    setError(null);
    const known = new BoardRows(setRows, (then) => requestAnimationFrame(then));
    const made = new LiveLine<Row>({
      open: () => new EventSource(`${boardPath(code)}/events`),
      read: async () => known.replace(await get<BoardAnswer>(boardPath(code))),
      onRow: (row) => known.put(row),
      onState: (state) => {
        setLine(state);
        if (state === "lost") connectionLost();
      },
      isFinal: (failure) => {
        const final =
          failure instanceof ApiError && failure.status >= 400 && failure.status < 500 && failure.status !== 429;
        if (final) setError(failure);
        return final;
      },
      wait: (ms, then) => {
        const timer = window.setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
    });
    setLive(made);
    made.start();
    return () => made.close();
  }, [code]);

  // A line that hangs says nothing; any other call that fails does.
  useEffect(() => {
    if (!live) return;
    if (lostSince === null) live.retryNow();
    else live.lose();
  }, [live, lostSince === null]);

  return { rows, line, error };
}
