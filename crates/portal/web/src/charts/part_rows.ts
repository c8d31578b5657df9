// The parts of the score as one row each: nothing for 0, darker for 1, 2 and 3, so that one sees which part made the
// total. A bucket shows its highest sub-score.

import type uPlot from "uplot";
import { eachBlock } from "./blocks";
import { token } from "./colours";
import type { Drawn } from "./track_data";
import type { Track } from "./tracks";

const COLOURS = ["news-none-ground", "warn-solid", "score-2", "bad-solid"];

/** Draws the rows that `drawn` returns, the first at the top. */
export function partRows(drawn: () => Drawn[], track: Track): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const parts = drawn();
        const { ctx, bbox } = plot;
        const half = (bbox.height / Math.max(parts.length, 1)) * 0.38;
        const colours = COLOURS.map((name) => token(name));
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        parts.forEach(({ series }, index) => {
          const middle = plot.valToPos(parts.length - 1 - index, "y", true);
          eachBlock(plot, series, track, (left, width, _, max) => {
            ctx.fillStyle = colours[Math.min(Math.max(max, 0), 3)]!;
            // A quarter of the row for 0: there, and not in the way.
            const tall = max === 0 ? half / 3 : half;
            ctx.fillRect(left, middle - tall, width, 2 * tall);
          });
        });
        ctx.restore();
      },
    },
  };
}
