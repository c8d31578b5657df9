import assert from "node:assert/strict";
import { test } from "node:test";
import { unitOf } from "../data_columns";
import { DATA_TYPES } from "../data_types";
import { held, LEAST_MS, lengthText, MOST_MS, panned, rangeOfKey, zoomed } from "./range";
import { aligned, broken, type Gap, joinLimit, seriesName, together } from "./series";
import { drawnOf, trackData, valueRange } from "./track_data";
import { STAGES, stageLevel, VITAL_TRACKS, WAVEFORM_TRACKS } from "./tracks";
import { extremes, gapsText, nearest, signalText, valueAt, valueHeldAt } from "./words";

const MINUTE = 60_000;
const line = (t: number[], values: (number | null)[]) => ({ t, min: values, max: values });
const series = (name: string, t: number[], values: number[], raw = true) => {
  const [type, column] = name.split(".");
  return { type: type!, column: column!, channel: null, unit: "", raw, t, min: values, max: values };
};

test("a line breaks where rows are missing and nowhere else", () => {
  const t = [0, 1, 2, 9, 10].map((minute) => minute * MINUTE);
  const cut = broken(line(t, [1, 2, 3, 4, 5]), joinLimit(t, 0, MINUTE), []);
  assert.deepEqual(cut.max, [1, 2, 3, null, 4, 5]);
  assert.ok(cut.t[3]! > t[2]! && cut.t[3]! < t[3]!);
});

test("a line breaks at a gap between neighbours, however near they are", () => {
  const t = [0, 1, 2].map((minute) => minute * MINUTE);
  const gap: Gap = { from: MINUTE, to: 2 * MINUTE, reason: "charging" };
  assert.deepEqual(broken(line(t, [1, 2, 3]), 10 * MINUTE, [gap]).max, [1, 2, null, 3]);
  assert.deepEqual(broken(line(t, [1, 2, 3]), 10 * MINUTE, [{ ...gap, from: 5, to: 10 }]).max, [1, null, 2, 3]);
});

test("signals of different times share an axis without losing or inventing a value", () => {
  const { t, columns } = aligned([line([1, 3, 5], [10, 30, 50]), line([2, 3], [20, 31]), line([], [])]);
  assert.deepEqual(t, [1, 2, 3, 5]);
  assert.deepEqual(columns[0]!.max, [10, undefined, 30, 50]);
  assert.deepEqual(columns[1]!.max, [undefined, 20, 31, undefined]);
  assert.deepEqual(columns[2]!.max, [undefined, undefined, undefined, undefined]);
});

test("an extreme of a bucket is drawn", () => {
  const track = VITAL_TRACKS[0]!;
  const t = [0, MINUTE, 2 * MINUTE];
  const answer = {
    ...{ from: 0, to: 3 * MINUTE, bucket_ms: MINUTE, gaps: [] },
    series: [{ ...series("activity.bpm", t, [60, 61, 62], false), max: [64, 190, 66], min: [58, 31, 60] }],
  };
  const { columns, drawn } = trackData(track, answer);
  assert.ok(columns[0]!.includes(190) && columns[1]!.includes(31));
  const [low, high] = valueRange(track, 31, 190);
  assert.ok(low <= 31 && high >= 190);
  assert.deepEqual(extremes(drawn[0]!.series, answer)?.highest, { value: 190, at: MINUTE });
});

test("zero means no value in vitals and not in steps", () => {
  const [heart, steps] = [VITAL_TRACKS[0]!, VITAL_TRACKS.find((track) => track.id === "steps")!];
  const t = [0, MINUTE];
  const answer = {
    ...{ from: 0, to: 2 * MINUTE, bucket_ms: 0, gaps: [] },
    series: [series("activity.bpm", t, [0, 61]), series("activity.last_steps", t, [0, 12])],
  };
  assert.deepEqual(drawnOf(heart, answer)[0]!.series.t, [MINUTE]);
  assert.deepEqual(drawnOf(steps, answer)[0]!.series.t, t);
});

test("every waveform has a track, whose signals and unit are declared", () => {
  const waveforms = DATA_TYPES.filter(({ isWaveform }) => isWaveform);
  assert.deepEqual(WAVEFORM_TRACKS.map(({ id }) => id).sort(), waveforms.map(({ value }) => value).sort());
  for (const { id, unit, signals } of WAVEFORM_TRACKS) {
    assert.notEqual(unit, "", id);
    assert.ok(signals.length > 0 && signals.every(({ name }) => unitOf(name) === unit), id);
  }
  // The service reads so many series at once.
  assert.ok(WAVEFORM_TRACKS.flatMap(({ signals }) => signals).length <= 16);
  const gyro = WAVEFORM_TRACKS.find(({ id }) => id === "gyro")!;
  assert.deepEqual(
    gyro.signals.map(({ name }) => name),
    ["gyro.x", "gyro.y", "gyro.z"],
  );
  assert.deepEqual([gyro.unit, gyro.decimals], ["°/s", 3]);
  assert.deepEqual(
    VITAL_TRACKS.slice(0, 5).map(({ unit }) => unit),
    ["/min", "/min", "%", "°C", "mmHg"],
  );
});

