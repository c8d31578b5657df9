import "./testkit/west";
import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, day, dayAndClock, isoDay, shiftDay, yearsOld } from "./format";

test("a day without a clock is that day for every reader", () => {
  assert.equal(day("1961-11-21"), "21 Nov 1961");
  assert.equal(day("2028-02-29"), "29 Feb 2028");
  assert.equal(day("2026-13-01"), "–");
  assert.equal(yearsOld("1961-11-21", new Date(2026, 10, 20)), 64);
  assert.equal(yearsOld("1961-11-21", new Date(2026, 10, 21)), 65);
});

test("an instant is on the reader's own day", () => {
  assert.equal(day("2026-11-22T03:00:00Z"), "21 Nov 2026");
  assert.equal(dayAndClock("2026-11-22T03:00:00Z"), "21 Nov 2026, 22:00");
  assert.equal(clock(Date.parse("2026-11-22T03:00:00Z")), "22:00");
});

test("today and its neighbours are the reader's", () => {
  assert.equal(isoDay(new Date("2026-11-22T03:00:00Z")), "2026-11-21");
  assert.equal(shiftDay("2026-01-01", -1), "2025-12-31");
});
