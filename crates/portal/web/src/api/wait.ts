// How long to wait before something that was refused for lack of patience or room is asked for again by itself.

import { ApiError } from "./client";

/** Without a word of the server. */
const USUAL_WAIT_S = 5;

/** Seconds after which a refusal may be tried again, null when trying again is of no use. */
export function waitSeconds(error: unknown): number | null {
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return null;
  return error.retryAfterS ?? USUAL_WAIT_S;
}
