// Whether an API key still works.

import type { ApiKey } from "../../api/types";

export type KeyState = "active" | "ending" | "expired" | "revoked";

const SOON_MS = 7 * 24 * 3_600_000;

/** A key that ends within a week is `ending`, so that somebody can replace it in time. */
export function keyState(key: ApiKey, now: number = Date.now()): KeyState {
  if (key.revoked_at) return "revoked";
  if (!key.expires_at) return "active";
  const left = Date.parse(key.expires_at) - now;
  if (left <= 0) return "expired";
  return left < SOON_MS ? "ending" : "active";
}
