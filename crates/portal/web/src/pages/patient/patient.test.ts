import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gap } from "../../charts/series";
import { CHART_CSV_HEADER, chartCsvRows } from "./chart_csv";
import { type NewsEntry, newsSeries } from "./news_history";
import { newsParts } from "./news_parts";
import { seriesPaths } from "./series_paths";
import { AT_ONCE, SETTLE_MS, Settling } from "./settling";
import { alarmText } from "./side_texts";
import { datesOf, isHome, rangeQuery, viewOf } from "./view";
import { zoneOfDay, zoneOfSummary } from "./zone_of_summary";

const NOW = Date.parse("2025-11-20T12:00:00Z");
const HOUR = 3_600_000;
const ZURICH = "Europe/Zurich";
const view = (query: string) => viewOf(new URLSearchParams(query), ZURICH, NOW);

test("the view is the last 24 hours unless the address names a day", () => {
  const rolling = view("");
  assert.deepEqual(
    [rolling.rolling, rolling.date, rolling.home],
    [true, "2025-11-20", { from: NOW - 24 * HOUR, to: NOW }],
  );
  assert.ok(isHome(rolling));
  const today = view("date=2025-11-20");
  assert.equal(today.range.from, Date.parse("2025-11-19T23:00:00Z"), "midnight in the patient's zone");
  assert.equal((view("date=2025-10-26").range.to - view("date=2025-10-26").range.from) / HOUR, 25);
  assert.equal((view("days=14").range.to - view("days=14").range.from) / HOUR, 14 * 24);
});

test("an address out of its wits shows a day", () => {
  for (const query of [
    "date=yesterday",
    "days=-3",
    "days=1000",
    "from=5&to=3",
    "from=a&to=b",
    "date=2025-99-99",
    "date=2026-02-31",
    "from=1&to=9e15",
    "from=1e300&to=2e300",
    "from=1&to=Infinity",
    "date=0001-01-01",
  ]) {
    const shown = view(query);
    assert.equal(shown.range.to - shown.range.from, 24 * HOUR, query);
    assert.ok(shown.rolling, query);
  }
});

test("a zoom is in the address, and its end out of it", () => {
  const today = view("date=2025-11-20");
  const hour = { from: today.home.from + HOUR, to: today.home.from + 2 * HOUR };
  assert.deepEqual(rangeQuery(today, hour, ZURICH), { from: String(hour.from), to: String(hour.to) });
  assert.deepEqual(rangeQuery(today, today.home, ZURICH), { from: null, to: null });
  const before = { from: today.home.from - 2 * HOUR, to: today.home.from - HOUR };
  assert.equal(rangeQuery(today, before, ZURICH).date, "2025-11-19");
  assert.equal(rangeQuery(view(""), hour, ZURICH).date, "2025-11-20", "a zoom stays where it is while time goes on");
});

test("a view asks for what it needs and no more", () => {
  const paths = seriesPaths("u/1", ["activity.bpm", "sleep.sleep_state"], { from: 0, to: 1000 }, 800);
  assert.deepEqual(paths, [
    "/portal/api/patients/u%2F1/series?from=0&to=1000&points=800&peek=1&series[]=activity.bpm",
    "/portal/api/patients/u%2F1/series?from=0&to=1000&points=3000&peek=1&series[]=sleep.sleep_state",
  ]);
  assert.deepEqual(seriesPaths("u", [], { from: 0, to: 1 }, 800), []);
});

test("the offset is read from a slot", () => {
  const slots = [{ timestamp: Date.parse("2025-11-20T00:05:00Z"), date: "05:50", bpm: 60 }];
  assert.equal(zoneOfSummary({ date: "2025-11-20", activity: {}, heart_rate: { slots } }), "UTC+05:45");
  const west = [{ timestamp: Date.parse("2025-11-21T02:00:00Z"), date: "22:30" }];
  assert.equal(zoneOfSummary({ date: "2025-11-20", heart_rate: { slots: west } }), "UTC-03:30");
  assert.equal(zoneOfSummary({ date: "2025-11-20", heart_rate: {} }), null);
  assert.equal(zoneOfSummary(null), null);
});

test("a day has the zone that its data show, by name where the name fits", () => {
  const cases: [string | null, string | null, string, string | null][] = [
    [ZURICH, "UTC+01:00", "2025-11-20", ZURICH],
    [ZURICH, "UTC+02:00", "2025-10-26", ZURICH],
    [ZURICH, "UTC+01:00", "2025-10-26", ZURICH],
    [ZURICH, "UTC-05:00", "2025-11-20", "UTC-05:00"],
    [ZURICH, null, "2025-11-20", ZURICH],
    [null, "UTC+05:45", "2025-11-20", "UTC+05:45"],
    [null, null, "2025-11-20", null],
  ];
  for (const [named, ofDay, date, zone] of cases) assert.equal(zoneOfDay(named, ofDay, date), zone);
});

test("the days of a stretch are the patient's", () => {
  const midnight = Date.parse("2025-11-19T23:00:00Z");
  assert.deepEqual(datesOf({ from: midnight, to: midnight + 24 * HOUR }, ZURICH), ["2025-11-20"]);
  assert.deepEqual(datesOf({ from: midnight - 1, to: midnight + 25 * HOUR }, ZURICH), [
    "2025-11-19",
    "2025-11-20",
    "2025-11-21",
  ]);
});

