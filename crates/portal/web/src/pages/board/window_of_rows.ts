// Which rows are in sight. Only those are in the page; the rest is empty space of the same height, so that a thousand
// patients cost as much as the thirty on the screen.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A stretch of indices, the end not included. */
export interface Visible {
  begin: number;
  end: number;
}

/** The rows of a list whose top is `topPx` from the top of the window, with some beyond both ends. */
export function visibleRows(topPx: number, windowPx: number, rowPx: number, count: number, beyond = 6): Visible {
  const begin = Math.max(0, Math.floor(-topPx / rowPx) - beyond);
  const end = Math.min(count, Math.ceil((windowPx - topPx) / rowPx) + beyond);
  // Steps of four: most of a scroll changes nothing.
  return { begin: Math.min(begin - (begin % 4), count), end: Math.max(end, 0) };
}

/** Follows the window's scrolling; drawn again only when other rows come into sight. */
export function useVisibleRows(list: RefObject<HTMLElement | null>, rowPx: number, count: number): Visible {
  const [visible, setVisible] = useState<Visible>({ begin: 0, end: Math.min(count, 40) });
  useEffect(() => {
    const look = () => {
      if (!list.current) return;
      const next = visibleRows(list.current.getBoundingClientRect().top, innerHeight, rowPx, count);
      setVisible((before) => (before.begin === next.begin && before.end === next.end ? before : next));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rowPx, count]);
  return visible;
}
