// The rows that the board knows. Events that arrive while the whole board is being read may be newer than what is read,
// so of both the later sync stays. Changes are gathered and reported once per frame, however many syncs a second bring.

import type { BoardAnswer, Row } from "./types";

/** Rows by patient, with one listener. */
export class BoardRows {
  private rows = new Map<string, Row>();
  private waiting = false;
  private sinceConnect = new Map<string, Row>();

  constructor(
    private readonly changed: (rows: Row[]) => void,
    private readonly soon: (then: () => void) => void,
  ) {}

  /** A whole board was read. */
  replace(answer: BoardAnswer): void {
    const next = new Map<string, Row>();
    for (const row of answer.patients) next.set(row.uuid, newer(row, this.sinceConnect.get(row.uuid)));
    this.rows = next;
    this.sinceConnect.clear();
    this.report();
  }

  /** One row has come. */
  put(row: Row): void {
    this.rows.set(row.uuid, row);
    this.sinceConnect.set(row.uuid, row);
    this.report();
  }

  private report(): void {
    if (this.waiting) return;
    this.waiting = true;
    this.soon(() => {
      this.waiting = false;
      this.changed([...this.rows.values()]);
    });
  }
}

function newer(read: Row, come: Row | undefined): Row {
  // Damage has no time of a sync; what came before it must not hide it.
  if (read.unreadable) return read;
  return come && (come.last_sync ?? 0) >= (read.last_sync ?? 0) ? come : read;
}
