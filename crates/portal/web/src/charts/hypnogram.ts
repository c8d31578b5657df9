// Sleep stages as blocks on four levels, in the order that sleep laboratories draw them. A bucket that holds several
// stages fills all levels between its lowest and highest: nothing is averaged between stages.

import type uPlot from "uplot";
import { eachBlock } from "./blocks";
import { token } from "./colours";
import type { Drawn } from "./track_data";
import { stageLevel, type Track } from "./tracks";

const COLOURS = ["sleep-deep", "sleep-light", "sleep-rem", "sleep-awake"];

/** Draws the stages that `drawn` returns. */
export function hypnogramBlocks(drawn: () => Drawn | undefined, track: Track): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const stages = drawn();
        if (stages) drawStages(plot, stages, track);
      },
    },
  };
}

function drawStages(plot: uPlot, { series }: Drawn, track: Track): void {
  const { ctx, bbox } = plot;
  const colours = COLOURS.map((name) => token(name));
  const level = (value: number) => plot.valToPos(value, "y", true);
  const half = Math.abs(level(0) - level(1)) * 0.36;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  eachBlock(plot, series, track, (left, width, min, max) => {
    const levels = [stageLevel(min), stageLevel(max)].sort((one, other) => one - other);
    for (let at = levels[0]!; at <= levels[1]!; at += 1) {
      ctx.fillStyle = colours[at]!;
      ctx.fillRect(left, level(at) - half, width, 2 * half);
    }
  });
  ctx.restore();
}
