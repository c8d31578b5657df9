import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { navigate } from "../../router";
import { Screen, settle, textOf } from "../../testkit/screen";
import { Server } from "../../testkit/server";
import { arrangedPatients } from "./arranged";
import { cellOf } from "./heat";
import { HeatMap } from "./heat_map";
import Page from "./page";
import type { PatientDays } from "./types";

let server: Server;
let screen: Screen;

before(() =>
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2025-11-20T12:00:00Z") }),
);
after(() => mock.timers.reset());
beforeEach(() => {
  server = new Server();
  screen = new Screen(null);
});
afterEach(() => screen.leave());

const person = (name: string, percent: (number | null)[]): PatientDays => ({
  ...{ uuid: name, name, percent },
  received: percent.map((share) => (share === null ? null : share * 10)),
  expected: percent.map((share) => (share === null ? 0 : 1_000)),
});
const names = (patients: PatientDays[]) => patients.map(({ name }) => name);

test("those who sent least come first, and before them those who were to send nothing", () => {
  const patients = [
    person("All", [100, 100]),
    person("Half", [0, 100]),
    person("None", [0, 0]),
    person("New", [null, null]),
    person("Once", [null, 90]),
  ];
  assert.deepEqual(names(arrangedPatients(patients, "", "least")), ["New", "None", "Half", "Once", "All"]);
  assert.deepEqual(names(patients), ["All", "Half", "None", "New", "Once"], "the given list stays as it is");
});

test("names sort as people count, in either order", () => {
  const patients = ["Bed 10", "bed 9", "Bed 1"].map((name) => person(name, [50]));
  assert.deepEqual(names(arrangedPatients(patients, "", "name")), ["Bed 1", "bed 9", "Bed 10"]);
  assert.deepEqual(names(arrangedPatients(patients, "", "least")), ["Bed 1", "bed 9", "Bed 10"], "who sent the same");
});

test("a search finds a part of a name, whatever its case and blanks", () => {
  const patients = [person("Zoë Müller", [1]), person("عبد الله", [2]), person("Ann", [3])];
  assert.deepEqual(names(arrangedPatients(patients, "  MÜL ", "least")), ["Zoë Müller"]);
  assert.deepEqual(names(arrangedPatients(patients, "الله", "least")), ["عبد الله"]);
  assert.deepEqual(names(arrangedPatients(patients, "müller zoë", "least")), ["Zoë Müller"], "as on the board");
  assert.deepEqual(arrangedPatients([], "x", "least"), []);
});

const COLUMNS = ["a", "b", "c"].map((key) => ({ key, label: key, long: `day ${key}` }));
const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    key: `r${at}`,
    label: `Row ${at}`,
    cells: [cellOf(0, 0), cellOf(30, 60), cellOf(60, 60)],
  }));
const words = () => textOf(screen.one(".heat-words"));
const focused = () => screen.all("[tabindex='0']").map(textOf);

test("one cell is the stop of the grid: the newest day of the first row", () => {
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={rows(2)} />);
  assert.deepEqual(focused(), ["100"]);
  assert.equal(words(), "Row 0 · day c: 60 of 60 received, 100 %");
});

test("arrows move the stop and the focus, and say what is there", async () => {
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={rows(2)} />);
  const cell = () => screen.one("[tabindex='0']");
  assert.equal((await screen.key("ArrowLeft", cell())).defaultPrevented, true);
  assert.equal(words(), "Row 0 · day b: 30 of 60 received, 50 %");
  await screen.key("ArrowDown", cell());
  await screen.key("Home", cell());
  assert.equal(words(), "Row 1 · day a: nothing expected");
  assert.ok(document.activeElement === cell());
  assert.equal((await screen.key("Tab", cell())).defaultPrevented, false);
});

test("Enter and a press open the cell", async () => {
  const opened: [string, number][] = [];
  screen.draw(
    <HeatMap
      label="x"
      corner="y"
      columns={COLUMNS}
      rows={rows(2)}
      onOpen={({ key }, column) => opened.push([key, column])}
    />,
  );
  await screen.key("Enter", screen.one("[tabindex='0']"));
  await screen.press(screen.all("tbody tr:last-child td")[0]!);
  await screen.press(screen.all("tbody th")[0]!);
  assert.deepEqual(
    opened,
    [
      ["r0", 2],
      ["r1", 0],
    ],
    "a name is no cell",
  );
});

