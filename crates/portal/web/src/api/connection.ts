// Whether the server can be reached. One failed request is enough to say that it cannot; from then on the server is
// asked every few seconds, and when it answers again everything on the screen is asked for again (`epoch`). A page that
// asks for nothing would not notice: while it is seen, the server is asked for a sign of life.

import { useEffect, useState } from "preact/hooks";

export interface Connection {
  /** When the server was last known to answer, while it does not; else null. */
  lostSince: number | null;
  /** Counts the recoveries: a list that depends on it is read again after one. */
  epoch: number;
}

// Often enough that nobody reloads the page by hand before, which would lose what is drawn.
const AGAIN_MS = 3_000;
const SIGN_OF_LIFE_MS = 5_000;

let state: Connection = { lostSince: null, epoch: 0 };
let lastAnswer = Date.now();
let timer: number | undefined;
const listeners = new Set<(now: Connection) => void>();

function become(next: Connection): void {
  state = next;
  for (const listener of listeners) listener(state);
}

/** Called where the server has answered, whatever it said. */
export function connectionAnswered(): void {
  lastAnswer = Date.now();
  if (state.lostSince === null) return;
  clearTimeout(timer);
  become({ lostSince: null, epoch: state.epoch + 1 });
}

/** Called where the server has not answered. */
export function connectionLost(): void {
  if (state.lostSince !== null) return;
  become({ lostSince: lastAnswer, epoch: state.epoch });
  tryLater();
}

/** One try waits at a time: a network that comes and goes would leave one behind each time it comes. */
function tryLater(): void {
  clearTimeout(timer);
  timer = window.setTimeout(tryAgain, AGAIN_MS);
}

async function tryAgain(): Promise<void> {
  try {
    const answer = await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(AGAIN_MS) });
    if (answer.ok) return connectionAnswered();
  } catch {
    // Still away.
  }
  // Another call may have had its answer meanwhile.
  if (state.lostSince !== null) tryLater();
}

/** Asks for a sign of life unless there has just been one. Any answer is one. */
async function look(): Promise<void> {
  if (document.visibilityState !== "visible" || state.lostSince !== null) return;
  if (Date.now() - lastAnswer < SIGN_OF_LIFE_MS) return;
  try {
    await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(SIGN_OF_LIFE_MS) });
    connectionAnswered();
  } catch {
    connectionLost();
  }
}

/** Follows what the browser itself knows of the network. Called once. */
export function watchNetwork(): void {
  addEventListener("offline", connectionLost);
  addEventListener("online", () => {
    if (state.lostSince !== null) void tryAgain();
  });
  window.setInterval(look, SIGN_OF_LIFE_MS);
}

export function useConnection(): Connection {
  const [now, setNow] = useState(state);
  useEffect(() => {
    listeners.add(setNow);
    setNow(state);
    return () => void listeners.delete(setNow);
  }, []);
  return now;
}
