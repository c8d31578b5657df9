// The board for a screen on the wall: nothing to press, large figures, the sickest first. More patients than fit are
// shown page after page; those who need a look stay on every page.

import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../design/button";
import { useNow } from "../../design/time";
import { clock } from "../../format";
import { setQuery } from "../../router";
import { tickAges } from "./age";
import { News, PressureCell, Sync, Vital } from "./cells";
import { LineSign } from "./line_sign";
import type { LineState } from "./live";
import { arranged, isOf } from "./rows";
import type { Row } from "./types";
import { pageOf } from "./wall_pages";

// Time to read a page of tiles from the other end of a corridor.
const TURN_MS = 15_000;

export function WallDisplay({ code, rows, line }: { code: string; rows: Row[]; line: LineState }) {
  const grid = useRef<HTMLDivElement>(null);
  const now = useNow(10);
  const [turn, setTurn] = useState(0);
  const [fits, setFits] = useState(24);

  useEffect(() => {
    document.documentElement.dataset.wall = "";
    const timer = window.setInterval(() => setTurn((before) => before + 1), TURN_MS);
    const ages = window.setInterval(() => grid.current && tickAges(grid.current, Date.now()), 1000);
    const measure = () => grid.current && setFits(placesIn(grid.current));
    // The frame around the page goes first.
    requestAnimationFrame(measure);
    addEventListener("resize", measure);
    const awake = keepAwake();
    return () => {
      delete document.documentElement.dataset.wall;
      clearInterval(timer);
      clearInterval(ages);
      removeEventListener("resize", measure);
      awake();
    };
  }, []);

  const sorted = arranged(rows, { text: "", attention: "all" }, { key: "news", descending: true }, now);
  const urgent = sorted.filter((row) => isOf(row, "attention", now));
  const { shown, page, pages } = pageOf(sorted, urgent.length, fits, turn);
  return (
    <div class="wall">
      <header>
        <h1>Study {code}</h1>
        <span>
          {rows.length} patients, {urgent.length} need a look
        </span>
        {pages > 1 && (
          <span>
            page {page + 1} of {pages}
          </span>
        )}
        <span class="push" />
        <LineSign line={line} />
        <b class="wall-clock">{clock(now)}</b>
        <Button
          kind="quiet"
          small
          icon="close"
          label="Leave the wall display"
          onClick={() => setQuery({ wall: null })}
        />
      </header>
      <div class="wall-grid" ref={grid} role="list">
        {shown.map((row) => (
          <Tile key={row.uuid} row={row} />
        ))}
      </div>
    </div>
  );
}

function Tile({ row }: { row: Row }) {
  const now = Date.now();
  const { heart_rate, respiration_rate, spo2, temperature } = row;
  const whole = (reading: { value: number } | null) => (reading ? String(Math.round(reading.value)) : null);
  return (
    <div class="wall-tile" role="listitem">
      <h2>{row.name}</h2>
      <div role="table" aria-label={row.name}>
        <div role="row">
          <News row={row} nowMs={now} />
          <Sync row={row} nowMs={now} />
          <Vital
            row={row}
            label="HR"
            kind="heart"
            nowMs={now}
            text={whole(heart_rate)}
            at={heart_rate?.timestamp ?? null}
          />
          <Vital
            row={row}
            label="Resp"
            kind="resp"
            nowMs={now}
            text={whole(respiration_rate)}
            at={respiration_rate?.timestamp ?? null}
          />
          <Vital row={row} label="SpO₂" kind="spo2" nowMs={now} text={whole(spo2)} at={spo2?.timestamp ?? null} />
          <Vital
            row={row}
            label="Temp"
            kind="temp"
            nowMs={now}
            text={temperature?.value.toFixed(1) ?? null}
            at={temperature?.timestamp ?? null}
          />
          <PressureCell row={row} nowMs={now} />
        </div>
      </div>
    </div>
  );
}

/** How many tiles the window has room for. */
function placesIn(grid: HTMLElement): number {
  const style = getComputedStyle(grid);
  const columns = style.gridTemplateColumns.split(" ").length;
  const tile =
    parseFloat(style.getPropertyValue("--tile-rem")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const rows = Math.max(1, Math.floor((innerHeight - grid.getBoundingClientRect().top) / tile));
  return columns * rows;
}

/** Keeps the screen on where the browser can; the answer lets it go. */
function keepAwake(): () => void {
  let lock: WakeLockSentinel | null = null;
  navigator.wakeLock?.request("screen").then(
    (got) => (lock = got),
    () => {},
  );
  return () => void lock?.release();
}