test("every channel of a signal is a line of its own", () => {
  const track = { ...VITAL_TRACKS[0]!, signals: [{ name: "ppg2.value", label: "PPG", colour: "x" }] };
  const of = (channel: string) => ({ ...series("ppg2.value", [0], [1]), channel });
  const answer = { from: 0, to: 1, bucket_ms: 0, gaps: [], series: [of("green.6"), of("red.22")] };
  assert.deepEqual(
    drawnOf(track, answer).map(({ label }) => label),
    ["PPG green 6", "PPG red 22"],
  );
  assert.equal(seriesName(of("green.6")), "ppg2.value.green.6");
});

test("answers put together keep the length of their buckets", () => {
  const answer = (bucket_ms: number, name: string) => ({
    from: 0,
    to: 1,
    bucket_ms,
    gaps: [],
    series: [series(name, [0], [1])],
  });
  const both = together([answer(5, "a.b"), answer(9, "c.d")]);
  assert.deepEqual(
    both.series.map((one) => one.bucket_ms),
    [5, 9],
  );
});

test("stages are in the order of a hypnogram", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((code) => STAGES[stageLevel(code)]),
    ["Awake", "Light", "Deep", "REM"],
  );
});

test("a range never leaves what can be shown, and a zoom keeps its point", () => {
  assert.equal(held({ from: 10, to: 11 }).to - held({ from: 10, to: 11 }).from, LEAST_MS);
  const long = held({ from: 0, to: 400 * 86_400_000 });
  assert.equal(long.to - long.from, MOST_MS);
  const range = zoomed({ from: 0, to: 100_000 }, 0.5, 25_000);
  assert.deepEqual(range, { from: 12_500, to: 62_500 });
  assert.deepEqual(panned({ from: 0, to: 1000 }, -0.5), { from: -500, to: 500 });
});

test("keys move the range, other keys are left alone", () => {
  const range = { from: 0, to: 100_000 };
  const home = { from: -5, to: 5 };
  assert.deepEqual(rangeOfKey("ArrowRight", range, home), { from: 20_000, to: 120_000 });
  assert.deepEqual(rangeOfKey("+", range, home), { from: 25_000, to: 75_000 });
  assert.deepEqual(rangeOfKey("0", range, home), home);
  assert.equal(rangeOfKey("Tab", range, home), null);
});

test("lengths in words", () => {
  const words: [number, string][] = [
    [2500, "2.5 s"],
    [90_000, "1 min 30 s"],
    [86_400_000, "1 d"],
    [5_400_000, "1 h 30 min"],
    [90_061_000, "1 d 1 h"],
  ];
  for (const [ms, text] of words) assert.equal(lengthText(ms), text);
});

test("the value under the cursor is the nearest one, within reach", () => {
  const values = series("a.b", [0, 10, 30], [1, 2, 3]);
  assert.equal(nearest(values.t, 19), 1);
  assert.equal(nearest(values.t, 21), 2);
  assert.equal(nearest([], 5), null);
  assert.equal(valueAt(values, 12, 5, 0), "2");
  assert.equal(valueAt(values, 100, 5, 0), "–");
  assert.equal(valueAt({ ...values, min: [0, 1, 2], max: [4, 5, 6] }, 10, 5, 1), "1.0–5.0");
});

test("a row that holds is drawn until the next one, and not beyond the last", () => {
  const held = { ...series("news.value", [0, 100, 300], [2, 3, 3]), max: [2, null, 3] };
  const reported: [number, string][] = [
    [-1, "–"],
    [0, "2"],
    [99, "2"],
    [100, "–"],
    [299, "–"],
    [300, "3"],
    [301, "–"],
  ];
  for (const [at, text] of reported) assert.equal(valueHeldAt(held, at, 0), text, String(at));
});

test("a score is a line from entry to entry, however far they are apart", () => {
  const track = VITAL_TRACKS.find(({ id }) => id === "news")!;
  const [from, to] = [0, 40 * 3_600_000];
  const gaps: Gap[] = [{ from: 3_600_000, to: 3_700_000, reason: "charging" }];
  const answer = { from, to, bucket_ms: 0, gaps, series: [series("news.value", [from, to], [2, 2])] };
  assert.deepEqual(trackData(track, answer).columns[0], [2, 2]);
});

test("a chart can be read in words", () => {
  const range = { from: 0, to: 60 * MINUTE };
  const values = series("a.b", [0, 10 * MINUTE, 20 * MINUTE], [60, 88, 54]);
  assert.equal(
    signalText({ label: "Heart rate", unit: "/min", decimals: 0 }, values, range, "UTC"),
    "Heart rate: lowest 54 /min at 00:20, highest 88 /min at 00:10, last 54 /min at 00:20.",
  );
  assert.equal(signalText({ label: "SpO₂", unit: "%", decimals: 0 }, undefined, range, "UTC"), "SpO₂: no values.");
  const buckets = { ...values, raw: false, bucket_ms: 2 * MINUTE, min: [58, 80, 54], max: [62, 88, 60] };
  assert.equal(
    signalText({ label: "Heart rate", unit: "/min", decimals: 0 }, buckets, { from: 0, to: 20 * MINUTE }, "UTC"),
    "Heart rate: lowest 54 /min at about 00:20, highest 88 /min at about 00:10, last 54–60 /min at about 00:20.",
  );
  const gaps: Gap[] = [
    { from: -5 * MINUTE, to: 5 * MINUTE, reason: "not_worn" },
    { from: 90 * MINUTE, to: 91 * MINUTE, reason: "charging" },
  ];
  assert.equal(gapsText(gaps, range, "UTC"), "No data: not worn 1 Jan 00:00:00 – 00:05:00 (5 min).");
  assert.equal(gapsText([], range, "UTC"), "");
});
