import "../testkit/browser";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type uPlot from "uplot";
import { Canvas, plotOn } from "../testkit/canvas";
import { eachBlock } from "./blocks";
import { faded, forgetColours, token } from "./colours";
import { gapBands } from "./gap_bands";
import { hypnogramBlocks } from "./hypnogram";
import { partRows } from "./part_rows";
import type { Gap, Series } from "./series";
import type { Drawn } from "./track_data";
import { type Track, VITAL_TRACKS } from "./tracks";

let canvas: Canvas;
const SLEEP = VITAL_TRACKS.find(({ id }) => id === "sleep")!;
const PARTS = VITAL_TRACKS.find(({ id }) => id === "news_parts")!;

beforeEach(() => {
  canvas = new Canvas();
  Object.assign(globalThis, { devicePixelRatio: 1 });
  const colours = [
    "text-soft",
    "gap-not-worn",
    "gap-charging",
    "gap-low-battery",
    "gap-not-synced",
    "sleep-deep",
    "sleep-light",
    "sleep-rem",
    "sleep-awake",
    "news-none-ground",
    "warn-solid",
    "score-2",
    "bad-solid",
  ];
  for (const [at, name] of colours.entries()) {
    document.documentElement.style.setProperty(`--${name}`, `rgb(${at}, 0, 0)`);
  }
  forgetColours();
});

function draw(plugin: uPlot.Plugin, hook: "draw" | "drawClear", size = {}): void {
  (plugin.hooks[hook] as (plot: unknown) => void)(plotOn(canvas, size));
  assert.equal(canvas.depth, 0, "what it has set is set back");
}

const codes = (t: number[], values: (number | null)[], more: Partial<Series> = {}): Series => ({
  ...{ type: "sleep", column: "sleep_state", channel: null, unit: "", raw: true },
  ...{ t, min: values, max: values },
  ...more,
});
const drawn = (series: Series): Drawn => ({ signal: { name: "a.b", label: "a", colour: "c" }, label: "a", series });

/** Blocks as [from, width, lowest, highest]. */
function blocks(series: Series, track: Partial<Track>, size = {}): number[][] {
  const found: number[][] = [];
  eachBlock(plotOn(canvas, size) as unknown as uPlot, series, { ...SLEEP, ...track }, (...block) => found.push(block));
  return found;
}

test("a block lasts until the next row where that is near, else for its own length", () => {
  const found = blocks(codes([0, 100, 900], [1, 2, 3]), { usualMs: 100 });
  assert.deepEqual(found, [
    [0, 100, 1, 1],
    [100, 100, 2, 2],
    [900, 100, 3, 3],
  ]);
});

test("a row that holds lasts until the next, however far, and the last one has no length of its own", () => {
  const found = blocks(codes([0, 900], [1, 2]), { holds: true, usualMs: 100 });
  assert.deepEqual(
    found,
    [
      [0, 900, 1, 1],
      [900, 1, 2, 2],
    ],
    "a pixel, so that it is seen at all",
  );
});

test("a bucket is as long as buckets are, and shows its lowest and highest", () => {
  const buckets = codes([0, 500], [0, 2], { raw: false, bucket_ms: 200, max: [3, 2] });
  assert.deepEqual(blocks(buckets, { usualMs: 10 }), [
    [0, 500, 0, 3],
    [500, 200, 2, 2],
  ]);
});

test("what is missing is no block, and ends the one before it", () => {
  assert.deepEqual(blocks(codes([0, 100, 200], [1, null, 2]), { usualMs: 100 }), [
    [0, 100, 1, 1],
    [200, 100, 2, 2],
  ]);
  assert.deepEqual(blocks(codes([], []), {}), []);
});

test("what lies outside the plot is not drawn, what reaches into it is", () => {
  const found = blocks(codes([-500, -50, 990, 1_200], [1, 2, 3, 0]), { usualMs: 100 });
  assert.deepEqual(
    found.map(([from]) => from),
    [-50, 990],
  );
});

test("a block thinner than a pixel is a pixel of this screen", () => {
  Object.assign(globalThis, { devicePixelRatio: 2 });
  assert.equal(blocks(codes([0, 1], [1, 2]), { usualMs: 1 })[0]![1], 2);
});

const gap = (from: number, to: number, reason: Gap["reason"] = "not_worn"): Gap => ({ from, to, reason });
const bands = (gaps: Gap[], size = {}) =>
  draw(
    gapBands(() => gaps),
    "drawClear",
    size,
  );

test("a gap is a band with its reason's colour and its reason in words", () => {
  bands([gap(100, 400), gap(500, 900, "charging")]);
  assert.deepEqual(
    canvas.of("rect").map(({ at, colour }) => [at, colour]),
    [
      [[100, 0, 300, 100], "rgb(1, 0, 0)"],
      [[500, 0, 400, 100], "rgb(2, 0, 0)"],
    ],
  );
  assert.deepEqual(
    canvas.of("text").map(({ text, at }) => [text, at[0]]),
    [
      ["not worn", 250],
      ["charging", 700],
    ],
  );
  assert.equal(canvas.of("stroke")[0]!.colour, "rgba(0, 0, 0, 0.22)");
});

