import "../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, before, beforeEach, test } from "node:test";
import { act } from "preact/test-utils";
import { Screen, settle, textOf } from "../testkit/screen";
import { ChartStack } from "./chart_stack";
import { forgetColours } from "./colours";
import type { Range } from "./range";
import { Ruler, showNow } from "./ruler";
import type { Gap, Series, SeriesAnswer } from "./series";
import { TrackChart, type TrackChartParts } from "./track_chart";
import { type Track, VITAL_TRACKS, WAVEFORM_TRACKS } from "./tracks";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HEART = VITAL_TRACKS[0]!;
const DAY: Range = { from: Date.parse("2025-11-20T00:00:00Z"), to: Date.parse("2025-11-21T00:00:00Z") };
let place: HTMLElement;
let chart: TrackChart | null = null;

/** A context that takes every call: what uPlot paints is its own affair, here counts what it is given. */
function takesAll(): unknown {
  return new Proxy({ measureText: (text: string) => ({ width: 6 * text.length }) } as Record<string, unknown>, {
    get: (held, name: string) => held[name] ?? (() => {}),
    set: (held, name: string, value) => ((held[name] = value), true),
  });
}

before(() => {
  Object.assign(globalThis, {
    Path2D: class {
      moveTo() {}
      lineTo() {}
      rect() {}
      arc() {}
      closePath() {}
      addPath() {}
      bezierCurveTo() {}
    },
  });
  const context = takesAll();
  Object.defineProperty(document.createElement("canvas").constructor.prototype, "getContext", { value: () => context });
});
beforeEach(() => {
  forgetColours();
  place = document.createElement("div");
  document.body.append(place);
});
afterEach(() => {
  chart?.destroy();
  chart = null;
  place.remove();
});

function series(name: string, t: number[], max: (number | null)[], more: Partial<Series> = {}): Series {
  const [type, column] = name.split(".") as [string, string];
  return { type, column, channel: null, unit: "", raw: true, t, min: max, max, ...more };
}

const answer = (found: Series[], gaps: Gap[] = []): SeriesAnswer => ({
  ...DAY,
  bucket_ms: MINUTE,
  series: found,
  gaps,
});
const at = (minutes: number) => DAY.from + minutes * MINUTE;

function made(track: Track, read: SeriesAnswer, more: Partial<TrackChartParts> = {}): TrackChart {
  const parts = {
    track,
    zone: "UTC",
    range: DAY,
    answer: read,
    widthPx: 800,
    syncKey: "k",
    onRange() {},
    onHome() {},
    onCursor() {},
  };
  return (chart = new TrackChart({ ...parts, ...more }, place));
}

test("every track can be drawn with data and without", () => {
  for (const track of [...VITAL_TRACKS, ...WAVEFORM_TRACKS]) {
    for (const raw of [true, false]) {
      const found = track.signals.map(({ name }) => series(name, [at(0), at(1), at(90)], [1, 2, 3], { raw }));
      const drawn = made(track, answer(found));
      assert.equal(drawn.data.drawn.length, track.signals.length, track.id);
      drawn.setAnswer(answer([]));
      assert.equal(drawn.data.t.length, 0, track.id);
      drawn.destroy();
      chart = null;
    }
  }
});

test("an answer with the same lines is handed over, another set of lines is another plot", () => {
  const first = series("activity.bpm", [at(0), at(1)], [60, 61]);
  const drawn = made(HEART, answer([first]));
  const plot = place.firstElementChild;
  drawn.setAnswer(answer([series("activity.bpm", [at(0), at(1), at(2)], [60, 61, 62])]));
  assert.equal(place.firstElementChild, plot);
  assert.deepEqual(drawn.data.columns[0], [60, 61, 62]);
  drawn.setAnswer(answer([series("activity.bpm", [at(0)], [60], { raw: false })]));
  assert.notEqual(place.firstElementChild, plot);
  assert.equal(place.children.length, 1, "the one before is gone");
});

