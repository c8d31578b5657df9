import assert from "node:assert/strict";
import { test } from "node:test";
import { CHART_CSV_HEADER, chartCsvRows } from "./chart_csv";
import { newsSeries } from "./news_history";
import { newsParts } from "./news_parts";
import { seriesPaths } from "./series_paths";
import { ageYears, alarmText } from "./side_texts";
import { isHome, rangeQuery, viewOf } from "./view";
import { zoneOfSummary } from "./zone_of_summary";

const NOW = Date.parse("2025-11-20T12:00:00Z");
const HOUR = 3_600_000;
const ZURICH = "Europe/Zurich";
const view = (query: string) => viewOf(new URLSearchParams(query), ZURICH, NOW);

test("the view is the last 24 hours unless the address names a day", () => {
  const rolling = view("");
  assert.deepEqual([rolling.rolling, rolling.date, rolling.home], [true, "2025-11-20", { from: NOW - 24 * HOUR, to: NOW }]);
  assert.ok(isHome(rolling));
  const today = view("date=2025-11-20");
  assert.equal(today.range.from, Date.parse("2025-11-19T23:00:00Z"), "midnight in the patient's zone");
  assert.equal((view("date=2025-10-26").range.to - view("date=2025-10-26").range.from) / HOUR, 25);
  assert.equal((view("days=14").range.to - view("days=14").range.from) / HOUR, 14 * 24);
});

test("an address out of its wits shows a day", () => {
  for (const query of ["date=yesterday", "days=-3", "days=1000", "from=5&to=3", "from=a&to=b", "date=2025-99-99"]) {
    const shown = view(query);
    assert.equal(shown.range.to - shown.range.from, 24 * HOUR, query);
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

test("the parts of a score add up to it", () => {
  const news = {
    ...{ timestamp: NOW, value: 5, age_s: 0, assumed: [], missing: [] },
    ...{ score_respiration_rate: 2, score_spo2: 1, score_oxygen: 0, score_blood_pressure: 0, score_heart_rate: 1 },
    ...{ score_consciousness: 0, score_temperature: 1, temperature: 38.44, temperature_timestamp: NOW - 60_000 },
  };
  const parts = newsParts(news);
  assert.equal(parts.length, 7);
  assert.equal(parts.reduce((sum, part) => sum + (part.score ?? 0), 0), news.value);
  const temperature = parts.find((part) => part.name === "temperature")!;
  assert.deepEqual([temperature.value, temperature.ageMs], ["38.4", 60_000]);
  assert.equal(parts.find((part) => part.name === "oxygen")!.value, "air");
  assert.deepEqual(newsParts({ ...news, spo2: null, score_spo2: null })[1]!.score, null);
});

test("an entry of the score holds, but not for ever and not into the future", () => {
  const entries = [{ timestamp: NOW - 5 * HOUR, value: 1 }, { timestamp: NOW - HOUR, value: null }];
  const [total] = newsSeries(entries, NOW);
  assert.deepEqual(total!.t, [NOW - 5 * HOUR, NOW - HOUR, NOW - HOUR / 2]);
  assert.deepEqual(total!.max, [1, null, null]);
  assert.deepEqual(newsSeries([{ timestamp: NOW - 1000, value: 3 }], NOW)[0]!.t, [NOW - 1000, NOW]);
  assert.deepEqual(newsSeries([], NOW), []);
});

test("alarms and ages in words", () => {
  assert.equal(alarmText({ vital: "heart_rate", below: 40, above: 130, for_s: 300 }), "Heart rate below 40 or above 130 for 5 min");
  assert.equal(alarmText({ vital: "news_score", above: 6, for_s: 0 }), "NEWS2 above 6");
  assert.equal(ageYears("1961-11-20", NOW), 64);
  assert.equal(ageYears("1961-11-21", NOW), 63);
});

test("the chart as CSV has both clocks", () => {
  const series = [{ type: "activity", column: "bpm", channel: null, unit: "/min", raw: true, t: [NOW], min: [61], max: [61] }];
  const rows = chartCsvRows({ from: 0, to: NOW, bucket_ms: 0, series, gaps: [] }, { from: 0, to: NOW }, ZURICH);
  assert.deepEqual(rows, [["activity.bpm", "/min", "2025-11-20T12:00:00.000Z", "2025-11-20T13:00:00.000", 61, 61, true]]);
  assert.equal(rows[0]!.length, CHART_CSV_HEADER.length);
});
