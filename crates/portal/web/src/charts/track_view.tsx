// One track: its name and unit, the value under the cursor, and the drawing. The chart lives outside Preact; this
// component only makes it, hands it what has changed, and ends it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useDark } from "../design/theme";
import { forgetColours } from "./colours";
import type { Range } from "./range";
import { type Gap, reasonText, type SeriesAnswer } from "./series";
import { TrackChart } from "./track_chart";
import { drawnOf } from "./track_data";
import { STAGES, stageLevel, type Track } from "./tracks";
import { extremes, valueAt, valueHeldAt } from "./words";

interface Props {
  track: Track;
  answer: SeriesAnswer;
  range: Range;
  zone: string;
  widthPx: number;
  syncKey: string;
  onRange(range: Range): void;
  onHome(): void;
  onCursor(atMs: number | null): void;
}

export function TrackView(props: Props) {
  const { track, answer, range, widthPx } = props;
  const place = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLElement>(null);
  const chart = useRef<TrackChart | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    const made = new TrackChart(
      {
        ...latest.current,
        onRange: (next) => latest.current.onRange(next),
        onHome: () => latest.current.onHome(),
        onCursor: (at) => {
          write(head.current, made, latest.current, at);
          latest.current.onCursor(at);
        },
      },
      place.current!,
    );
    chart.current = made;
    return () => made.destroy();
    // A chart is made once for its track and zone; what changes later is handed to it below.
  }, [track, props.zone]);

  useLater(() => {
    forgetColours();
    chart.current?.redraw();
    write(head.current, chart.current, latest.current, null);
  }, [useDark()]);
  useLater(() => chart.current?.setWidth(widthPx), [widthPx]);
  useLater(() => {
    chart.current?.setAnswer(answer);
  }, [answer]);
  useLater(() => chart.current?.setRange(range), [range.from, range.to]);
  // Where the pointer rests, what it points at goes on being said: else the line would be left without its value.
  useEffect(
    () => write(head.current, chart.current, latest.current, chart.current?.instant() ?? null),
    [range.from, range.to, answer],
  );

  return (
    <section class="track" data-track={track.id} aria-label={track.label}>
      <header ref={head}>
        <h3>
          {track.label} {track.unit && <span class="unit">{track.unit}</span>}
        </h3>
        {drawnOf(track, answer).map(({ label, series }) => (
          <span class="readout" key={`${series.column} ${series.channel}`}>
            <span class="swatch" hidden={drawsCodes(track)} />
            {track.signals.length > 1 || series.channel ? label : ""}
            <b />
          </span>
        ))}
      </header>
      <div class="canvas" ref={place} aria-hidden="true" />
    </section>
  );
}

/** An effect of later changes: what a chart was made with need not be handed to it again. */
function useLater(then: () => void, inputs: unknown[]): void {
  const first = useRef(true);
  useLayoutEffect(() => {
    if (!first.current) then();
    first.current = false;
  }, inputs);
}

/** Writes the values at an instant into the head; without one, the span of what is on the screen. */
function write(head: HTMLElement | null, chart: TrackChart | null, { track, range, answer }: Props, at: number | null) {
  if (!head || !chart) return;
  head.querySelectorAll<HTMLElement>(".readout").forEach((readout, index) => {
    const drawn = chart.data.drawn[index];
    const value = readout.querySelector("b");
    if (!drawn || !value) return;
    const swatch = readout.querySelector<HTMLElement>(".swatch")!;
    swatch.style.background = chart.colour(index);
    const within = Math.max(2.5 * answer.bucket_ms, track.usualMs * 1.5, (range.to - range.from) / 200);
    if (at !== null) {
      const text = track.holds
        ? valueHeldAt(drawn.series, at, track.decimals)
        : worded(track, valueAt(drawn.series, at, within, track.decimals));
      value.textContent = text === "–" ? gapAt(answer.gaps, at) : text;
    } else value.textContent = drawsCodes(track) ? "" : spanText(track, drawn.series, range);
  });
}

function drawsCodes(track: Track): boolean {
  return track.drawing === "hypnogram" || track.drawing === "parts";
}

/** Why there is no value at an instant. */
function gapAt(gaps: Gap[], at: number): string {
  const gap = gaps.find(({ from, to }) => from <= at && at < to);
  return gap ? reasonText(gap.reason) : "–";
}

function spanText(track: Track, series: Parameters<typeof extremes>[0], range: Range): string {
  const found = extremes(series, range);
  if (!found) return "–";
  const [low, high] = [found.lowest.value.toFixed(track.decimals), found.highest.value.toFixed(track.decimals)];
  return low === high ? low : `${low}–${high}`;
}

function worded(track: Track, text: string): string {
  if (track.drawing !== "hypnogram" || text === "–") return text;
  return text
    .split("–")
    .map((code) => STAGES[stageLevel(Number(code))])
    .join(" to ");
}
