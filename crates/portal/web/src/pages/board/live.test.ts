import assert from "node:assert/strict";
import { test } from "node:test";
import { type LineState, LiveLine } from "./live";

/** A line whose other end the test holds. */
class FakeLine {
  readyState = 0;
  private readonly listeners = new Map<string, (event: { data?: unknown }) => void>();
  addEventListener(name: string, listen: (event: { data?: unknown }) => void) {
    this.listeners.set(name, listen);
  }
  close() {
    this.readyState = 2;
  }
  say(name: string, data?: unknown, readyState = this.readyState) {
    this.readyState = readyState;
    this.listeners.get(name)?.({ data });
  }
}

function started(read: () => Promise<void> = async () => {}, isFinal: (error: unknown) => boolean = () => false) {
  const lines: FakeLine[] = [];
  const states: LineState[] = [];
  const rows: unknown[] = [];
  const waits: { ms: number; then: () => void; over: boolean }[] = [];
  let reads = 0;
  const live = new LiveLine<unknown>({
    open: () => lines[lines.push(new FakeLine()) - 1]!,
    read: () => ((reads += 1), read()),
    onRow: (row) => rows.push(row),
    onState: (state) => states.push(state),
    isFinal,
    wait: (ms, then) => {
      const wait = { ms, then, over: false };
      waits.push(wait);
      return () => void (wait.over = true);
    },
  });
  live.start();
  /** Lets the shortest waiting time pass. */
  const pass = () => {
    const wait = waits.filter((one) => !one.over && one.ms !== 1500).pop();
    if (!wait) return null;
    wait.over = true;
    wait.then();
    return wait.ms;
  };
  return { live, lines, states, rows, pass, reads: () => reads, line: () => lines[lines.length - 1]! };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("the board is read once the line is open, so that nothing falls between", async () => {
  const board = started();
  assert.equal(board.reads(), 0);
  board.line().say("open", undefined, 1);
  await settled();
  assert.equal(board.reads(), 1);
  assert.deepEqual(board.states, ["connecting", "live"]);
  board.line().say("row", '{"uuid":"a"}');
  assert.deepEqual(board.rows, [{ uuid: "a" }]);
  board.line().say("reload");
  await settled();
  assert.equal(board.reads(), 2);
});

test("one break that mends at once is not shown; a lasting one is, and ends by itself", async () => {
  const board = started();
  board.line().say("open", undefined, 1);
  await settled();
  board.line().say("error", undefined, 0);
  await settled();
  assert.equal(board.pass(), 0, "at once");
  assert.deepEqual(board.states.slice(2), []);
  board.line().say("error", undefined, 0);
  await settled();
  assert.equal(board.states.at(-1), "lost");
  const waits = [];
  for (let turn = 0; turn < 6; turn += 1) {
    waits.push(board.pass());
    board.line().say("error", undefined, 0);
    await settled();
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 15_000, 15_000]);
  board.pass();
  const before = board.reads();
  board.line().say("open", undefined, 1);
  await settled();
  assert.equal(board.states.at(-1), "live");
  assert.equal(board.reads(), before + 1, "what was missed is read");
});

test("a refused line says why through the board, and a final reason ends it", async () => {
  const board = started(
    async () => {
      throw new Error("no right");
    },
    () => true,
  );
  board.line().say("error", undefined, 2);
  await settled();
  assert.equal(board.reads(), 1);
  assert.equal(board.pass(), null, "no further try");
  assert.equal(board.lines.length, 1);
});

test("a line that hangs is taken up again when others know better", async () => {
  const board = started();
  board.line().say("open", undefined, 1);
  await settled();
  board.live.lose();
  board.live.lose();
  board.live.retryNow();
  assert.equal(board.lines.length, 2);
  assert.equal(board.lines[0]!.readyState, 2, "the old one is closed");
  board.lines[0]!.say("row", '{"uuid":"late"}');
  assert.deepEqual(board.rows, [], "and no longer heard");
});

test("after the end nothing happens any more", async () => {
  const board = started();
  board.live.close();
  board.line().say("open", undefined, 1);
  board.line().say("row", "{}");
  await settled();
  assert.deepEqual([board.reads(), board.rows.length], [0, 0]);
});