test("the parts of a score add up to it", () => {
  const news = {
    ...{ timestamp: NOW, value: 5, age_s: 0, assumed: [], missing: [] },
    ...{ score_respiration_rate: 2, score_spo2: 1, score_oxygen: 0, score_blood_pressure: 0, score_heart_rate: 1 },
    ...{ score_consciousness: 0, score_temperature: 1, temperature: 38.44, temperature_timestamp: NOW - 60_000 },
  };
  const parts = newsParts(news);
  assert.equal(parts.length, 7);
  assert.equal(
    parts.reduce((sum, part) => sum + (part.score ?? 0), 0),
    news.value,
  );
  const temperature = parts.find((part) => part.name === "temperature")!;
  assert.deepEqual([temperature.value, temperature.ageMs], ["38.4", 60_000]);
  assert.equal(parts.find((part) => part.name === "oxygen")!.value, "air");
  assert.deepEqual(newsParts({ ...news, spo2: null, score_spo2: null })[1]!.score, null);
});

const day = { from: NOW - 24 * HOUR, to: NOW };
const totalOf = (entries: NewsEntry[], gaps: Gap[] = [], range = day, now = NOW) => {
  const total = newsSeries(entries, range, gaps, now)[0];
  return total ? total.t.map((at, index) => [(at - NOW) / HOUR, total.max[index]]) : [];
};
const gap = (from: number, to: number, reason: Gap["reason"] = "not_worn"): Gap => ({
  from: NOW + from * HOUR,
  to: NOW + to * HOUR,
  reason,
});

test("an entry of the score holds until the next one, and the last one until now", () => {
  const entries = [
    { timestamp: NOW - 5 * HOUR, value: 1 },
    { timestamp: NOW - HOUR, value: 3 },
  ];
  assert.deepEqual(totalOf(entries), [
    [-5, 1],
    [-1, 3],
    [0, 3],
  ]);
  assert.deepEqual(
    totalOf(entries, [], { from: day.from, to: NOW + 9 * HOUR }),
    [
      [-5, 1],
      [-1, 3],
      [0, 3],
    ],
    "not into the future",
  );
  assert.deepEqual(totalOf([]), []);
  assert.deepEqual(totalOf([{ timestamp: NOW + HOUR, value: 1 }]), []);
});

test("the entry before a range holds at its begin", () => {
  const entries = [{ timestamp: NOW - 90 * HOUR, value: 2 }];
  assert.deepEqual(totalOf(entries), [
    [-24, 2],
    [0, 2],
  ]);
  assert.deepEqual(totalOf(entries, [], { from: NOW - 3 * HOUR, to: NOW - 2 * HOUR }), [
    [-3, 2],
    [-2, 2],
  ]);
});

test("no score is shown where vital signs are missing for longer than it counts", () => {
  const entries = [
    { timestamp: NOW - 5 * HOUR, value: 1 },
    { timestamp: NOW - HOUR, value: 4 },
  ];
  assert.deepEqual(
    totalOf(entries, [gap(-4.5, -4.1)]),
    [
      [-5, 1],
      [-1, 4],
      [0, 4],
    ],
    "a short gap",
  );
  assert.deepEqual(
    totalOf(entries, [gap(-4, -2)]),
    [
      [-5, 1],
      [-3.5, null],
      [-2, 1],
      [-1, 4],
      [0, 4],
    ],
    "back with the same score",
  );
  const twofold = [gap(-4, -3.75), gap(-3.75, -3, "charging")];
  assert.deepEqual(
    totalOf(entries, twofold),
    [
      [-5, 1],
      [-3.5, null],
      [-3, 1],
      [-1, 4],
      [0, 4],
    ],
    "one stretch for two reasons",
  );
  assert.deepEqual(
    totalOf(entries, [gap(-0.75, 0, "not_synced")]),
    [
      [-5, 1],
      [-1, 4],
      [-0.25, null],
      [0, null],
    ],
    "still away",
  );
});

test("a few moves are read at once, further ones after a pause, and none while the server rests", () => {
  const settling = new Settling();
  for (let move = 0; move < AT_ONCE; move += 1) assert.equal(settling.waitOf(200 * move), 0);
  assert.equal(settling.waitOf(800), SETTLE_MS, "a key that is held down");
  assert.equal(settling.waitOf(1_000), SETTLE_MS);
  assert.equal(settling.waitOf(5_000), 0);
  settling.rest(30_000, 5_000);
  assert.equal(settling.waitOf(10_000), 25_000);
  assert.ok(settling.waitOf(35_001) <= 0);
});

test("alarms in words", () => {
  assert.equal(
    alarmText({ vital: "heart_rate", below: 40, above: 130, for_s: 300 }),
    "Heart rate below 40 or above 130 for 5 min",
  );
  assert.equal(alarmText({ vital: "news_score", above: 6, for_s: 0 }), "NEWS2 above 6");
});

test("the chart as CSV has both clocks", () => {
  const series = [
    { type: "activity", column: "bpm", channel: null, unit: "/min", raw: true, t: [NOW], min: [61], max: [61] },
  ];
  const rows = chartCsvRows({ from: 0, to: NOW, bucket_ms: 0, series, gaps: [] }, { from: 0, to: NOW }, ZURICH);
  assert.deepEqual(rows, [
    ["activity.bpm", "/min", "2025-11-20T12:00:00.000Z", "2025-11-20T13:00:00.000", 61, 61, true],
  ]);
  assert.equal(rows[0]!.length, CHART_CSV_HEADER.length);
});
