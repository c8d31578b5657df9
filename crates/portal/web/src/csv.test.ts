import assert from "node:assert/strict";
import { test } from "node:test";
import { csvCell, csvText } from "./csv";

test("a cell is quoted only when it must be", () => {
  const cases: [Parameters<typeof csvCell>[0], string][] = [
    ["plain", "plain"],
    ["a,b", '"a,b"'],
    ['say "so"', '"say ""so"""'],
    ["a;=1+cmd", '"a;=1+cmd"'],
    ["a\t=1+cmd", '"a\t=1+cmd"'],
    ["two\nlines", '"two\nlines"'],
    [" edge ", '" edge "'],
    [null, ""],
    [undefined, ""],
    [-4.5, "-4.5"],
    [false, "false"],
  ];
  for (const [value, expected] of cases) assert.equal(csvCell(value), expected);
});

test("text that a spreadsheet would run is made harmless, numbers are not touched", () => {
  for (const begin of ["=", "+", "-", "@", "\t"]) {
    assert.equal(csvCell(`${begin}1+cmd`), `"'${begin}1+cmd"`);
  }
  assert.equal(csvCell(-1), "-1");
  assert.equal(csvCell("a=b"), "a=b");
});

test("lines end as RFC 4180 asks", () => {
  assert.equal(
    csvText(
      ["id", "name"],
      [
        [1, "Ada, B"],
        [2, null],
      ],
    ),
    'id,name\r\n1,"Ada, B"\r\n2,\r\n',
  );
});
