// The session: who is signed in. The pages below the sign-in page can rely on there being one; when the server ends it,
// or nobody touches the screen for as long as it allows, what was on the screen goes and the sign-in page comes, at the
// same address, so that signing in again leads back.

import { useEffect, useState } from "preact/hooks";
import { ApiError, call, setCsrfToken, whenSessionEnds, whenTokenIsStale } from "./client";
import { explain } from "./explain";
import * as paths from "./paths";
import type { Session } from "./types";
import { waitSeconds } from "./wait";

export type SessionState =
  /** `problem`: why it is still unknown, in words. */
  | { is: "unknown"; problem?: string }
  | { is: "out"; because: "never" | "ended" | "left" | "left_elsewhere" }
  | { is: "in"; session: Session };

let state: SessionState = { is: "unknown" };
const listeners = new Set<(now: SessionState) => void>();

const forgetters: (() => void)[] = [];

/** Registers what has to be forgotten before somebody else, or nobody, is signed in. */
export function whenPersonChanges(forget: () => void): void {
  forgetters.push(forget);
}

const personOf = (one: SessionState) => (one.is === "in" ? one.session.account.uuid : null);

function become(next: SessionState): void {
  if (personOf(next) !== personOf(state)) for (const forget of forgetters) forget();
  state = next;
  setCsrfToken(next.is === "in" ? next.session.csrf_token : "");
  for (const listener of listeners) listener(state);
}

/** Until the server is asked again whether there is a session, when it does not say how long to wait. */
const ASK_AGAIN_S = 3;

/** Asks whether the cookie still represents a session, until the server answers. Called once, at the start. */
export async function resume(): Promise<void> {
  whenTokenIsStale(renewed);
  whenSessionEnds(() => state.is === "in" && become({ is: "out", because: "ended" }));
  try {
    const session = await call<Session | undefined>("GET", paths.sessionIfAny());
    become(session ? { is: "in", session } : { is: "out", because: "never" });
  } catch (error) {
    // A cookie that is refused is no session; anything else says nothing about it.
    if (error instanceof ApiError && error.status === 401) return become({ is: "out", because: "never" });
    const waitS = waitSeconds(error) ?? ASK_AGAIN_S;
    become({ is: "unknown", problem: error instanceof ApiError ? explain(error) : "The server cannot be reached." });
    window.setTimeout(resume, waitS * 1_000);
  }
}

export interface Credentials {
  email: string;
  password: string;
  totp?: string;
  wall_display?: boolean;
}

/** Throws ApiError: `invalid_credentials`, `totp_required`, or 429 with the seconds to wait. */
export async function signIn(credentials: Credentials): Promise<void> {
  become({ is: "in", session: await call<Session>("POST", paths.session(), credentials) });
}

/** Throws when the server has not heard it: then the session goes on, and nobody may be informed otherwise. */
export async function signOut(): Promise<void> {
  try {
    await call("DELETE", paths.session());
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
  become({ is: "out", because: "left" });
  otherTabs?.postMessage(LEFT);
}

/** What a tab sends to the others: they have the same session, and what they show has to go with it. */
const LEFT = "left";
let otherTabs: BroadcastChannel | null = null;

/** Leaves together with the other tabs of this browser. Called once. */
export function watchTabs(): void {
  otherTabs = new BroadcastChannel("pulseward-session");
  otherTabs.onmessage = ({ data }) => {
    if (data === LEFT && state.is === "in") become({ is: "out", because: "left_elsewhere" });
  };
}

/** Reads the session again, after something about the account changed. */
export async function refreshSession(): Promise<void> {
  become({ is: "in", session: await call<Session>("GET", paths.session()) });
}

/** Takes the session that the cookie represents now; whether it is of the same account as before. */
async function renewed(): Promise<boolean> {
  const before = personOf(state);
  try {
    const session = await call<Session>("GET", paths.session());
    become({ is: "in", session });
    return session.account.uuid === before;
  } catch {
    return false;
  }
}

export function useSession(): SessionState {
  const [now, setNow] = useState(state);
  useEffect(() => {
    listeners.add(setNow);
    setNow(state);
    return () => void listeners.delete(setNow);
  }, []);
  return now;
}

/** The session of a page that is only shown to those who are signed in. */
export function useOwnSession(): Session {
  const now = useSession();
  if (now.is !== "in") throw new Error("this page needs a session");
  return now.session;
}

// How long a screen may show patients after its session was ended elsewhere.
const LOOK_EVERY_MS = 30_000;

/**
 * Informs the server that somebody is there, as long as somebody is, and notices the end of the session when nobody is.
 * A peek does not count as activity. Called once.
 */
export function watchIdle(): void {
  let touched = false;
  // Not informed of every move: a flag costs nothing, and one request each half minute is enough.
  for (const sign of ["pointermove", "pointerdown", "keydown", "wheel"]) {
    addEventListener(sign, () => (touched = true), { passive: true });
  }
  window.setInterval(async () => {
    if (state.is !== "in") return;
    const path = touched ? paths.session() : `${paths.session()}?peek=1`;
    touched = false;
    try {
      await call("GET", path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401 && state.is === "in")
        become({ is: "out", because: "ended" });
    }
  }, LOOK_EVERY_MS);
}