test("a stop that a shorter list has not is on its last row", async () => {
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={rows(5)} />);
  await screen.key("PageDown", screen.one("[tabindex='0']"));
  assert.match(words(), /^Row 4/);
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={rows(2)} />);
  assert.match(words(), /^Row 1/);
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={[]} />);
  assert.equal(words(), "Nothing to show.");
  await screen.key("ArrowDown", screen.one("tbody"));
  await screen.key("Enter", screen.one("tbody"));
  screen.draw(<HeatMap label="x" corner="y" columns={COLUMNS} rows={rows(1)} />);
  assert.match(words(), /^Row 0/, "and it comes back with the rows");
});

const DAYS = ["2025-11-18", "2025-11-19", "2025-11-20"];
const open = async (query = "") => {
  await act(() => navigate(`/studies/A/compliance${query}`, { replace: true }));
  screen.draw(<Page params={{ code: "A" }} />);
  await settle();
};

test("the page asks for two weeks up to today and moves by its days", async () => {
  server.on("GET", /compliance/, () => ({ days: DAYS, patients: [] }));
  await open();
  assert.equal(server.asked[0]!.path, "/portal/api/groups/A/compliance?from=2025-11-07&to=2025-11-20");
  assert.match(screen.text, /Nobody is in this study yet/);
  await screen.press("7 d");
  await screen.press("Days before");
  assert.equal(server.asked.at(-1)!.path, "/portal/api/groups/A/compliance?from=2025-11-07&to=2025-11-13");
});

test("a study of a thousand patients is drawn a hundred at a time", async () => {
  const patients = Array.from({ length: 1_000 }, (_, at) => person(`P${at}`, [at / 10, null, 100]));
  server.on("GET", /groups/, () => ({ days: DAYS, patients }));
  await open();
  assert.equal(screen.all("tbody tr").length, 100);
  await screen.press("Show 100 more of 900");
  assert.equal(screen.all("tbody tr").length, 200);
  await screen.type("Find a patient", "P999");
  assert.equal(screen.all("tbody tr").length, 1);
});

test("days that cannot be read say so and are not taken for days without data", async () => {
  const damaged: PatientDays = { ...person("Damaged", [null]), unreadable: true };
  server.on("GET", /groups/, () => ({ days: ["2025-11-20"], patients: [damaged, person("New", [null])] }));
  await open();
  const cells = screen.all("tbody td");
  assert.deepEqual(cells.map(textOf), ["?", "–"]);
  assert.match(cells[0]!.getAttribute("aria-label")!, /: cannot be read, stored data are damaged$/);
  assert.match(cells[1]!.getAttribute("aria-label")!, /: nothing expected$/);
});

test("a cell opens the patient's day, whose hours are counted where clocks change", async () => {
  server.on("GET", /groups/, () => ({ days: ["2025-10-26"], patients: [person("Ada", [50])] }));
  const hours = (count: number) => ({
    hours: count,
    types: [{ type: "activity", received: Array(count).fill(60), expected: Array(count).fill(60) }],
  });
  server.on("GET", /patients\/Ada/, () => hours(25));
  await open();
  await screen.press(screen.one("tbody td"));
  assert.equal(location.search, "?patient=Ada&date=2025-10-26");
  assert.match(screen.text, /Ada, Sun 26 Oct 2025/);
  const day = () => screen.all("[role=grid]")[0]!;
  assert.equal(day().querySelectorAll("td").length, 25);
  assert.match(day().querySelectorAll("td")[2]!.getAttribute("aria-label")!, /^hour 3 of 25:/);
  server.on("GET", /patients\/Ada/, () => hours(24));
  await screen.press("Day after");
  assert.match(day().querySelectorAll("td")[2]!.getAttribute("aria-label")!, /^02:00 to 03:00:/);
  await screen.press("Close");
  assert.equal(location.search, "");
  assert.equal(screen.all("[role=grid]").length, 1);
});
