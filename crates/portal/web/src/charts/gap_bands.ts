// Stretches without data as hatched bands behind the lines, each with its reason written into it where there is room.

import type uPlot from "uplot";
import { faded, font, token } from "./colours";
import { type Gap, reasonText } from "./series";

/** Draws the gaps that `gaps` returns, before the lines. */
export function gapBands(gaps: () => Gap[]): uPlot.Plugin {
  return {
    hooks: {
      drawClear: (plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        const ink = token("text-soft");
        ctx.font = `${11 * devicePixelRatio}px ${font()}`;
        for (const gap of gaps()) drawBand(plot, gap, ink);
        ctx.restore();
      },
    },
  };
}

function drawBand(plot: uPlot, gap: Gap, ink: string): void {
  const { ctx, bbox } = plot;
  const left = Math.max(plot.valToPos(gap.from, "x", true), bbox.left);
  const right = Math.min(plot.valToPos(gap.to, "x", true), bbox.left + bbox.width);
  const width = right - left;
  if (width < 1) return;
  ctx.fillStyle = token(`gap-${gap.reason.replaceAll("_", "-")}`);
  ctx.fillRect(left, bbox.top, width, bbox.height);
  hatch(ctx, { left, top: bbox.top, width, height: bbox.height }, faded(ink, 0.22));
  label(plot, reasonText(gap.reason), left, width, ink);
}

/** The reason inside its band: along it where it is wide, upright where it is narrow, else only in the legend. */
function label({ ctx, bbox }: uPlot, text: string, left: number, width: number, ink: string): void {
  const ratio = devicePixelRatio;
  const length = ctx.measureText(text).width + 8 * ratio;
  ctx.fillStyle = ink;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  if (length <= width) {
    ctx.fillText(text, left + width / 2, bbox.top + 10 * ratio);
  } else if (width >= 13 * ratio && length <= bbox.height) {
    ctx.save();
    ctx.translate(left + width / 2, bbox.top + bbox.height / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }
}

function hatch(ctx: CanvasRenderingContext2D, { left, top, width, height }: uPlot.BBox, colour: string): void {
  const step = 7 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  // Laid out from the left end of the canvas, so that neighbouring bands and charts continue each other.
  for (let at = Math.floor((left - height) / step) * step; at < left + width; at += step) {
    ctx.moveTo(at, top + height);
    ctx.lineTo(at + height, top);
  }
  ctx.stroke();
  ctx.restore();
}
