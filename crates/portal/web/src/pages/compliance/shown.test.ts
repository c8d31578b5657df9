import assert from "node:assert/strict";
import { test } from "node:test";
import { shownOf } from "./shown";

const shown = (query: string) => shownOf(new URLSearchParams(query), "2025-11-20");

test("two weeks up to today unless the address says otherwise", () => {
  assert.deepEqual(shown(""), { from: "2025-11-07", to: "2025-11-20", days: 14, date: "2025-11-20" });
  assert.deepEqual(shown("to=2025-11-08&days=7&date=2025-11-03"), {
    from: "2025-11-02",
    to: "2025-11-08",
    days: 7,
    date: "2025-11-03",
  });
});

test("what cannot be read of an address is left out", () => {
  for (const query of [
    "to=x",
    "to=2025-02-31",
    "to=0000-00-00",
    "days=1e9",
    "days=-1",
    "days=1.5",
    "days=x",
    "date=x",
  ]) {
    assert.deepEqual(shown(query), shown(""), query);
  }
});
