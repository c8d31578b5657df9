// Values at the edges of what the pages are given: none, very many, very old, days of clock changes.

import "./testkit/browser";
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { ApiError } from "./api/client";
import { explain, waitWords } from "./api/explain";
import * as paths from "./api/paths";
import { changedFields, formValues, numberOf } from "./changes";
import { timeLabels, timeMarks, timeStep } from "./charts/axis";
import { held, LEAST_MS, lengthText, MOST_MS, type Range, rangeOfKey, zoomed } from "./charts/range";
import { aligned, broken, joinLimit } from "./charts/series";
import { valueRange } from "./charts/track_data";
import { VITAL_TRACKS } from "./charts/tracks";
import { extremes, gapsText, nearest, signalText } from "./charts/words";
import { addDays, civilDate, clock, dateOf, dayRange, instantOf, longDate, rangeText } from "./charts/zone";
import { csvCell, csvText, download, isoTime } from "./csv";
import { curlCommand } from "./curl";
import * as format from "./format";
import { arranged, counts } from "./pages/board/rows";
import { sparkPath, sparkText } from "./pages/board/sparkline";
import type { Row } from "./pages/board/types";
import { turnOf } from "./pages/board/wall_layout";
import { visibleRows } from "./pages/board/window_of_rows";
import { cellText, moved, percentText, stepOf } from "./pages/compliance/heat";
import { newsSeries } from "./pages/patient/news_history";
import { zoneOfSummary } from "./pages/patient/zone_of_summary";
import { compareText, holdsAll, wordsOf } from "./words";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ZURICH = "Europe/Zurich";

test("what is no time is a dash and not a crash", () => {
  for (const none of [null, undefined, "", "soon", NaN]) {
    assert.deepEqual(
      [format.clock(none), format.day(none), format.dayAndClock(none), format.age(none), format.ago(none)],
      Array(5).fill("–"),
    );
  }
  assert.equal(format.day(0), "1 Jan 1970", "the epoch is a time");
});

test("an hour that comes twice is listed twice, and one that is skipped never", () => {
  const back = Date.parse("2026-10-25T00:30:00Z");
  assert.deepEqual(
    [0, 1, 2].map((hour) => format.clock(back + hour * HOUR)),
    ["02:30", "02:30", "03:30"],
  );
  const ahead = Date.parse("2026-03-29T00:30:00Z");
  assert.deepEqual(
    [0, 1].map((hour) => format.clock(ahead + hour * HOUR)),
    ["01:30", "03:30"],
  );
});

test("a day moves by days and not by 24 hours", () => {
  assert.equal(format.shiftDay("2026-03-29", 1), "2026-03-30");
  assert.equal(format.shiftDay("2026-10-25", -1), "2026-10-24");
  assert.equal(format.shiftDay("2026-12-31", 1), "2027-01-01");
  assert.equal(format.shiftDay("2028-03-01", -1), "2028-02-29");
  assert.equal(format.shiftDay("2026-11-22", -365), "2025-11-22");
});

test("ages of years are days, and what lies ahead is now", () => {
  assert.equal(format.duration(3_650 * DAY), "3650 d");
  assert.equal(format.duration(-1), "now");
  assert.equal(format.age(Date.now() + DAY), "now");
});

test("numbers of any size keep their digits", () => {
  assert.equal(format.number(0), "0");
  assert.equal(format.number(999.5), "1000");
  assert.equal(format.number(-12345.678, 2), "−12\u202f345.68");
  assert.equal(format.number(undefined), "–");
  assert.equal(format.count(1_000, "patient"), "1000 patients");
});

test("a birthday on a leap day comes a day later in other years, and who is not yet born has no age", () => {
  assert.equal(format.yearsOld("2000-02-29", new Date(2027, 1, 28)), 26);
  assert.equal(format.yearsOld("2000-02-29", new Date(2027, 2, 1)), 27);
  assert.equal(format.yearsOld("2027-01-01", new Date(2026, 10, 22)), null);
  for (const none of [null, undefined, "", "1980-11", "a-b-c"]) assert.equal(format.yearsOld(none), null);
});

test("a patient without a name, an id or a voucher is a piece of the uuid", () => {
  assert.equal(
    format.patientName({ uuid: "80876de9-4e89", first_name: "", last_name: "", external_patient_id: "" }),
    "80876de9",
  );
  assert.equal(format.patientName({ uuid: "u", last_name: "عبد الله" }), "عبد الله");
});

