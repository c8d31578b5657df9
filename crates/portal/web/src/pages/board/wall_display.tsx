// The board for a screen on the wall: nothing to press, figures as large as the screen and the number of patients allow, the
// sickest first. Patients in need of a look are never off the screen; the others take turns where they do not all fit.

import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../design/button";
import { useNow } from "../../design/time";
import { clock } from "../../format";
import { setQuery } from "../../router";
import { tickAges } from "./age";
import { DataAge, LineSign } from "./line_sign";
import type { LineState } from "./live";
import { arranged, isOf, isUrgent } from "./rows";
import type { Row } from "./types";
import { layoutOf, type Room, turnOf, type Zone } from "./wall_layout";
import { WallTile } from "./wall_tile";

// Time to read a page of tiles from the other end of a corridor.
const TURN_MS = 15_000;

interface WallProps {
  code: string;
  /** Of the study; its code where it is not known. */
  name: string;
  rows: Row[];
  line: LineState;
}

export function WallDisplay({ code, name, rows, line }: WallProps) {
  const tiles = useRef<HTMLDivElement>(null);
  const now = useNow(10);
  const [turn, setTurn] = useState(0);
  const [room, setRoom] = useState<Room>({ width: 1920, height: 1000, screen: 1080 });

  useEffect(() => {
    document.documentElement.dataset.wall = "";
    const timer = window.setInterval(() => setTurn((before) => before + 1), TURN_MS);
    const ages = window.setInterval(() => tiles.current && tickAges(tiles.current, Date.now()), 1000);
    const measure = () => tiles.current && setRoom(roomOf(tiles.current));
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
  const urgent = sorted.filter(isUrgent).length;
  // As the filter of the board counts them: also those whose data have stopped, which come next.
  const attention = sorted.filter((row) => isOf(row, "attention", now)).length;
  const layout = layoutOf(sorted.length, urgent, room);
  const { first, others } = layout;
  const { shown, page, pages } = turnOf(sorted.slice(first.places), others?.places ?? 0, turn);
  const hidden = sorted.length - first.places - shown.length;
  return (
    <div class="wall" style={{ "--digits": `${layout.font}px` }}>
      <header>
        <h1>{name === code ? `Study ${code}` : name}</h1>
        <span>
          {rows.length} patients, {attention} need a look
        </span>
        {hidden > 0 && (
          <span>{pages > 1 ? `others: page ${page + 1} of ${pages}` : `${hidden} others are not shown`}</span>
        )}
        <span class="push" />
        <DataAge rows={rows} nowMs={now} />
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
      <p class="unseen">Not a medical device.</p>
      <div ref={tiles}>
        <Tiles rows={sorted.slice(0, first.places)} zone={first} />
        {others && <Tiles rows={shown} zone={others} />}
      </div>
    </div>
  );
}

function Tiles({ rows, zone }: { rows: Row[]; zone: Zone }) {
  return (
    <div class="wall-grid" role="list" style={{ gridTemplateColumns: `repeat(${zone.columns}, minmax(0, 1fr))` }}>
      {rows.map((row) => (
        <WallTile key={row.uuid} row={row} detail={zone.detail} />
      ))}
    </div>
  );
}

/** The room below the head of the page. */
function roomOf(tiles: HTMLElement): Room {
  const { left, top } = tiles.getBoundingClientRect();
  // As much free at the bottom as at the sides.
  return { width: innerWidth - 2 * left, height: innerHeight - top - left, screen: innerHeight };
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
