import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows, sortRows } from "./list";

const rows = [
  { name: "Patient 10", value: 3 as number | null },
  { name: "Patient 2", value: null },
  { name: "patient 1", value: -1 },
];

test("every word must be found, in any cell, whatever its case", () => {
  const cells = (row: (typeof rows)[0]) => [row.name, row.value];
  assert.equal(filterRows(rows, "  ", cells).length, 3);
  assert.deepEqual(filterRows(rows, "PATIENT 3", cells), [rows[0]]);
  assert.deepEqual(filterRows(rows, "nobody", cells), []);
});

test("numbers in words sort as numbers", () => {
  assert.deepEqual(
    sortRows(rows, (row) => row.name, "up").map((row) => row.name),
    ["patient 1", "Patient 2", "Patient 10"],
  );
});

test("what is missing comes last in either direction", () => {
  assert.deepEqual(
    sortRows(rows, (row) => row.value, "up").map((row) => row.value),
    [-1, 3, null],
  );
  assert.deepEqual(
    sortRows(rows, (row) => row.value, "down").map((row) => row.value),
    [3, -1, null],
  );
});
