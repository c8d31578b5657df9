import assert from "node:assert/strict";
import { test } from "node:test";
import { ageText } from "./age";
import { BOARD_CSV_HEADER, boardCsvRow } from "./board_csv";
import { BoardRows } from "./board_rows";
import { parametersText, riskOf, riskText, shownNews } from "./news";
import { arranged, counts, firstDirection, type Sort, urgency } from "./rows";
import { sparkPath, sparkText } from "./sparkline";
import type { NewsReading, Row } from "./types";
import { visibleRows } from "./window_of_rows";

const NOW = Date.parse("2025-11-20T12:00:00Z");
const MINUTE = 60_000;

function news(score: number | null, more: Partial<NewsReading> = {}): NewsReading {
  return {
    score,
    timestamp: NOW - MINUTE,
    missing: [],
    low_quality: [],
    stale: [],
    colour: "none",
    red_parameter: false,
    ...more,
  };
}

function row(name: string, more: Partial<Row> = {}): Row {
  return {
    ...{ uuid: name, name, heart_rate: null, respiration_rate: null, spo2: null, temperature: null },
    ...{
      blood_pressure: null,
      news: null,
      battery: null,
      worn: true,
      charging: false,
      last_sync: NOW - MINUTE,
      spark: null,
    },
    ...more,
  };
}

test("bands of risk are those of the guidance", () => {
  const bands = Array.from({ length: 9 }, (_, score) => riskOf({ score, red_parameter: false }));
  assert.deepEqual(bands, ["low", "low", "low", "low", "low", "medium", "medium", "high", "high"]);
  assert.equal(riskOf({ score: 3, red_parameter: true }), "low-medium");
  assert.equal(riskOf({ score: 5, red_parameter: true }), "medium");
  assert.equal(riskOf({ score: null, red_parameter: true }), "unknown");
  assert.equal(riskText("low-medium"), "Low–medium");
});

test("a score without all parts is no number, and says what it lacks", () => {
  const shown = shownNews(news(null, { missing: ["temperature", "spo2"], stale: ["blood_pressure"] }), NOW);
  assert.deepEqual([shown.score, shown.word], ["–", "No score"]);
  assert.equal(shown.note, "no temperature, SpO₂; old blood pressure");
  const poor = shownNews(news(null, { low_quality: ["heart_rate"] }), NOW);
  assert.equal(poor.note, "poor heart rate");
  assert.equal(shownNews(null, NOW).word, "No score");
  assert.equal(parametersText(["something_new"]), "something new");
});

test("a score is outdated after half an hour", () => {
  assert.equal(shownNews(news(2, { timestamp: NOW - 30 * MINUTE }), NOW).stale, false);
  assert.equal(shownNews(news(2, { timestamp: NOW - 30 * MINUTE - 1 }), NOW).stale, true);
});

test("ages in words", () => {
  const ages: [number, string][] = [
    [0, "now"],
    [4999, "now"],
    [59_999, "59 s"],
    [MINUTE, "1 min"],
    [125 * MINUTE, "2 h 05"],
    [49 * 60 * MINUTE, "2 d"],
  ];
  for (const [ms, text] of ages) assert.equal(ageText(ms), text);
});

const ward = [
  row("Well", { news: news(1), heart_rate: { value: 60, timestamp: NOW } }),
  row("Unknown", { news: news(null, { missing: ["spo2"] }), external_id: "K-77" }),
  row("Ill", { news: news(8), heart_rate: { value: 120, timestamp: NOW } }),
  row("Red", { news: news(3, { red_parameter: true }), worn: false }),
  row("Well too", { news: news(0, { timestamp: NOW - 60 * MINUTE }), last_sync: NOW - 60 * MINUTE }),
];
const names = (rows: Row[]) => rows.map((one) => one.name);
const byNews: Sort = { key: "news", descending: true };
const all = { text: "", attention: "all" as const };

test("the sickest come first, and nobody without a score is hidden among the well", () => {
  assert.deepEqual(names(arranged(ward, all, byNews, NOW)), ["Ill", "Red", "Well too", "Well", "Unknown"]);
  assert.ok(urgency(ward[3]!, NOW) < urgency(row("", { news: news(5) }), NOW));
  const red = row("", { news: news(null, { red_parameter: true, missing: ["spo2"] }) });
  assert.equal(urgency(red, NOW), 4.5, "a part that scores 3 counts also without a total");
  assert.equal(shownNews(red.news, NOW).note, "a part scores 3; no SpO₂");
});

test("who has no value comes last in both directions", () => {
  for (const descending of [true, false]) {
    const sorted = names(arranged(ward, all, { key: "heart_rate", descending }, NOW));
    assert.deepEqual(sorted.slice(0, 2), descending ? ["Ill", "Well"] : ["Well", "Ill"]);
    assert.deepEqual(sorted.slice(2), ["Red", "Unknown", "Well too"]);
  }
  assert.deepEqual(names(ward)[0], "Well", "the given list stays as it is");
});

