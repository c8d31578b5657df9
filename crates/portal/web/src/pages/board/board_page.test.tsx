import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { connectionAnswered, connectionLost } from "../../api/connection";
import { navigate } from "../../router";
import { Screen, settle, textOf } from "../../testkit/screen";
import { refusal, Server } from "../../testkit/server";
import Page from "./page";
import type { Row } from "./types";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const MINUTE = 60_000;
let server: Server;
let screen: Screen;
let lines: Line[] = [];
let board: Row[] = [];

/** The browser's line of events, whose other end the test holds. */
class Line {
  readyState = 0;
  private readonly heard = new Map<string, (event: { data?: unknown }) => void>();
  constructor(readonly address: string) {
    lines.push(this);
  }
  addEventListener(name: string, listen: (event: { data?: unknown }) => void) {
    this.heard.set(name, listen);
  }
  close() {
    this.readyState = 2;
  }
  async say(name: string, data?: unknown) {
    if (name === "open") this.readyState = 1;
    await act(() => this.heard.get(name)?.({ data: JSON.stringify(data) }));
    await frame();
  }
}

const frame = async () => {
  await settle();
  await act(() => mock.timers.tick(16));
  await settle();
};

function row(name: string, more: Partial<Row> = {}): Row {
  return {
    ...{ uuid: name, name, heart_rate: null, respiration_rate: null, spo2: null, temperature: null },
    ...{
      blood_pressure: null,
      news: null,
      battery: null,
      worn: true,
      charging: false,
      last_sync: Date.now() - MINUTE,
      spark: null,
    },
    ...more,
  };
}

const score = (value: number | null, red_parameter = false): Row["news"] => ({
  ...{ score: value, timestamp: Date.now() - MINUTE, missing: [], low_quality: [], stale: [], colour: "none" as const },
  red_parameter,
});

before(() => {
  Object.assign(globalThis, { EventSource: Line });
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW });
});
after(() => mock.timers.reset());
beforeEach(async () => {
  server = new Server();
  server.on("GET", "/livez", () => "ok");
  server.on("GET", "/integration/v1/groups", () => [{ code: "AB C", name: "Ward 7", description: "" }]);
  server.on("GET", /board$/, () => ({ at: Date.now(), patients: board }));
  lines = [];
  board = [
    row("Well", { news: score(1), heart_rate: { value: 60.4, timestamp: Date.now() - 3 * MINUTE } }),
    row("Ill", { news: score(8) }),
    row("Unknown"),
  ];
  await act(() => navigate("/studies/AB%20C", { replace: true }));
  screen = new Screen(null);
});
afterEach(async () => {
  screen.leave();
  await act(() => connectionAnswered());
});

const open = async (query = "") => {
  await act(() => navigate(`/studies/ABC${query}`, { replace: true }));
  screen.draw(<Page params={{ code: "AB C" }} />);
  await settle();
  await lines.at(-1)!.say("open");
};
const names = () => screen.all(".board-body .who a").map(textOf);
const cell = (name: string, label: string) => {
  const line = screen.all(".board-body [role=row]").find((one) => textOf(one.querySelector(".who")!).startsWith(name))!;
  return line.querySelector<HTMLElement>(`[data-label="${label}"]`)!;
};

test("the line is opened first, the rows are read then, the sickest comes first", async () => {
  screen.draw(<Page params={{ code: "AB C" }} />);
  await settle();
  assert.equal(lines[0]!.address, "/portal/api/groups/AB%20C/board/events");
  assert.equal(server.of(/board$/).length, 0);
  assert.equal(screen.all(".skeleton").length, 1);
  await lines[0]!.say("open");
  assert.deepEqual(names(), ["Ill", "Well", "Unknown"]);
  assert.match(textOf(screen.one(".line-sign")), /^Connected$/);
});

test("a line that hangs does not hold the rows up", async () => {
  screen.draw(<Page params={{ code: "AB C" }} />);
  await settle();
  await act(() => mock.timers.tick(1_500));
  await frame();
  assert.equal(names().length, 3);
  assert.match(textOf(screen.one(".line-sign")), /Connecting/);
});

