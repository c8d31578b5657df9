import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, cellText, moved, percentText, stepOf } from "./heat";

test("nothing expected is not nothing received", () => {
  assert.equal(stepOf(cellOf(0, 0).percent), "none");
  assert.equal(stepOf(cellOf(0, 60).percent), "s0");
  assert.equal(cellText(cellOf(0, 0)), "nothing expected");
  assert.equal(cellText(cellOf(0, 60)), "0 of 60 received, 0 %");
  assert.equal(cellText(cellOf(5, 0)), "5 received, none expected");
});

test("only all is all", () => {
  assert.equal(percentText(99.6), "99 %");
  assert.equal(percentText(100), "100 %");
  assert.equal(percentText(null), "–");
  assert.equal(cellText(cellOf(1382, 1440)), "1\u202f382 of 1\u202f440 received, 96 %");
  assert.equal(cellOf(90, 60).percent, 100);
  assert.equal(cellOf(50, 100, 12.5).percent, 12.5, "the service's own percentage is kept");
});

test("steps of colour grow with the share", () => {
  assert.deepEqual([0, 1, 25, 50, 75, 98, 100].map(stepOf), ["s0", "s1", "s2", "s3", "s4", "s5", "s5"]);
});

test("keys move within the grid and not out of it", () => {
  assert.deepEqual(moved("ArrowRight", [0, 0], 3, 5), [0, 1]);
  assert.deepEqual(moved("ArrowUp", [0, 2], 3, 5), [0, 2]);
  assert.deepEqual(moved("End", [1, 0], 3, 5), [1, 4]);
  assert.deepEqual(moved("PageDown", [1, 0], 3, 5), [2, 0]);
  assert.equal(moved("Tab", [1, 0], 3, 5), null);
});
