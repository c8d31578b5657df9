// When a view that its reader moves is read: the first of several moves at once, the rest when they come to a stand, and
// nothing while the server has asked for patience. Somebody who holds a key down would use up what a session may ask.

/** How long a reader who is still moving is waited for. */
export const SETTLE_MS = 250;

export class Settling {
  private lastMove = -Infinity;
  private restsUntil = -Infinity;

  /** A move: in how many ms to read what it leads to. */
  waitOf(nowMs: number): number {
    const settle = nowMs - this.lastMove > SETTLE_MS ? 0 : SETTLE_MS;
    this.lastMove = nowMs;
    return Math.max(settle, this.restsUntil - nowMs);
  }

  /** The server has asked to be left alone for so long. */
  rest(ms: number, nowMs: number): void {
    this.restsUntil = nowMs + ms;
  }
}