test("a value is shown with its age, and what is missing is said to be", async () => {
  await open();
  assert.equal(textOf(cell("Well", "HR")), "603 min");
  assert.equal(textOf(cell("Ill", "HR")), "none");
  assert.equal(textOf(cell("Ill", "BP")), "none");
  await act(() => mock.timers.tick(60_000));
  assert.equal(textOf(cell("Well", "HR")), "604 min", "it ages without being read again");
});

test("a value grows old before one's eyes", async () => {
  await open();
  assert.equal(cell("Well", "HR").classList.contains("outdated"), false);
  await act(() => mock.timers.tick(27 * MINUTE + 1_000));
  assert.equal(cell("Well", "HR").classList.contains("outdated"), true);
  assert.equal(cell("Well", "NEWS").classList.contains("outdated"), false);
});

test("a value is old after its limit and not at it, pressures much later", async () => {
  const pressure = (timestamp: number) => ({ systolic: 120, diastolic: 80, timestamp });
  board = [
    row("At", {
      spo2: { value: 96, timestamp: Date.now() - 30 * MINUTE },
      blood_pressure: pressure(Date.now() - 12 * 60 * MINUTE),
      last_sync: Date.now() - 30 * MINUTE,
    }),
    row("Past", {
      spo2: { value: 96, timestamp: Date.now() - 30 * MINUTE - 1_000 },
      blood_pressure: pressure(Date.now() - 12 * 60 * MINUTE - 1_000),
      last_sync: Date.now() - 30 * MINUTE - 1_000,
    }),
  ];
  screen.draw(<Page params={{ code: "AB C" }} />);
  await settle();
  // Drawn at the very instant: a frame takes some milliseconds.
  const open_line = lines[0]!.say("open");
  mock.timers.setTime(Date.now() - 16);
  await open_line;
  for (const label of ["SpO₂", "BP", "Last sync"]) {
    assert.equal(cell("At", label).classList.contains("outdated"), false, label);
    assert.equal(cell("Past", label).classList.contains("outdated"), true, label);
  }
});

test("a bracelet whose clock is ahead has no age below nothing", async () => {
  board = [
    row("Ahead", {
      heart_rate: { value: 70, timestamp: Date.now() + 10 * MINUTE },
      last_sync: Date.now() + 10 * MINUTE,
    }),
  ];
  await open();
  assert.equal(textOf(cell("Ahead", "HR")), "70now");
  await act(() => mock.timers.tick(1_000));
  assert.equal(textOf(cell("Ahead", "HR")), "70now");
});

test("what was measured years ago is given in days", async () => {
  board = [row("Old", { spo2: { value: 96, timestamp: 0 }, last_sync: null })];
  await open();
  assert.match(textOf(cell("Old", "SpO₂")), /^96\d{5} d$/);
  assert.equal(textOf(cell("Old", "Last sync")), "never");
});

test("half a pressure is a dash next to the other half", async () => {
  const at = Date.now();
  board = [
    row("Half", { blood_pressure: { systolic: 123.6, diastolic: null, timestamp: at } }),
    row("Other", { blood_pressure: { systolic: null, diastolic: 78.2, timestamp: at } }),
  ];
  await open();
  assert.match(textOf(cell("Half", "BP")), /^124\/–/);
  assert.match(textOf(cell("Other", "BP")), /^–\/78/);
});

test("a bracelet says whether it is worn, charging, low", async () => {
  const at = Date.now();
  board = [
    row("a", { battery: { percent: 15, timestamp: at }, worn: true }),
    row("b", { battery: { percent: 16, timestamp: at }, worn: false }),
    row("c", { charging: true, worn: false }),
    row("d", { worn: null, charging: null }),
  ];
  await open();
  assert.deepEqual(
    ["a", "b", "c", "d"].map((name) => textOf(cell(name, "Bracelet"))),
    ["15 % lowlow, worn", "16 %not worn", "–charging", "–unknown"],
  );
});

test("who cannot be read is listed with the sickest and needs a look", async () => {
  board.push(row("Damaged", { unreadable: true, last_sync: null }));
  await open();
  assert.deepEqual(names(), ["Damaged", "Ill", "Well", "Unknown"]);
  await screen.press("Needs a look 2");
  assert.deepEqual(names(), ["Damaged", "Ill"]);
});

test("a row that comes takes its place, once a frame", async () => {
  await open();
  await lines[0]!.say("row", row("Well", { news: score(9) }));
  assert.deepEqual(names(), ["Well", "Ill", "Unknown"]);
  await lines[0]!.say("row", row("New", { news: score(7) }));
  assert.deepEqual(names(), ["Well", "Ill", "New", "Unknown"]);
});