test("who cannot be read is listed with the sickest, whichever column sorts", () => {
  const damaged = row("Damaged", { unreadable: true, last_sync: null, worn: null, charging: null });
  const rows = [...ward, damaged];
  assert.deepEqual(names(arranged(rows, all, byNews, NOW)).slice(0, 2), ["Damaged", "Ill"]);
  for (const key of ["heart_rate", "spo2", "blood_pressure", "battery", "last_sync"] as const) {
    const descending = firstDirection(key);
    assert.equal(names(arranged(rows, all, { key, descending }, NOW))[0], "Damaged", key);
  }
  const calm = names(arranged(rows, all, { key: "heart_rate", descending: false }, NOW));
  assert.deepEqual(calm.slice(0, 3), ["Well", "Ill", "Damaged"]);
  assert.equal(names(arranged(rows, all, { key: "name", descending: false }, NOW))[0], "Damaged");
  const two = [row("B", { unreadable: true }), row("A", { unreadable: true })];
  assert.deepEqual(names(arranged(two, all, byNews, NOW)), ["A", "B"]);
  assert.deepEqual(names(arranged(rows, { text: "", attention: "attention" }, byNews, NOW)), [
    "Damaged",
    "Ill",
    "Red",
    "Well too",
  ]);
  assert.equal(counts(rows, NOW).attention, 4);
});

test("names sort as people count", () => {
  const numbered = ["Bed 10", "Bed 9", "bed 1"].map((name) => row(name));
  assert.deepEqual(names(arranged(numbered, all, { key: "name", descending: false }, NOW)), [
    "bed 1",
    "Bed 9",
    "Bed 10",
  ]);
});

test("filters", () => {
  const shown = (attention: "attention" | "stale" | "missing" | "not_worn") =>
    names(arranged(ward, { text: "", attention }, byNews, NOW));
  assert.deepEqual(shown("attention"), ["Ill", "Red", "Well too"], "no data is a reason to look");
  assert.deepEqual(shown("stale"), ["Well too"]);
  assert.deepEqual(shown("missing"), ["Unknown"]);
  assert.deepEqual(shown("not_worn"), ["Red"]);
  assert.deepEqual(names(arranged(ward, { text: " k-77 ", attention: "all" }, byNews, NOW)), ["Unknown"]);
  assert.deepEqual(names(arranged(ward, { text: "too well", attention: "all" }, byNews, NOW)), ["Well too"]);
  assert.deepEqual(counts(ward, NOW), { all: 5, attention: 3, stale: 1, missing: 1, not_worn: 1 });
});

test("a row that came while the board was read stays when it is newer", () => {
  let reported: Row[] = [];
  const soon: (() => void)[] = [];
  const rows = new BoardRows(
    (now) => (reported = now),
    (then) => soon.push(then),
  );
  const flush = () => {
    for (const then of soon.splice(0)) then();
  };
  rows.put(row("A", { last_sync: 20 }));
  rows.put(row("B", { last_sync: 5 }));
  rows.replace({ at: 0, patients: [row("A", { last_sync: 10 }), row("B", { last_sync: 10 }), row("C")] });
  assert.equal(soon.length, 1, "three changes, one drawing");
  flush();
  assert.deepEqual(
    reported.map(({ name, last_sync }) => [name, last_sync]),
    [
      ["A", 20],
      ["B", 10],
      ["C", NOW - MINUTE],
    ],
  );
  rows.replace({ at: 0, patients: [row("A", { last_sync: 15 })] });
  flush();
  assert.deepEqual(
    reported.map(({ last_sync }) => last_sync),
    [15],
    "what came before the last reading is done with",
  );
});

test("what is read as damaged is not hidden by values that came before", () => {
  let reported: Row[] = [];
  const rows = new BoardRows(
    (now) => (reported = now),
    (then) => then(),
  );
  rows.put(row("A", { last_sync: 20 }));
  rows.replace({ at: 0, patients: [row("A", { last_sync: null, unreadable: true })] });
  assert.deepEqual(
    reported.map(({ unreadable }) => unreadable),
    [true],
  );
});

test("a sparkline has gaps, and no noise where there is none", () => {
  assert.equal(sparkPath([null, null], 100, 20), "");
  assert.equal(sparkPath([60, 70, null, 65], 90, 20, 10), "M0 20L30 0M90 10h.01");
  assert.equal(sparkPath([60, 60, 60], 100, 20), "M0 10L50 10L100 10");
  assert.equal(sparkText([60, null, 72.4], "Heart rate"), "Heart rate of the last hours: 60 to 72, last 72");
});

test("only what is in sight is drawn, and all of that", () => {
  const { begin, end } = visibleRows(-5200, 800, 52, 1000);
  assert.ok(begin <= 100 && end >= 100 + 800 / 52 && end - begin < 40, `${begin} ${end}`);
  assert.deepEqual(visibleRows(100, 800, 52, 3), { begin: 0, end: 3 });
  assert.deepEqual(visibleRows(-100_000, 800, 52, 3).end, 3);
});

test("a line of the CSV has a cell for every head", () => {
  const cells = boardCsvRow(
    row("A", { news: news(7), blood_pressure: { systolic: 120, diastolic: 80, timestamp: NOW } }),
  );
  assert.equal(cells.length, BOARD_CSV_HEADER.length);
  assert.equal(cells[BOARD_CSV_HEADER.indexOf("news_risk")], "High");
  assert.equal(cells[BOARD_CSV_HEADER.indexOf("nibp_timestamp")], "2025-11-20T12:00:00.000Z");
  assert.equal(boardCsvRow(row("B")).length, BOARD_CSV_HEADER.length);
});

test("the CSV distinguishes what cannot be read from what was never measured", () => {
  const reported = (one: Row) =>
    ["news_risk", "heart_rate", "unreadable"].map((head) => boardCsvRow(one)[BOARD_CSV_HEADER.indexOf(head)]);
  const damaged = row("A", { unreadable: true, last_sync: null, worn: null, charging: null });
  assert.deepEqual(reported(damaged), ["Cannot be read", undefined, true]);
  assert.deepEqual(reported(row("B")), [null, undefined, false]);
  assert.equal(boardCsvRow(damaged).length, BOARD_CSV_HEADER.length);
});
