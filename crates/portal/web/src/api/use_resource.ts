// Reading something from the API into a page: what is there, what went wrong, and whether it is still on its way. What
// was read stays on the screen while it is read again, also while the connection is lost.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, Unreachable } from "./client";
import { useConnection } from "./connection";
import { peeking } from "./paths";
import { useClock } from "./use_clock";
import { waitSeconds } from "./wait";

export interface Resource<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
  /** When `data` was read, Unix epoch ms. */
  readAt: number | null;
  reload: () => void;
  /** Puts something in the place of what was read, e.g. the answer to a change. */
  set: (data: T) => void;
}

interface Held<T> {
  path: string | null;
  data: T | null;
  error: Error | null;
  loading: boolean;
  readAt: number | null;
}

/**
 * The JSON at `path`; nothing while `path` is null. Read again when the path changes, after a lost connection, and, with
 * `againS`, every so many seconds while the page is seen.
 */
export function useResource<T>(path: string | null, againS: number | null = null): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ path, data: null, error: null, loading: path !== null, readAt: null });
  const [turn, setTurn] = useState(0);
  const { epoch } = useConnection();
  const byClock = useRef(false);
  useClock(path === null || againS === null ? null : againS * 1_000, () => {
    byClock.current = true;
    setTurn((before) => before + 1);
  });

  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    // What the clock reads changes nothing on the screen before it is there, and is no sign of anybody being there.
    const quiet = byClock.current;
    byClock.current = false;
    setHeld((before) => ({
      ...before,
      ...(before.path === path ? {} : { data: null, readAt: null }),
      path,
      error: quiet ? before.error : null,
      loading: true,
    }));
    let waiting: number | undefined;
    get<T>(quiet ? peeking(path) : path, stop.signal).then(
      (data) => setHeld({ path, data, error: null, loading: false, readAt: Date.now() }),
      (error: Error) => {
        if (stop.signal.aborted) return;
        const waitS = shortWait(error);
        if (waitS !== null) waiting = window.setTimeout(() => setTurn((before) => before + 1), waitS * 1_000);
        const kept = waitS !== null || error instanceof Unreachable ? null : error;
        setHeld((before) => ({ ...before, error: kept, loading: kept === null }));
      },
    );
    return () => {
      stop.abort();
      clearTimeout(waiting);
    };
  }, [path, turn, epoch]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const set = useCallback((data: T) => setHeld((before) => ({ ...before, data, readAt: Date.now() })), []);
  // In the drawing between a change of the path and its effect, what is held is still another path's.
  const current = held.path === path;
  return {
    data: current ? held.data : null,
    error: current ? held.error : null,
    loading: path !== null && (!current || held.loading),
    readAt: held.readAt,
    reload,
    set,
  };
}

/** Longer than this nobody waits without a reason on the screen. */
const LONGEST_WAIT_S = 20;

/** Seconds after which a refusal may be tried again by itself, else null. */
function shortWait(error: Error): number | null {
  const waitS = waitSeconds(error);
  return waitS !== null && waitS <= LONGEST_WAIT_S ? waitS : null;
}
