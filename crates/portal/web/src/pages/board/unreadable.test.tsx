import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { Screen, settle, textOf } from "../../testkit/screen";
import { BoardList } from "./board_list";
import type { Row } from "./types";
import { WallDisplay } from "./wall_display";

const NOW = Date.parse("2026-11-22T12:00:00Z");
let screen: Screen;

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW }));
after(() => mock.timers.reset());
beforeEach(() => {
  screen = new Screen(null);
});
afterEach(() => screen.leave());

function row(name: string, more: Partial<Row> = {}): Row {
  return {
    ...{ uuid: name, name, heart_rate: null, respiration_rate: null, spo2: null, temperature: null },
    ...{ blood_pressure: null, news: null, battery: null, worn: null, charging: null, last_sync: null },
    spark: { step_ms: 300_000, from: NOW, heart_rate: [null], spo2: [null], respiration_rate: [null] },
    ...more,
  };
}

const damaged = row("Damaged", { unreadable: true });
const ill = row("Ill", {
  news: { score: 12, timestamp: NOW, missing: [], low_quality: [], stale: [], colour: "high", red_parameter: true },
});

const draw = async (part: preact.ComponentChild) => {
  screen.draw(part);
  await settle();
};
const list = (rows: Row[]) => (
  <BoardList code="ABC" rows={rows} sort={{ key: "news", descending: true }} onSort={() => {}} />
);
const line = (name: string) =>
  screen.all(".board-body [role=row]").find((one) => textOf(one.querySelector(".who")!) === name)!;
const cell = (within: Element, label: string) => textOf(within.querySelector(`[data-label="${label}"]`)!);

test("what cannot be read says so in every cell of the list", async () => {
  await draw(list([damaged, row("New")]));
  for (const label of ["HR", "Resp.", "SpO₂", "Temp.", "BP", "Last hours", "Last sync"]) {
    assert.equal(cell(line("Damaged"), label), "cannot be read", label);
  }
  assert.equal(cell(line("Damaged"), "NEWS"), "Cannot be readstored data are damaged");
  assert.equal(cell(line("Damaged"), "Bracelet"), "battery, worn: cannot be read");
  assert.doesNotMatch(textOf(line("Damaged")), /none|never|No score|unknown|–/);
  assert.equal(line("Damaged").querySelector("[aria-label]"), null, "no picture says that there were no values");
});

test("what was never measured is something else", async () => {
  await draw(list([damaged, row("New")]));
  assert.equal(cell(line("New"), "HR"), "none");
  assert.equal(cell(line("New"), "Bracelet"), "–unknown");
  assert.equal(cell(line("New"), "Last sync"), "never");
  assert.match(cell(line("New"), "NEWS"), /No score/);
  assert.doesNotMatch(textOf(line("New")), /read|damaged/);
});

test("a row that can be read again says its values", async () => {
  await draw(list([damaged]));
  await draw(list([row("Damaged", { heart_rate: { value: 61, timestamp: NOW }, worn: true })]));
  assert.equal(cell(line("Damaged"), "HR"), "61now");
  assert.equal(cell(line("Damaged"), "Bracelet"), "–worn");
  assert.doesNotMatch(textOf(line("Damaged")), /cannot be read/);
});

test("the wall says what cannot be read, before the sickest", async () => {
  await draw(<WallDisplay code="ABC" name="ABC" rows={[row("New"), ill, damaged]} line="live" />);
  assert.match(screen.text, /3 patients, 2 need a look/);
  assert.deepEqual(screen.all(".wall-tile h2").map(textOf), ["Damaged", "Ill", "New"]);
  const tile = screen.all(".wall-tile")[0]!;
  for (const label of ["HR", "Resp", "SpO₂", "Temp", "BP", "Last sync"]) {
    assert.equal(cell(tile, label), "cannot be read", label);
  }
  assert.match(cell(tile, "NEWS"), /Cannot be read/);
});