test("a search takes words in any order, case and writing", () => {
  assert.deepEqual(wordsOf("  Ada\t B\n"), ["ada", "b"]);
  assert.deepEqual(wordsOf("   "), []);
  assert.equal(holdsAll("B, Ada", wordsOf("ada b")), true);
  assert.equal(holdsAll("Ada", wordsOf("ada b")), false);
  assert.equal(holdsAll("ΑΘΗΝΑ", wordsOf("αθηνα")), true);
  assert.ok(compareText("Bed 9", "bed 10") < 0 && compareText("É", "e") === 0 && compareText("", "a") < 0);
});

test("a cell of a file keeps every letter, and none that a spreadsheet would run", () => {
  assert.equal(csvCell("\r=1"), `"'\r=1"`);
  assert.equal(csvCell("'quoted'"), `"'quoted'"`);
  assert.equal(csvCell(""), "");
  assert.equal(csvCell(Infinity), "Infinity");
  assert.equal(csvText([], []), "\r\n");
  assert.equal(isoTime(0), "1970-01-01T00:00:00.000Z");
});

test("a file is offered under its name and let go of", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const given: Blob[] = [];
  const gone: string[] = [];
  let name = "";
  URL.createObjectURL = (blob) => `blob:${given.push(blob as Blob)}`;
  URL.revokeObjectURL = (address) => void gone.push(address);
  HTMLElement.prototype.click = function (this: HTMLElement) {
    name = (this as HTMLAnchorElement).download;
  };
  download("patients-ABC.csv", "Zürich,1\r\n");
  assert.deepEqual(
    [name, await given[0]!.text(), given[0]!.type],
    ["patients-ABC.csv", "Zürich,1\r\n", "text/csv;charset=utf-8"],
  );
  assert.deepEqual(gone, [], "not before the browser has it");
  mock.timers.tick(10_000);
  assert.deepEqual(gone, ["blob:1"]);
  mock.timers.reset();
});

