// When a view that its reader moves is read: a few moves at once, further ones when they come to rest, and nothing
// while the server has asked for patience. Somebody who holds a key down would use up what a session may ask.

/** How long a reader who is still moving is waited for. */
export const SETTLE_MS = 250;
/** So many moves within the window are read at once. */
export const AT_ONCE = 3;
const WINDOW_MS = 2_000;

export class Settling {
  /** Times of the moves within the window, oldest first. */
  private moves: number[] = [];
  private restsUntil = -Infinity;

  /** A move: in how many ms to read what it leads to. */
  waitOf(nowMs: number): number {
    this.moves = this.moves.filter((moveMs) => moveMs > nowMs - WINDOW_MS);
    this.moves.push(nowMs);
    const settle = this.moves.length <= AT_ONCE ? 0 : SETTLE_MS;
    return Math.max(settle, this.restsUntil - nowMs);
  }

  /** The server has asked to be left alone for so long. */
  rest(ms: number, nowMs: number): void {
    this.restsUntil = nowMs + ms;
  }
}
