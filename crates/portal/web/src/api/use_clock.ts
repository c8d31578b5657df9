// What is read again by the clock: only while the page is seen, and at once when it is seen again after longer than that.

import { useEffect, useRef } from "preact/hooks";

/** How often what is shown of a patient is read again. */
export const AGAIN_MS = 30_000;

/** Calls `then` every so many ms; not at all while `everyMs` is null. */
export function useClock(everyMs: number | null, then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    if (everyMs === null) return;
    let last = Date.now();
    const tick = () => {
      if (document.visibilityState !== "visible") return;
      last = Date.now();
      latest.current();
    };
    const seen = () => Date.now() - last >= everyMs && tick();
    const timer = window.setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [everyMs]);
}
