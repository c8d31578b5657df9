// The signals of a patient over a stretch of time. Only what the view needs is asked for; a request that the reader has
// moved on from is cancelled; what was drawn stays until the next answer is there.

import { useEffect, useState } from "preact/hooks";
import { get, Unreachable } from "../../api/client";
import { useConnection } from "../../api/connection";
import { AGAIN_MS, useClock } from "../../api/use_clock";
import { waitSeconds } from "../../api/wait";
import type { Range } from "../../charts/range";
import { type SeriesAnswer, together } from "../../charts/series";
import { seriesPaths } from "./series_paths";
import { useSettled } from "./use_settled";

export interface Signals {
  answer: SeriesAnswer | null;
  busy: boolean;
  error: Error | null;
  /** The server has asked for patience for so many seconds; then it is asked again. */
  waitS: number | null;
}

const NOTHING: Signals = { answer: null, busy: false, error: null, waitS: null };

export function useSeries(uuid: string, names: string[], range: Range, points: number): Signals {
  const [state, setState] = useState<Signals>(NOTHING);
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((before) => before + 1);
  const settled = useSettled();
  const { epoch } = useConnection();
  const paths = points > 0 && names.length > 0 ? seriesPaths(uuid, names, range, points) : [];
  const key = paths.join(" ");

  useEffect(() => {
    if (paths.length === 0) {
      setState((before) => (before.answer ? NOTHING : before));
      return;
    }
    const stop = new AbortController();
    const readAll = async () => {
      setState((before) => ({ ...before, busy: true }));
      try {
        const answers = await Promise.all(paths.map((path) => get<SeriesAnswer>(path, stop.signal)));
        setState({ ...NOTHING, answer: together(answers) });
      } catch (error) {
        if (stop.signal.aborted) return;
        const waitS = waitSeconds(error);
        const reported = waitS !== null || error instanceof Unreachable ? null : (error as Error);
        setState((before) => ({ ...before, busy: false, error: reported, waitS }));
        if (waitS !== null) settled.restFor(waitS, again);
      }
    };
    settled.move(() => void readAll());
    return () => {
      settled.cancel();
      stop.abort();
    };
  }, [key, turn, epoch]);

  // Only a stretch that reaches into the present can change.
  useClock(range.to < Date.now() ? null : AGAIN_MS, again);

  return state;
}
