// Reading something from the API into a page: what is there, what went wrong, and whether it is still on its way. What
// was read stays on the screen while it is read again, also while the connection is lost.

import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, get, Unreachable } from "./client";
import { useConnection } from "./connection";

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

/** The JSON at `path`; nothing while `path` is null. Read anew when the path changes and after a lost connection. */
export function useResource<T>(path: string | null): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ path, data: null, error: null, loading: path !== null, readAt: null });
  const [turn, setTurn] = useState(0);
  const { epoch } = useConnection();

  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    setHeld((before) => ({
      ...before,
      ...(before.path === path ? {} : { data: null, readAt: null }),
      path,
      error: null,
      loading: true,
    }));
    let waiting: number | undefined;
    get<T>(path, stop.signal).then(
      (data) => setHeld({ path, data, error: null, loading: false, readAt: Date.now() }),
      (error: Error) => {
        if (stop.signal.aborted) return;
        const waitS = waitFor(error);
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

/** Longer than this nobody waits without being told why. */
const LONGEST_WAIT_S = 20;

/** Seconds after which a refusal for lack of patience or room may be tried again by itself, else null. */
function waitFor(error: Error): number | null {
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return null;
  const waitS = error.retryAfterS ?? 5;
  return waitS <= LONGEST_WAIT_S ? waitS : null;
}