test("a command survives what a shell would take for its own", () => {
  assert.match(
    curlCommand("http://h", "/x", "PUT", { a: "$(rm -rf /) `x` \"y\" 'z'" }),
    /-d '\{"a":"\$\(rm -rf \/\) `x` \\"y\\" '\\''z'\\''"\}'/,
  );
  assert.match(curlCommand("http://h", "/it's"), /'http:\/\/h\/it'\\''s'$/);
  assert.doesNotMatch(curlCommand("http://h", "/x", "POST", 0), /undefined/);
});

test("a part of an address is a part, whatever it holds", () => {
  assert.equal(paths.patient("a/b?c#d"), "/integration/v1/patients/a%2Fb%3Fc%23d");
  assert.equal(paths.anyOf(["a", "b,c"]), "{a,b%2Cc}");
  assert.equal(paths.peeking("/a"), "/a?peek=1");
  assert.equal(paths.peeking("/a?b=1"), "/a?b=1&peek=1");
  assert.equal(paths.auditLog(1, 2), "/integration/v1/patients/audit/logs?from=1&to=2");
  assert.match(paths.auditLog(1, 2, "A&B"), /action_type=A%26B$/);
});

test("a field that holds only blanks is an empty one, and 0 is a value", () => {
  assert.deepEqual(changedFields({ a: "x" }, { a: "   " }), { a: null });
  assert.deepEqual(changedFields({}, { a: "" }), {}, "what was not there and is not");
  assert.deepEqual(changedFields({ w: "70" }, { w: "0" }, ["w"]), { w: 0 });
  assert.deepEqual(formValues({ a: false, b: undefined }, ["a", "b"]), { a: "false", b: "" });
  assert.deepEqual(["1e3", "1,5", " ", "1.000,5"].map(numberOf), [1_000, 1.5, 0, "1.000,5"]);
});

test("an error of any shape is a sentence", () => {
  assert.equal(explain("text"), "Something went wrong.");
  assert.equal(explain(undefined), "Something went wrong.");
  assert.equal(explain(new Error("is it so?")), "Is it so?");
  assert.equal(explain(new ApiError(422, "x", "m", { a: [] })), "A is not valid.");
  assert.match(explain(new ApiError(429, "x", "m")), /in 60 s/, "also when the server does not say how long");
  assert.equal(waitWords(3_600), "60 min");
});

test("a civil date is one that there is", () => {
  for (const wrong of ["2026-02-30", "2026-13-01", "2026-1-1", "1970-12-31", "2201-01-01", "", "2026-11-22T00:00"])
    assert.equal(civilDate(wrong), null, wrong);
  assert.equal(civilDate(null), null);
  assert.equal(civilDate("2028-02-29"), "2028-02-29");
  assert.equal(longDate("no date"), "no date");
  assert.equal(addDays("2026-03-28", 2), "2026-03-30");
});

test("days of zones far from UTC begin where their own clocks do", () => {
  const cases: [string, string, string][] = [
    ["2026-11-22", "Pacific/Kiritimati", "2026-11-21T10:00:00.000Z"],
    ["2026-11-22", "Pacific/Niue", "2026-11-22T11:00:00.000Z"],
    ["2026-11-22", "UTC+05:45", "2026-11-21T18:15:00.000Z"],
    ["2026-04-05", "Australia/Lord_Howe", "2026-04-04T13:00:00.000Z"],
  ];
  for (const [date, zone, begin] of cases) assert.equal(new Date(dayRange(date, zone).from).toISOString(), begin, zone);
  const howe = dayRange("2026-04-05", "Australia/Lord_Howe");
  assert.equal((howe.to - howe.from) / HOUR, 24.5, "a change of half an hour");
});

test("a local time that a clock skips leads to an instant all the same", () => {
  const skipped = Date.parse("2026-03-29T02:30:00Z");
  const instant = instantOf(skipped, ZURICH);
  assert.ok(["01:30", "03:30"].includes(clock(instant, ZURICH)));
  assert.equal(dateOf(instant, ZURICH), "2026-03-29");
});

test("a range across a new year names both days", () => {
  const from = Date.parse("2026-12-31T22:30:00Z");
  assert.equal(rangeText(from, from + HOUR, ZURICH), "31 Dec 23:30 – 1 Jan 00:30");
});

test("marks are few enough to draw and never the same twice, at any stretch", () => {
  for (const span of [LEAST_MS, 20_000, HOUR, DAY, 14 * DAY, MOST_MS]) {
    const from = Date.parse("2026-10-24T12:34:56Z");
    const step = timeStep(span, 800, 84);
    const marks = timeMarks(from, from + span, step, ZURICH);
    assert.ok(marks.length >= 2 && marks.length <= 12, `${span}: ${marks.length}`);
    assert.equal(new Set(marks).size, marks.length);
    assert.equal(timeLabels(marks, step, ZURICH).length, marks.length);
  }
  assert.ok(timeStep(DAY, 0, 84) > 0, "before the width is known");
  assert.deepEqual(timeMarks(5, 4, 1_000, "UTC"), []);
});

test("a range keeps within what can be shown, whatever one does", () => {
  let range: Range = { from: 0, to: DAY };
  for (let turn = 0; turn < 60; turn += 1) range = zoomed(range, 0.5);
  assert.equal(range.to - range.from, LEAST_MS);
  for (let turn = 0; turn < 60; turn += 1) range = rangeOfKey("-", range, range)!;
  assert.equal(range.to - range.from, MOST_MS);
  assert.deepEqual(held({ from: 5, to: 5 }), { from: -495, to: 505 });
  assert.deepEqual(held({ from: 10, to: 0 }).to - held({ from: 10, to: 0 }).from, LEAST_MS, "drawn from right to left");
});

test("lengths stay short", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [9_999, "10 s"],
    [10_000, "10 s"],
    [59_600, "1 min"],
    [DAY + 1_000, "1 d 1 s"],
    [35 * DAY + 5 * HOUR + MINUTE, "35 d 5 h"],
  ];
  for (const [ms, text] of cases) assert.equal(lengthText(ms), text);
});

test("no point, one point and points that are missing", () => {
  assert.deepEqual(broken({ t: [], min: [], max: [] }, 0, []), { t: [], min: [], max: [] });
  assert.equal(joinLimit([], 0, 0), 0);
  assert.deepEqual(aligned([]), { t: [], columns: [] });
  assert.equal(extremes({ t: [1], min: [null], max: [null] }, { from: 0, to: 2 }), null);
  assert.equal(nearest([5], -1_000), 0);
  const one = { t: [5], min: [1], max: [1], raw: true };
  assert.match(
    signalText({ label: "a", unit: "", decimals: 0 }, one, { from: 0, to: 10 }, "UTC"),
    /^a: lowest 1 at .*last 1 at/,
  );
});

test("a value axis has a length also for one steady value, and none for nothing", () => {
  for (const track of VITAL_TRACKS) {
    for (const [min, max] of [
      [60, 60],
      [0, 0],
      [-5, 5],
      [null, null],
    ] as const) {
      const [low, high] = valueRange(track, min, max);
      assert.ok(high > low, `${track.id} ${min}`);
    }
  }
});