test("an answer about other signals leaves a track as it is", () => {
  const heart = series("activity.bpm", [at(0)], [60]);
  const gaps: Gap[] = [];
  const drawn = made(HEART, answer([heart], gaps));
  const data = drawn.data;
  drawn.setAnswer(answer([heart, series("news.value", [at(0)], [1])], gaps));
  assert.equal(drawn.data, data);
  drawn.setAnswer(answer([heart], [{ from: at(5), to: at(9), reason: "charging" }]));
  assert.notEqual(drawn.data, data, "other gaps are other bands");
});

test("colours are those of the signal, of the light, and of further channels", () => {
  const style = document.documentElement.style;
  const colours = {
    "--signal-waveform": "rgb(1, 1, 1)",
    "--ppg-green": "rgb(2, 2, 2)",
    "--signal-channel-1": "rgb(3, 3, 3)",
    "--signal-channel-2": "rgb(4, 4, 4)",
  };
  for (const [name, value] of Object.entries(colours)) style.setProperty(name, value);
  const ppg = WAVEFORM_TRACKS.find(({ id }) => id === "ppg2")!;
  const of = (channel: string | null) => series("ppg2.value", [at(0)], [1], { channel });
  const drawn = made(ppg, answer([of("a"), of("green.6"), of("b")]));
  assert.deepEqual(
    [0, 1, 2].map((index) => drawn.colour(index)),
    ["rgb(1, 1, 1)", "rgb(2, 2, 2)", "rgb(4, 4, 4)"],
  );
  assert.equal(drawn.colour(0, 0.5), "rgba(1, 1, 1, 0.5)");
});

test("the ruler has its times on the patient's clock and none that would be cut off", () => {
  const screen = new Screen(<Ruler range={DAY} zone="Asia/Kolkata" widthPx={800} now={{ current: null }} />);
  const marks = screen.all("span:not(.now)");
  assert.ok(marks.length >= 4 && marks.length <= 10, `${marks.length}`);
  assert.ok(marks.every((mark) => /^\d\d:(00|30)/.test(textOf(mark))));
  const lefts = marks.map((mark) => parseFloat(mark.style.left));
  assert.ok(lefts.every((left) => left >= 20 && left <= 778));
  screen.draw(<Ruler range={DAY} zone="UTC" widthPx={0} now={{ current: null }} />);
  assert.equal(screen.all("span:not(.now)").length, 0, "before the width is known");
  screen.leave();
});

test("the time under the cursor is as fine as the stretch, and stays within the page", () => {
  const element = document.createElement("span");
  const instant = Date.parse("2025-11-20T12:34:56.789Z");
  const shown = (range: Range, atMs: number | null = instant) => (
    showNow(element, atMs, range, "UTC", 800), element.textContent
  );
  assert.equal(shown(DAY), "12:34\n20 Nov");
  assert.equal(shown({ from: instant - HOUR, to: instant + HOUR }), "12:34:56\n20 Nov");
  assert.equal(shown({ from: instant, to: instant + 1_000 }), "12:34:56.789\n20 Nov");
  assert.equal(element.style.left, "52px");
  shown({ from: instant - 10, to: instant });
  assert.equal(element.style.left, "764px");
  shown(DAY, null);
  assert.equal(element.hidden, true);
  showNow(null, instant, DAY, "UTC", 800);
});

interface Shown {
  ranges: Range[];
  widths: number[];
}

function stack(read: SeriesAnswer, { range = DAY, loaded = true } = {}): [Screen, Shown] {
  const shown: Shown = { ranges: [], widths: [] };
  const screen = new Screen(
    <ChartStack
      label="Charts"
      tracks={VITAL_TRACKS}
      answer={read}
      range={range}
      home={DAY}
      zone="UTC"
      busy={false}
      loaded={loaded}
      onRange={(next) => shown.ranges.push(next)}
      onWidth={(px) => shown.widths.push(px)}
    />,
  );
  return [screen, shown];
}

const GAPS: Gap[] = [
  { from: at(-60), to: at(30), reason: "not_worn" },
  { from: at(120), to: at(150), reason: "not_worn" },
  { from: at(200), to: at(210), reason: "charging" },
  { from: at(1_430), to: at(2_000), reason: "charging" },
  { from: at(3_000), to: at(4_000), reason: "low_battery" },
];

