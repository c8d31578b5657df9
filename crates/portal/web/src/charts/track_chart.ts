// One track as a uPlot chart. All tracks of a page share the cursor and the stretch of time; the value under the cursor
// is handed out, so that the head of the track can show it. Zooming draws what is there, stretched, until finer data come.

import uPlot from "uplot";
import { timeMarks, timeStep } from "./axis";
import { faded, font, token } from "./colours";
import { gapBands } from "./gap_bands";
import { hypnogramBlocks } from "./hypnogram";
import { partRows } from "./part_rows";
import type { Range } from "./range";
import type { SeriesAnswer } from "./series";
import { isDrawn, type TrackData, trackData, valueRange } from "./track_data";
import { STAGES, type Track } from "./tracks";

/** Room for the labels of the value axis; the same in every track, so that their times are aligned. */
export const AXIS_PX = 52;
/** Room at the right end. */
export const RIGHT_PX = 8;
/** The width under one label of the time axis: labels with fractions of a second are longer. */
export function labelPx(spanMs: number): number {
  return spanMs < 15_000 ? 116 : 84;
}

const WHOLE_STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

const AXIS_NUMBER = new Intl.NumberFormat("en", { numberingSystem: "latn", maximumFractionDigits: 6 });

/** What a chart receives and reports. */
export interface TrackChartParts {
  track: Track;
  zone: string;
  range: Range;
  answer: SeriesAnswer;
  widthPx: number;
  syncKey: string;
  onRange(range: Range): void;
  onHome(): void;
  /** The instant under the cursor, none when the cursor has left. */
  onCursor(atMs: number | null): void;
}

/** A drawn track. */
export class TrackChart {
  data: TrackData;
  private range: Range;
  private plot: uPlot;

  constructor(
    private readonly parts: TrackChartParts,
    private readonly place: HTMLElement,
  ) {
    this.range = parts.range;
    this.data = trackData(parts.track, parts.answer);
    this.plot = this.draw();
  }

  /** New data of the same or another stretch of time. */
  setAnswer(answer: SeriesAnswer): void {
    // Signals that come by another way, as scores do, leave what the other tracks draw as it is.
    if (isDrawn(this.data, this.parts.track, answer)) return;
    const before = this.shape();
    this.data = trackData(this.parts.track, answer);
    if (this.shape() === before) this.plot.setData(this.columns(), false);
    else this.redraw();
    this.setRange(this.range);
  }

  /** Another stretch of time; what is there is drawn at once. */
  setRange(range: Range): void {
    this.range = range;
    this.plot.setScale("x", { min: range.from, max: range.to });
  }

  /** The instant under the cursor; none when the cursor is elsewhere. */
  instant(): number | null {
    return instantUnder(this.plot);
  }

  setWidth(widthPx: number): void {
    this.parts.widthPx = widthPx;
    this.plot.setSize({ width: widthPx, height: this.parts.track.heightPx });
  }

  /** Draws again with the colours of now. */
  redraw(): void {
    this.plot.destroy();
    this.plot = this.draw();
  }

  destroy(): void {
    this.plot.destroy();
  }

  /** Which lines there are: another set needs another plot. */
  private shape(): string {
    return this.data.drawn.map(({ label, series }) => `${label} ${series.raw}`).join("|");
  }

  private columns(): uPlot.AlignedData {
    return [this.data.t, ...this.data.columns] as uPlot.AlignedData;
  }

  private draw(): uPlot {
    return new uPlot(this.options(), this.columns(), this.place);
  }

