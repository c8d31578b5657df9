// Delays requests while the user moves through a view, by the rules of `Settling`.

import { useRef } from "preact/hooks";
import { Settling } from "./settling";

export interface Settled {
  /** Calls `read` at once or later, unless cancelled. */
  move(read: () => void): void;
  /** After a refusal: calls `again` after so many seconds, unless cancelled. */
  restFor(seconds: number, again: () => void): void;
  cancel(): void;
}

export function useSettled(): Settled {
  const made = useRef<Settled | null>(null);
  made.current ??= settled();
  return made.current;
}

function settled(): Settled {
  const settling = new Settling();
  let timer: number | undefined;
  return {
    move(read) {
      // Only the last of two movements counts, even if nobody has cancelled the first.
      clearTimeout(timer);
      const waitMs = settling.waitOf(Date.now());
      if (waitMs <= 0) read();
      else timer = window.setTimeout(read, waitMs);
    },
    restFor(seconds, again) {
      settling.rest(seconds * 1_000, Date.now());
      timer = window.setTimeout(again, seconds * 1_000);
    },
    cancel: () => clearTimeout(timer),
  };
}
