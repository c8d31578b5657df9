// The signals of a patient over a stretch of time. Only what the view needs is asked for; a request that the reader has
// moved on from is cancelled; what was drawn stays until the next answer is there.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Unreachable } from "../../api/client";
import { useConnection } from "../../api/connection";
import type { Range } from "../../charts/range";
import { type SeriesAnswer, together } from "../../charts/series";
import { seriesPaths } from "./series_paths";

export interface Signals {
  answer: SeriesAnswer | null;
  busy: boolean;
  error: Error | null;
}

/** How long a reader who is still turning the wheel is waited for. */
const SETTLE_MS = 60;
/** How often a stretch that reaches into the present is read again. */
const AGAIN_MS = 30_000;

export function useSeries(uuid: string, names: string[], range: Range, points: number): Signals {
  const [state, setState] = useState<Signals>({ answer: null, busy: false, error: null });
  const [turn, setTurn] = useState(0);
  const last = useRef(0);
  const { epoch } = useConnection();
  const paths = points > 0 && names.length > 0 ? seriesPaths(uuid, names, range, points) : [];
  const key = paths.join(" ");

  useEffect(() => {
    if (paths.length === 0) {
      setState((before) => (before.answer ? { answer: null, busy: false, error: null } : before));
      return;
    }
    const stop = new AbortController();
    const readAll = async () => {
      last.current = Date.now();
      setState((before) => ({ ...before, busy: true }));
      try {
        const answers = await Promise.all(paths.map((path) => get<SeriesAnswer>(path, stop.signal)));
        setState({ answer: together(answers), busy: false, error: null });
      } catch (error) {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, busy: false, error: error instanceof Unreachable ? null : (error as Error) }));
      }
    };
    // The first of several moves is answered at once, the rest when they come to a stand.
    const idle = Date.now() - last.current > 4 * SETTLE_MS;
    const timer = idle ? (void readAll(), 0) : window.setTimeout(readAll, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key, turn, epoch]);

  useEffect(() => {
    if (range.to < Date.now()) return;
    const timer = window.setInterval(() => {
      if (document.visibilityState === "visible") setTurn((before) => before + 1);
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [range.to]);

  return state;
}