  private options(): uPlot.Options {
    const { track, widthPx } = this.parts;
    const plugins = [gapBands(() => this.data.gaps)];
    if (track.drawing === "parts") plugins.push(partRows(() => this.data.drawn, track));
    if (track.drawing === "hypnogram") {
      plugins.push(hypnogramBlocks(() => this.data.drawn[0], track));
    }
    return {
      width: widthPx,
      height: track.heightPx,
      // uPlot reckons in seconds unless set otherwise.
      ms: 1,
      padding: [6, RIGHT_PX, 4, 0],
      legend: { show: false },
      plugins,
      cursor: this.cursor(),
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        // Its own axis of time would be in the reader's zone.
        x: { time: false, min: this.range.from, max: this.range.to, auto: false },
        y: {
          range: (_, min, max) =>
            track.drawing === "parts" ? [-0.5, this.data.drawn.length - 0.5] : valueRange(track, min, max),
        },
      },
      axes: this.axes(),
      series: [{}, ...this.data.drawn.flatMap((_, index) => this.series(index))],
      bands: this.data.drawn.flatMap((drawn, index) =>
        drawn.series.raw || track.drawing !== "line"
          ? []
          : [{ series: [2 * index + 1, 2 * index + 2] as [number, number], fill: this.colour(index, 0.55) }],
      ),
      hooks: {
        setSelect: [(plot) => this.selected(plot)],
        setCursor: [(plot) => this.parts.onCursor(instantUnder(plot))],
      },
    };
  }

  private cursor(): uPlot.Cursor {
    return {
      y: false,
      points: { show: !drawsItself(this.parts.track), size: 7 },
      drag: { x: true, y: false, setScale: false },
      sync: { key: this.parts.syncKey, scales: ["x", null], setSeries: false },
      bind: {
        dblclick: () => () => {
          this.parts.onHome();
          return null;
        },
      },
    };
  }

  private axes(): uPlot.Axis[] {
    const { track, zone } = this.parts;
    const ink = token("text-faint");
    const grid = { stroke: token("grid"), width: 1 };
    const rows = rowNames(track, this.data);
    return [
      {
        size: 0,
        grid,
        ticks: { show: false },
        splits: (plot, _, min, max) =>
          timeMarks(min, max, timeStep(max - min, plot.bbox.width / devicePixelRatio, labelPx(max - min)), zone),
        values: (_, splits) => splits.map(() => ""),
      },
      {
        size: AXIS_PX,
        // uPlot writes numbers in the browser's own digits; everything else here is in these.
        values: (_, splits) => splits.map((split) => AXIS_NUMBER.format(split)),
        gap: 6,
        stroke: ink,
        font: `11px ${font()}`,
        grid: rows ? { show: false } : grid,
        ticks: { show: false },
        // A number without decimals has no half steps.
        ...(track.decimals === 0 ? { incrs: WHOLE_STEPS } : {}),
        ...(rows ? { splits: () => rows.map((_, row) => row), values: () => rows } : {}),
        space: rows ? 1 : 26,
      },
    ];
  }

  private series(index: number): uPlot.Series[] {
    const { track } = this.parts;
    const colour = this.colour(index);
    const { raw, t } = this.data.drawn[index]!.series;
    const shown = !drawsItself(track);
    const common = { scale: "y", stroke: colour, width: 1.25, show: shown, spanGaps: false };
    const few = raw && t.length < this.parts.widthPx / 6;
    const max: uPlot.Series = { ...common, points: { show: few || track.drawing === "points", size: 4, fill: colour } };
    if (track.drawing === "bars") {
      max.paths = uPlot.paths.bars?.({ size: [0.9, 12, 1] });
      max.fill = faded(colour, 0.6);
      max.points = { show: false };
    }
    if (track.drawing === "step") {
      max.paths = uPlot.paths.stepped?.({ align: 1 });
      max.fill = faded(colour, 0.16);
    }
    if (track.drawing === "points") max.paths = () => null;
    // The lowest values are a line of their own only where they differ from the highest.
    return [max, { ...common, show: shown && !raw && track.drawing === "line", points: { show: false } }];
  }

  /** The colour of a drawn signal. */
  colour(index: number, alpha = 1): string {
    const { signal, series } = this.data.drawn[index]!;
    // The colours of light have their own, further channels of one signal take further ones.
    const same = this.data.drawn.slice(0, index).filter((other) => other.signal === signal).length;
    const further = `signal-channel-${((same - 1) % 3) + 1}`;
    const colour = token(lightColour(series.channel) ?? (same === 0 ? signal.colour : further));
    return alpha === 1 ? colour : faded(colour, alpha);
  }

  /** Takes the cursor off this track and, as they share it, off all others, until the pointer moves again. */
  private hideCursor(): void {
    // The third argument, which its types leave out, passes it on.
    const setCursor: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void = this.plot.setCursor;
    setCursor({ left: -10, top: -10 }, true, true);
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    // A click with an unsteady hand is no stretch to zoom to.
    if (width < 4) return;
    const range = { from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") };
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    // Later: uPlot first passes the release of the button on to the other tracks, whose cursors would stay where it was.
    queueMicrotask(() => this.hideCursor());
    this.parts.onRange(range);
  }
}

/** Blocks instead of lines: drawn by a plugin. */
function drawsItself(track: Track): boolean {
  return track.drawing === "hypnogram" || track.drawing === "parts";
}

/** The names on the value axis of a track of rows, from the bottom. */
function rowNames(track: Track, data: TrackData): string[] | null {
  if (track.drawing === "hypnogram") return [...STAGES];
  return track.drawing === "parts" ? data.drawn.map(({ label }) => label).reverse() : null;
}

/** The token of a PPG channel such as `green.0`, by the colour of its light. */
function lightColour(channel: string | null): string | null {
  const light = channel?.split(".")[0] ?? "";
  return ["green", "red", "infrared", "ambient"].includes(light) ? `ppg-${light}` : null;
}

function instantUnder(plot: uPlot): number | null {
  const left = plot.cursor.left ?? -1;
  return left < 0 ? null : plot.posToVal(left, "x");
}