test("a change of the study reads the board again", async () => {
  await open();
  board = [row("Moved in", { news: score(2) })];
  await lines[0]!.say("reload");
  assert.deepEqual(names(), ["Moved in"]);
});

test("a line that breaks twice is shown, its rows stay, and it comes back by itself", async () => {
  await open();
  await lines[0]!.say("error");
  await act(() => mock.timers.tick(0));
  await settle();
  await lines[1]!.say("error");
  assert.match(textOf(screen.one(".line-sign")), /Connection lost/);
  assert.equal(names().length, 3);
  await act(() => mock.timers.tick(3_000));
  await settle();
  await lines.at(-1)!.say("open");
  assert.match(textOf(screen.one(".line-sign")), /^Connected$/);
});

test("other calls that fail break a line that says nothing", async () => {
  await open();
  await act(() => connectionLost());
  await settle();
  assert.equal(lines[0]!.readyState, 2);
  await act(() => connectionAnswered());
  await settle();
  await lines.at(-1)!.say("open");
  assert.match(textOf(screen.one(".line-sign")), /^Connected$/);
});

test("who has no right to a board reads so, and the line is not tried for ever", async () => {
  server.on("GET", /board$/, () => refusal(403, "forbidden", { message: "not a member" }));
  await open();
  assert.match(screen.text, /no right to do this \(not a member\)/);
  await act(() => mock.timers.tick(120_000));
  await settle();
  assert.equal(lines.length, 1);
});

test("a service that is busy is no end of the board", async () => {
  server.on("GET", /board$/, () => refusal(429, "too_many_requests", { retryAfter: "1" }));
  await open();
  server.on("GET", /board$/, () => ({ at: 0, patients: board }));
  await act(() => mock.timers.tick(20_000));
  await settle();
  await lines.at(-1)!.say("open");
  assert.equal(names().length, 3);
});

test("a study without patients says how to begin", async () => {
  board = [];
  await open();
  assert.match(screen.text, /Nobody is in this study yet/);
  assert.equal(screen.button("Create vouchers").getAttribute("href"), "/studies/AB%20C/vouchers");
});

test("filters are in the address and count those that they show", async () => {
  await open();
  await screen.press("Needs a look 1");
  assert.equal(location.search, "?show=attention");
  assert.deepEqual(names(), ["Ill"]);
  await screen.press("No score 1");
  assert.deepEqual(names(), ["Unknown"]);
  await screen.press("Not worn 0");
  assert.match(screen.text, /No patient fits/);
  await screen.press("Show all 3");
  assert.equal(location.search, "");
  assert.equal(names().length, 3);
});

test("a filter that nobody knows hides nobody", async () => {
  await open("?show=everything");
  assert.equal(names().length, 3);
  assert.equal(screen.button("All 3").getAttribute("aria-pressed"), "true");
});

test("a search is in the address, and an address opens with its search", async () => {
  await open("?q=unk");
  assert.deepEqual(names(), ["Unknown"]);
  await screen.type("Find a patient", "ill");
  assert.equal(location.search, "?q=ill");
  assert.deepEqual(names(), ["Ill"]);
});

test("a head sorts from its worrying end, and then the other way", async () => {
  board = [
    row("a", { spo2: { value: 99, timestamp: NOW } }),
    row("b", { spo2: { value: 85, timestamp: NOW } }),
    row("c"),
  ];
  await open();
  const head = () => screen.all("[role=columnheader]").find((one) => textOf(one).startsWith("SpO₂"))!;
  await screen.press(head().querySelector("button")!);
  assert.deepEqual(names(), ["b", "a", "c"]);
  assert.equal(head().getAttribute("aria-sort"), "ascending");
  await screen.press(head().querySelector("button")!);
  assert.deepEqual(names(), ["a", "b", "c"]);
  assert.equal(location.search, "?sort=spo2.down");
});

test("an order that cannot be read of an address is the usual one", async () => {
  for (const sort of ["", "height.up", "height", "news", "news.sideways", ".", "constructor.down"]) {
    await open(`?sort=${sort}`);
    assert.deepEqual(names(), ["Ill", "Well", "Unknown"], sort);
  }
  await open("?sort=spo2");
  assert.equal(textOf(screen.one("[aria-sort=ascending]")), "SpO₂ %", "a column without a direction has its own");
});

