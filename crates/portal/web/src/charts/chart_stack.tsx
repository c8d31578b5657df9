// Several tracks over the same stretch of time: one ruler, one cursor, one set of keys, and the same in words below.
// Tracks without data in the answer are named in one line instead of drawn empty.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Move } from "../router";
import { lengthText, type Range, rangeOfKey, zoomed } from "./range";
import { Ruler, showNow } from "./ruler";
import { reasonText, type SeriesAnswer } from "./series";
import { AXIS_PX, RIGHT_PX } from "./track_chart";
import { drawnOf } from "./track_data";
import { TrackView } from "./track_view";
import type { Track } from "./tracks";
import { gapsText, type Naming, signalText } from "./words";
import { rangeText } from "./zone";

interface Props {
  label: string;
  tracks: Track[];
  answer: SeriesAnswer;
  range: Range;
  /** The range that the key 0 and a double click return to. */
  home: Range;
  zone: string;
  busy: boolean;
  /** Whether there has been an answer at all. */
  loaded: boolean;
  onRange(range: Range, move?: Move): void;
  /** The width of the drawing, for the number of points to ask for. */
  onWidth(plotPx: number): void;
}

export function ChartStack(props: Props) {
  const { label, tracks, answer, range, home, zone, busy, loaded, onRange } = props;
  const body = useRef<HTMLDivElement>(null);
  const now = useRef<HTMLSpanElement>(null);
  const [widthPx, setWidthPx] = useState(0);
  const syncKey = useId();
  const help = useId();
  const shown = tracks.filter((track) => drawnOf(track, answer).length > 0);
  const empty = tracks.filter((track) => !shown.includes(track));

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width);
      setWidthPx(width);
      props.onWidth(Math.max(width - AXIS_PX - RIGHT_PX, 50));
    });
    observer.observe(body.current!);
    return () => observer.disconnect();
  }, []);

  // Listened to here and not in the markup: only a listener that is not passive may stop the page from scrolling.
  const latest = useRef({ range, onRange, widthPx });
  latest.current = { range, onRange, widthPx };
  useEffect(() => {
    const element = body.current!;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { range: seen, widthPx: width } = latest.current;
      // Over the labels of the axis the pointer is next to the plot.
      const share = (event.clientX - element.getBoundingClientRect().left - AXIS_PX) / (width - AXIS_PX - RIGHT_PX);
      const at = seen.from + Math.min(Math.max(share, 0), 1) * (seen.to - seen.from);
      latest.current.onRange(zoomed(seen, 1.3 ** (event.deltaY / 100), at), "part");
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = rangeOfKey(event.key, range, home);
    if (!next) return;
    event.preventDefault();
    onRange(next, next === home ? "whole" : "part");
  };

  return (
    <div class="charts" aria-busy={busy}>
      <div
        ref={body}
        class="charts-body"
        tabIndex={0}
        role="group"
        aria-label={`${label}, ${rangeText(range.from, range.to, zone)}`}
        aria-describedby={help}
        onKeyDown={onKeyDown}
      >
        <Ruler range={range} zone={zone} widthPx={widthPx} now={now} />
        {widthPx > 0 &&
          shown.map((track) => (
            <TrackView
              key={track.id}
              track={track}
              answer={answer}
              range={range}
              zone={zone}
              widthPx={widthPx}
              syncKey={syncKey}
              onRange={onRange}
              onHome={() => onRange(home)}
              onCursor={(at) => showNow(now.current, at, range, zone, widthPx)}
            />
          ))}
      </div>
      {loaded && empty.length > 0 && (
        <p class="track-empty">No data here: {empty.map((track) => track.label.toLowerCase()).join(", ")}.</p>
      )}
      <GapLegend answer={answer} range={range} />
      <p id={help} class="unseen">
        Arrow left and right move, plus and minus zoom, page up and down turn, 0 returns. What is drawn is described in
        words below.
      </p>
      <Words tracks={shown} answer={answer} range={range} zone={zone} />
    </div>
  );
}

/** What the hatched bands mean, as far as there are any. */
function GapLegend({ answer, range }: Pick<Props, "answer" | "range">) {
  const seen = answer.gaps.filter((gap) => gap.to > range.from && gap.from < range.to);
  const reasons = [...new Set(seen.map((gap) => gap.reason))];
  if (reasons.length === 0) return null;
  return (
    <ul class="gap-legend plain" aria-label="Stretches without data">
      {reasons.map((reason) => {
        const ofReason = seen.filter((gap) => gap.reason === reason);
        const ms = ofReason.reduce((sum, gap) => sum + Math.min(gap.to, range.to) - Math.max(gap.from, range.from), 0);
        return (
          <li key={reason}>
            <i class={reason.replaceAll("_", "-")} aria-hidden="true" />
            {reasonText(reason)} {lengthText(ms)}
          </li>
        );
      })}
    </ul>
  );
}

/** The drawing in words, for those who do not see it and for those who want the number. */
function Words(props: Pick<Props, "tracks" | "answer" | "range" | "zone">) {
  const [open, setOpen] = useState(false);
  return (
    <details class="charts-words" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>In words</summary>
      {open && <WordList {...props} />}
    </details>
  );
}

function WordList({ tracks, answer, range, zone }: Pick<Props, "tracks" | "answer" | "range" | "zone">) {
  const gaps = gapsText(answer.gaps, range, zone);
  const lines = tracks.filter((track) => track.drawing !== "hypnogram" && track.drawing !== "parts");
  return (
    <ul>
      {lines.flatMap((track) =>
        drawnOf(track, answer).map(({ label, series }) => (
          <li key={`${track.id} ${label}`}>
            {signalText(namingOf(track, label), { bucket_ms: answer.bucket_ms, ...series }, range, zone)}
          </li>
        )),
      )}
      {gaps && <li>{gaps}</li>}
    </ul>
  );
}

/** A track of one signal is called as its signal; of several, both are said. */
function namingOf({ label: track, unit, decimals }: Track, label: string): Naming {
  return { label: label === track ? label : `${track}, ${label}`, unit, decimals };
}
