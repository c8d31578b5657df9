import "../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { Screen } from "../testkit/screen";
import { useClock } from "./use_clock";

let ticks: string[] = [];
let screen: Screen;

function Clock({ everyMs, name = "a" }: { everyMs: number | null; name?: string }) {
  useClock(everyMs, () => ticks.push(name));
  return null;
}

function sees(state: "visible" | "hidden"): void {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

const pass = (ms: number) => act(() => mock.timers.tick(ms));

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  ticks = [];
  screen = new Screen(<Clock everyMs={1_000} />);
});
afterEach(() => {
  screen.leave();
  sees("visible");
  mock.timers.reset();
});

test("it ticks at its pace, and not after the page is left", async () => {
  await pass(3_500);
  assert.equal(ticks.length, 3);
  screen.draw(null);
  await pass(5_000);
  assert.equal(ticks.length, 3);
});

test("without a pace it stops", async () => {
  screen.draw(<Clock everyMs={null} />);
  await pass(10_000);
  assert.equal(ticks.length, 0);
});

test("it rests while nobody looks, and ticks at once for those who come back after long", async () => {
  sees("hidden");
  await pass(10_000);
  assert.equal(ticks.length, 0);
  sees("visible");
  assert.equal(ticks.length, 1);
});

test("those who come back soon wait for their turn", async () => {
  await pass(1_000);
  sees("hidden");
  await pass(500);
  sees("visible");
  assert.equal(ticks.length, 1);
  await pass(500);
  assert.equal(ticks.length, 2);
});

test("a tick does what the latest drawing wants", async () => {
  screen.draw(<Clock everyMs={1_000} name="b" />);
  await pass(1_000);
  assert.deepEqual(ticks, ["b"]);
});