test("a band ends at the plot, and its words are in the middle of what is seen", () => {
  bands([gap(-5_000, 200), gap(800, 99_000)]);
  assert.deepEqual(
    canvas.of("rect").map(({ at }) => at),
    [
      [0, 0, 200, 100],
      [800, 0, 200, 100],
    ],
  );
  assert.deepEqual(
    canvas.of("text").map(({ at }) => at[0]),
    [100, 900],
  );
});

test("a band that is not in sight, or thinner than a pixel, is none", () => {
  bands([gap(-300, -100), gap(1_000, 2_000), gap(500, 500.5)]);
  assert.equal(canvas.drawn.length, 0);
});

test("words that do not fit are upright, and where they do not fit either there are none", () => {
  bands([gap(100, 130)]);
  assert.equal(canvas.of("rotate").length, 1);
  canvas = new Canvas();
  bands([gap(100, 130)], { height: 40 });
  assert.equal(canvas.of("text").length, 0);
  canvas = new Canvas();
  bands([gap(100, 110)]);
  assert.equal(canvas.of("text").length, 0, "narrower than a line of text");
});

test("the hatching of neighbouring bands goes on as one", () => {
  bands([gap(100, 400), gap(400, 700)]);
  const [first, second] = canvas.of("stroke").map(({ at }) => at[0]!);
  assert.equal((second! - first!) % 7, 0);
});

test("a reason that is new to the page is shown in its own words", () => {
  bands([gap(0, 900, "sensor_covered" as Gap["reason"])]);
  assert.equal(canvas.of("text")[0]!.text, "sensor covered");
});

const middleOf = ({ at }: { at: number[] }) => Math.round(at[1]! + at[3]! / 2);

test("stages are on their levels, awake on top, each in its colour", () => {
  draw(
    hypnogramBlocks(() => drawn(codes([0, 100, 200, 300], [0, 1, 2, 3])), SLEEP),
    "draw",
  );
  const rects = canvas.of("rect");
  const middles = rects.map(middleOf);
  assert.deepEqual(middles, [65, 85, 95, 75], "awake, light, deep, REM");
  assert.deepEqual(
    rects.map(({ colour }) => colour),
    ["rgb(8, 0, 0)", "rgb(6, 0, 0)", "rgb(5, 0, 0)", "rgb(7, 0, 0)"],
  );
});

test("a bucket of several stages fills all levels between them", () => {
  const bucket = codes([0], [0], { raw: false, bucket_ms: 100, max: [2] });
  draw(
    hypnogramBlocks(() => drawn(bucket), SLEEP),
    "draw",
  );
  assert.equal(canvas.of("rect").length, 4, "awake and deep, and what lies between");
});

test("without stages there is nothing to draw", () => {
  draw(
    hypnogramBlocks(() => undefined, SLEEP),
    "draw",
  );
  draw(
    partRows(() => [], PARTS),
    "draw",
  );
  assert.equal(canvas.drawn.length, 0);
});

test("each part of a score has its row, darker with its score, low where it is 0", () => {
  const part = (values: number[]) =>
    drawn(
      codes(
        values.map((_, at) => 100 * at),
        values,
        { type: "news" },
      ),
    );
  draw(
    partRows(() => [part([0, 1]), part([2, 3])], PARTS),
    "draw",
  );
  const rects = canvas.of("rect");
  assert.deepEqual(
    rects.map(({ colour }) => colour),
    ["rgb(9, 0, 0)", "rgb(10, 0, 0)", "rgb(11, 0, 0)", "rgb(12, 0, 0)"],
  );
  assert.ok(rects[0]!.at[3]! < rects[1]!.at[3]!, "a part that scores 0 is not in the way");
  assert.deepEqual(rects.map(middleOf), [85, 85, 95, 95], "the first part is above the second");
});

test("a sub-score outside of what there is has the nearest colour", () => {
  draw(
    partRows(() => [drawn(codes([0, 100], [-1, 9], { type: "news" }))], PARTS),
    "draw",
  );
  assert.deepEqual(
    canvas.of("rect").map(({ colour }) => colour),
    ["rgb(9, 0, 0)", "rgb(12, 0, 0)"],
  );
});

test("a colour is read once, and again after the theme has changed", () => {
  assert.equal(token("score-2"), "rgb(11, 0, 0)");
  document.documentElement.style.setProperty("--score-2", "rgb(99, 0, 0)");
  assert.equal(token("score-2"), "rgb(11, 0, 0)");
  forgetColours();
  assert.equal(token("score-2"), "rgb(99, 0, 0)");
});

test("a colour is faded where it can be read, else left as it is", () => {
  assert.equal(faded("rgb(1, 2, 3)", 0.5), "rgba(1, 2, 3, 0.5)");
  assert.equal(faded("rgba(1, 2, 3, 1)", 0.5), "rgba(1, 2, 3, 0.5)");
  assert.equal(faded("oklch(0.7 0.1 200)", 0.5), "oklch(0.7 0.1 200)");
});