test("tracks with data are drawn, those without are named once there has been an answer", async () => {
  const [screen] = stack(answer([series("activity.bpm", [at(0)], [60])]));
  await settle();
  assert.deepEqual(
    screen.all("[data-track]").map((track) => track.dataset.track),
    ["heart_rate"],
  );
  assert.match(textOf(screen.one(".track-empty")), /^No data here: respiration, spo₂, temperature/);
  screen.leave();
  const [waiting] = stack(answer([]), { loaded: false });
  assert.equal(waiting.all(".track-empty").length, 0);
  waiting.leave();
});

test("the width of the drawing is passed on, without the axis", async () => {
  const [screen, shown] = stack(answer([]));
  await settle();
  assert.deepEqual(shown.widths, [800 - 52 - 8]);
  screen.leave();
});

test("the legend adds up what lies within the range, reason by reason", async () => {
  const [screen] = stack(answer([], GAPS));
  assert.deepEqual(screen.all(".gap-legend li").map(textOf), ["not worn 1 h", "charging 20 min"]);
  screen.leave();
});

test("keys move and zoom, other keys and those with Ctrl are left to the browser", async () => {
  const [screen, shown] = stack(answer([]));
  const body = screen.one(".charts-body");
  assert.equal((await screen.key("ArrowRight", body)).defaultPrevented, true);
  assert.equal((await screen.key("Tab", body)).defaultPrevented, false);
  assert.deepEqual(shown.ranges, [{ from: DAY.from + 4.8 * HOUR, to: DAY.to + 4.8 * HOUR }]);
  const event = new KeyboardEvent("keydown", { key: "ArrowLeft", ctrlKey: true, bubbles: true, cancelable: true });
  await act(() => void body.dispatchEvent(event));
  assert.deepEqual([shown.ranges.length, event.defaultPrevented], [1, false]);
  screen.leave();
});

test("the wheel zooms with Ctrl only, about the place of the pointer", async () => {
  const [screen, shown] = stack(answer([]));
  await settle();
  const wheel = async (more: object) => {
    const event = Object.assign(new Event("wheel", { bubbles: true, cancelable: true }), {
      deltaY: -100,
      clientX: 52,
      ctrlKey: false,
      metaKey: false,
      ...more,
    });
    await act(() => void screen.one(".charts-body").dispatchEvent(event));
    return event.defaultPrevented;
  };
  assert.equal(await wheel({}), false, "the page scrolls");
  assert.equal(await wheel({ ctrlKey: true }), true);
  assert.equal(shown.ranges[0]!.from, DAY.from, "what is under the pointer stays there");
  assert.ok(shown.ranges[0]!.to < DAY.to);
  await wheel({ ctrlKey: true, clientX: 5_000, deltaY: 100 });
  assert.equal(shown.ranges[1]!.to, DAY.to, "beyond the end it is the end");
  screen.leave();
});

test("the drawing is described in words when they are opened, with the names of track and signal", async () => {
  const found = [series("activity.bpm", [at(0), at(10)], [60, 88]), series("temperature.temp_sk1", [at(0)], [33.25])];
  const [screen] = stack(answer(found, GAPS));
  assert.equal(screen.all(".charts-words li").length, 0);
  const details = screen.one<HTMLDetailsElement>("details");
  details.open = true;
  await act(() => void details.dispatchEvent(new Event("toggle")));
  const lines = screen.all(".charts-words li").map(textOf);
  assert.equal(lines[0], "Heart rate: lowest 60 /min at 00:00, highest 88 /min at 00:10, last 88 /min at 00:10.");
  assert.match(lines[1]!, /^Temperature, Skin 1: lowest 33\.[23] °C/);
  assert.match(lines[2]!, /^No data: not worn/);
  screen.leave();
});

test("the head of a track has its span, and the value or the reason under the cursor", async () => {
  const found = [series("activity.bpm", [at(0), at(1), at(2)], [60, 75, 70])];
  const [screen] = stack(answer(found, [{ from: at(500), to: at(900), reason: "charging" }]));
  await settle();
  assert.equal(textOf(screen.one("[data-track=heart_rate] b")), "60–75");
  screen.leave();
});
