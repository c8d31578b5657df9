import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cellOf, cellText, moved, percentText, STEPS, stepOf } from "./heat";

test("nothing expected is not nothing received", () => {
  assert.equal(stepOf(cellOf(0, 0).percent), "none");
  assert.equal(stepOf(cellOf(0, 60).percent), "s0");
  assert.equal(cellText(cellOf(0, 0)), "nothing expected");
  assert.equal(cellText(cellOf(0, 60)), "0 of 60 received, 0 %");
  assert.equal(cellText(cellOf(5, 0)), "5 received, none expected");
});

test("only all is all", () => {
  assert.equal(percentText(99.6), "99 %");
  assert.equal(percentText(100), "100 %");
  assert.equal(percentText(null), "–");
  assert.equal(cellText(cellOf(1382, 1440)), "1\u202f382 of 1\u202f440 received, 96 %");
  assert.equal(cellOf(90, 60).percent, 100);
  assert.equal(cellOf(50, 100, 12.5).percent, 12.5, "the service's own percentage is kept");
});

test("steps of colour grow with the share", () => {
  const shares = [0, 1, 25, 50, 75, 90, 98, 100];
  assert.deepEqual(shares.map(stepOf), ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s6"]);
  assert.notEqual(stepOf(77), stepOf(97), "three hours that are missing are not half an hour");
  assert.deepEqual(
    [...new Set(shares.map(stepOf))],
    STEPS.map(([step]) => step).slice(1),
    "the legend has each of them",
  );
});

/** The pairs of colours that a style sheet declares, by their names: light, dark. */
function pairsOf(css: string): Map<string, [string, string]> {
  const found = css.matchAll(/(--[\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)/g);
  return new Map([...found].map(([, name, light, dark]) => [name!, [light!, dark!]]));
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** Contrast as WCAG 2 defines it, 1 to 21. */
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

test("numbers are legible on every step, and neighbours can be distinguished, in light and in dark", () => {
  const css = readFileSync("src/pages/compliance/compliance.css", "utf8");
  const heat = pairsOf(css);
  const tokens = pairsOf(readFileSync("src/design/tokens.css", "utf8"));
  const steps = STEPS.map(([step]) => step).slice(1);
  for (const theme of [0, 1] as const) {
    const grounds = steps.map((step) => heat.get(`--heat-${step.slice(1)}`)![theme]);
    for (const [index, step] of steps.entries()) {
      const own = new RegExp(`\\.${step} \\{[^}]*color: var\\((--[\\w-]+)\\);\\s*\\}`).exec(css)?.[1] ?? "--text";
      const ink = (heat.get(own) ?? tokens.get(own))![theme];
      const legible = contrast(ink, grounds[index]!);
      assert.ok(legible >= 4.5, `${step} has ${legible.toFixed(2)} in theme ${theme}`);
    }
    for (let index = 3; index < steps.length; index += 1) {
      const apart = contrast(grounds[index - 1]!, grounds[index]!);
      assert.ok(apart >= 1.2, `${steps[index]} differs from the one before by ${apart.toFixed(2)} in theme ${theme}`);
    }
  }
});

test("keys move within the grid and not out of it", () => {
  assert.deepEqual(moved("ArrowRight", [0, 0], 3, 5), [0, 1]);
  assert.deepEqual(moved("ArrowUp", [0, 2], 3, 5), [0, 2]);
  assert.deepEqual(moved("End", [1, 0], 3, 5), [1, 4]);
  assert.deepEqual(moved("PageDown", [1, 0], 3, 5), [2, 0]);
  assert.equal(moved("Tab", [1, 0], 3, 5), null);
});
