// The board's line to the service. Events come one row at a time; after any break the whole board is read again, because
// what was sent meanwhile is not known. Says plainly when the line is lost, and takes itself up again.

/** State of the line. */
export type LineState = "connecting" | "live" | "lost";

/** The part of an EventSource that is used, so that tests can replace it. */
export interface EventLine {
  addEventListener(name: string, listen: (event: { data?: unknown }) => void): void;
  close(): void;
  readonly readyState: number;
}

/** What the line needs from its surroundings. */
export interface LineParts<R> {
  open(): EventLine;
  /** Reads the whole board; an error that `isFinal` knows ends the line. */
  read(): Promise<void>;
  onRow(row: R): void;
  onState(state: LineState): void;
  isFinal(error: unknown): boolean;
  wait(ms: number, then: () => void): () => void;
}

// `EventSource.CLOSED`, which is not there where tests run.
const CLOSED = 2;
const FIRST_WAIT_MS = 1000;
// A ward must not look at old values for longer than this once the service answers again.
const LONGEST_WAIT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 1500;

/** A line that keeps itself up until it is closed. */
export class LiveLine<R> {
  private line: EventLine | null = null;
  private waitMs = FIRST_WAIT_MS;
  private waiting: (() => void) | null = null;
  private failures = 0;
  private hasRead = false;
  private closed = false;

  constructor(private readonly parts: LineParts<R>) {}

  /** Opens the line, then reads the board: in this order no event can fall between the two. */
  start(): void {
    this.parts.onState("connecting");
    this.connect();
    // Something between may hold the line up; the rows need not wait for it.
    this.parts.wait(CONNECT_TIMEOUT_MS, () => {
      if (!this.hasRead && !this.closed && this.line) void this.read(this.line);
    });
  }

  /** Tries at once, for instance because other calls are answered again. */
  retryNow(): void {
    if (!this.closed && this.waiting) this.connect();
  }

  /** The line is known to be gone although it has said nothing, for instance because other calls fail. */
  lose(): void {
    if (this.closed || this.waiting) return;
    this.failures += 1;
    this.again();
  }

  close(): void {
    this.closed = true;
    this.stopWaiting();
    this.line?.close();
  }

  private connect(): void {
    this.stopWaiting();
    this.line?.close();
    const line = this.parts.open();
    this.line = line;
    const current = (listen: (data: unknown) => void) => (event: { data?: unknown }) => {
      if (this.line === line && !this.closed) listen(event.data);
    };
    line.addEventListener(
      "open",
      current(() => void this.resync(line)),
    );
    line.addEventListener(
      "row",
      current((data) => this.parts.onRow(JSON.parse(String(data)) as R)),
    );
    line.addEventListener(
      "reload",
      current(() => void this.resync(line)),
    );
    line.addEventListener(
      "error",
      current(() => void this.broke(line)),
    );
  }

  /** The line is up: what was sent before is not known, so everything is read. */
  private async resync(line: EventLine): Promise<void> {
    if (!(await this.read(line))) return;
    this.waitMs = FIRST_WAIT_MS;
    this.failures = 0;
    this.parts.onState("live");
  }

  private async read(line: EventLine): Promise<boolean> {
    try {
      await this.parts.read();
      this.hasRead = true;
    } catch (error) {
      if (this.line !== line || this.closed) return false;
      if (this.parts.isFinal(error)) this.close();
      else this.lose();
      return false;
    }
    return this.line === line && !this.closed && line.readyState !== CLOSED;
  }

  private async broke(line: EventLine): Promise<void> {
    this.failures += 1;
    // Refused and not cut: the event line keeps the reason to itself, reading the board reports it.
    if (line.readyState === CLOSED) {
      await this.read(line);
      if (this.line !== line || this.closed || this.waiting) return;
    }
    this.again();
  }

  /** Tries again after a while, by our own clock: a browser gives a refused line up for good. */
  private again(): void {
    this.line?.close();
    this.line = null;
    this.stopWaiting();
    // One break that mends at once is nobody's business.
    if (this.failures > 1) this.parts.onState("lost");
    const stop = this.parts.wait(this.failures > 1 ? this.waitMs : 0, () => {
      if (!this.closed) this.connect();
    });
    this.waiting = stop;
    if (this.failures > 1) this.waitMs = Math.min(this.waitMs * 2, LONGEST_WAIT_MS);
  }

  private stopWaiting(): void {
    this.waiting?.();
    this.waiting = null;
  }
}