test("of very many gaps the first are listed and the others counted", () => {
  const gaps = Array.from({ length: 100 }, (_, at) => ({
    from: at * HOUR,
    to: at * HOUR + MINUTE,
    reason: "charging" as const,
  }));
  const text = gapsText(gaps, { from: 0, to: 100 * HOUR }, "UTC");
  assert.equal(text.split(";").length, 13);
  assert.match(text, /; and 88 more\.$/);
});

function bed(name: string, score: number | null): Row {
  const news = {
    score,
    timestamp: 0,
    missing: [],
    low_quality: [],
    stale: [],
    colour: "none" as const,
    red_parameter: false,
  };
  const none = {
    heart_rate: null,
    respiration_rate: null,
    spo2: null,
    temperature: null,
    blood_pressure: null,
    battery: null,
    spark: null,
  };
  return { uuid: name, name, ...none, news, worn: null, charging: null, last_sync: null };
}

test("a thousand patients are put in order in a moment, nobody in none", () => {
  const ward = Array.from({ length: 1_000 }, (_, at) => bed(`Bed ${(at * 7919) % 1_000}`, at % 15));
  const begin = performance.now();
  const sorted = arranged(ward, { text: "", attention: "all" }, { key: "news", descending: true }, 0);
  assert.ok(performance.now() - begin < 1_000);
  assert.equal(sorted.length, 1_000);
  assert.ok(sorted.every((row, at) => at === 0 || row.news!.score! <= sorted[at - 1]!.news!.score!));
  assert.deepEqual(arranged([], { text: "x", attention: "all" }, { key: "name", descending: true }, 0), []);
  assert.deepEqual(counts([], 0), { all: 0, attention: 0, stale: 0, missing: 0, not_worn: 0 });
});

test("the rows in sight are rows that there are", () => {
  for (const [top, count] of [
    [0, 0],
    [-1e9, 10],
    [1e9, 10],
    [-52 * 500, 1_000],
  ] as const) {
    const { begin, end } = visibleRows(top, 800, 52, count);
    assert.ok(begin >= 0 && end >= 0 && begin <= count && end <= count, `${top} ${count}: ${begin} ${end}`);
  }
});

test("a wall with room for one still turns", () => {
  const seen = [0, 1, 2, 3].map((turn) => turnOf([1, 2, 3], 1, turn).shown);
  assert.deepEqual(seen, [[1], [2], [3], [1]]);
  assert.deepEqual(turnOf([], 12, 5), { shown: [], page: 0, pages: 1 });
  assert.deepEqual(turnOf([1], 0, 5), { shown: [], page: 0, pages: 0 });
});

test("a sparkline without slots is none, one slot is a dot", () => {
  assert.equal(sparkPath([], 100, 20), "");
  assert.equal(sparkPath([60], 100, 20), "M0 10h.01");
  assert.equal(sparkText([], "HR"), "HR: no values in the last hours");
});

test("a share is neither all nor nothing before it is", () => {
  assert.deepEqual([0, 0.01, 0.4, 99.4, 99.99, 100, 120].map(percentText), [
    "0 %",
    "1 %",
    "1 %",
    "99 %",
    "99 %",
    "100 %",
    "100 %",
  ]);
  assert.equal(stepOf(-1), "s0");
  assert.equal(cellText({ percent: null, received: null, expected: 60 }), "0 of 60 received, –");
  assert.equal(moved("ArrowUp", [0, 0], 0, 0), null);
});

test("a score of a range that has not begun is none", () => {
  assert.deepEqual(newsSeries([{ timestamp: 10, value: 1 }], { from: 100, to: 200 }, [], 50), []);
  assert.deepEqual(newsSeries([{ timestamp: 10, value: 1 }], { from: 100, to: 200 }, [], 101)[0]!.t, [100, 101]);
});

test("a summary of any shape has a zone or none", () => {
  for (const summary of [
    undefined,
    5,
    "x",
    [],
    {},
    { date: 5 },
    { date: "2025-11-20", a: null, b: { slots: [] }, c: { slots: [{}] } },
  ])
    assert.equal(zoneOfSummary(summary), null);
  const far = [{ timestamp: 0, date: "05:50" }];
  assert.equal(zoneOfSummary({ date: "2025-11-20", a: { slots: far } }), null, "decades are no offset");
});