test("of a thousand patients the page holds those in sight, and says how many there are", async () => {
  board = Array.from({ length: 1_000 }, (_, at) => row(`Bed ${at}`, { news: score(at % 9) }));
  await open();
  assert.ok(names().length < 60, `${names().length} rows are drawn`);
  assert.equal(screen.one(".board").getAttribute("aria-rowcount"), "1001");
  assert.equal(screen.one<HTMLElement>(".board-body").style.height, "52000px");
  assert.equal(screen.all(".board-body [role=row]")[0]!.getAttribute("aria-rowindex"), "2");
});

test("a name in any writing, however long, leads to its patient", async () => {
  const long = `عبد ${"x".repeat(200)}`;
  board = [row("u/1", { name: long, external_id: "K 1" })];
  await open();
  assert.equal(names()[0], long);
  assert.equal(screen.one(".who a").getAttribute("href"), "/studies/AB%20C/patients/u%2F1");
});

test("the wall shows the sickest large, lets the others take turns and can be left", async () => {
  board = Array.from({ length: 300 }, (_, at) => row(`Bed ${at}`, { news: score(at % 10 === 7 ? 9 : 1) }));
  await open("?wall=1");
  const tiles = () => screen.all(".wall-tile h2").map(textOf);
  const sick = Array.from({ length: 30 }, (_, at) => `Bed ${10 * at + 7}`);
  const seen = new Set<string>();
  assert.match(screen.text, /Ward 7.*300 patients, 30 need a look/);
  for (let turn = 0; turn < 20; turn += 1) {
    assert.deepEqual(
      sick.filter((name) => !tiles().includes(name)),
      [],
      "who needs a look is on every page",
    );
    for (const name of tiles()) seen.add(name);
    await act(() => mock.timers.tick(15_000));
    await settle();
  }
  assert.equal(seen.size, 300, "everybody has a turn");
  assert.equal(document.documentElement.dataset.wall, "");
  await screen.press("Leave the wall display");
  assert.equal(document.documentElement.dataset.wall, undefined);
  assert.equal(screen.all(".board").length, 1);
});

test("the wall says what scores, since when nothing comes, and how old the data are", async () => {
  const parts = { heart_rate: 3, respiration_rate: 0, spo2: 2, temperature: null, blood_pressure: 0 };
  const sick = row("Ill", {
    news: { ...score(7)!, parts },
    heart_rate: { value: 135, timestamp: Date.now() },
    spo2: { value: 93, timestamp: Date.now() },
  });
  const off = row("Off", {
    news: score(0),
    worn: false,
    heart_rate: { value: 60, timestamp: Date.now() - 180 * MINUTE },
  });
  board = [row("Well", { news: score(2) }), off, sick];
  await open("?wall=1");
  assert.deepEqual(screen.all(".wall-tile h2").map(textOf), ["Ill", "Off", "Well"], "no data is a reason to look");
  const [ill, silent] = screen.all(".wall-tile");
  assert.match(textOf(ill!.querySelector('[data-label="HR"]')!), /135.*\+3/);
  assert.match(textOf(ill!.querySelector('[data-label="SpO₂"]')!), /93.*\+2/);
  assert.equal(ill!.querySelector('[data-label="HR"]')!.getAttribute("data-unit"), "/min");
  assert.equal(textOf(silent!.querySelector(".wall-reason")!), "off the wrist, no values for 3 h 00");
  assert.match(screen.text, /data: 1 min/);
  await act(() => mock.timers.tick(6 * MINUTE));
  await settle();
  assert.match(screen.text, /no new data for 7 min/);
});

test("another study begins with its own rows and its own line", async () => {
  await open();
  server.on("GET", /OTHER\/board$/, () => ({ at: 0, patients: [row("Other")] }));
  screen.draw(<Page params={{ code: "OTHER" }} />);
  await settle();
  assert.equal(lines[0]!.readyState, 2);
  assert.deepEqual(names(), []);
  await lines[1]!.say("open");
  assert.deepEqual(names(), ["Other"]);
  screen.draw(null);
  assert.equal(lines[1]!.readyState, 2, "a page that is left hangs up");
});
