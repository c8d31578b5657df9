// The list of a board: a table on a desk, cards on a phone; the same cells, laid out by the style sheet. The heads sort.

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../design/icon";
import { tickAges } from "./age";
import { PatientRow } from "./patient_row";
import { firstDirection, type Sort, type SortKey } from "./rows";
import type { Row } from "./types";
import { useVisibleRows } from "./window_of_rows";

/** The heads, left to right; one without a key does not sort. */
export const HEADS: { key: SortKey | null; text: string; unit?: string; kind: string }[] = [
  { key: "name", text: "Patient", kind: "who" },
  { key: "news", text: "NEWS2", kind: "news-cell" },
  { key: "heart_rate", text: "Heart rate", unit: "/min", kind: "vital" },
  { key: "respiration_rate", text: "Resp.", unit: "/min", kind: "vital" },
  { key: "spo2", text: "SpO₂", unit: "%", kind: "vital" },
  { key: "temperature", text: "Temp.", unit: "°C", kind: "vital" },
  { key: "blood_pressure", text: "Blood pressure", unit: "mmHg", kind: "vital pressure" },
  { key: null, text: "Last 6 h", kind: "trend" },
  { key: "battery", text: "Bracelet", kind: "bracelet" },
  { key: "last_sync", text: "Last sync", kind: "sync" },
];

// Known here and not measured: rows that are not in the page have a height, too.
const ROW_PX = 52;
const CARD_PX = 176;
const CARDS = "(max-width: 56rem)";

interface Props {
  code: string;
  rows: Row[];
  sort: Sort;
  onSort(sort: Sort): void;
}

export function BoardList({ code, rows, sort, onSort }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const cards = useMedia(CARDS);
  const rowPx = (cards ? CARD_PX : ROW_PX) * useRootScale();
  const { begin, end } = useVisibleRows(list, rowPx, rows.length);

  // One clock for all ages; rows that scroll into sight bring theirs with them.
  useEffect(() => {
    const timer = window.setInterval(() => list.current && tickAges(list.current, Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);

  return (
    <div role="table" class="board" aria-label="Patients" aria-rowcount={rows.length + 1}>
      <div role="rowgroup" class="board-heads">
        <div role="row" class="board-row" aria-rowindex={1}>
          {HEADS.map((head) => (
            <Head key={head.text} head={head} sort={sort} onSort={onSort} />
          ))}
        </div>
      </div>
      <div role="rowgroup" class="board-body" ref={list} style={{ height: `${rows.length * rowPx}px` }}>
        {rows.slice(begin, end).map((row, offset) => (
          <PatientRow
            key={row.uuid}
            row={row}
            code={code}
            index={begin + offset + 1}
            topPx={(begin + offset) * rowPx}
          />
        ))}
      </div>
    </div>
  );
}

function Head({ head, sort, onSort }: { head: (typeof HEADS)[number] } & Pick<Props, "sort" | "onSort">) {
  const { key, text, unit, kind } = head;
  const label = (
    <>
      {text} {unit && <span class="unit">{unit}</span>}
    </>
  );
  if (!key) {
    return (
      <div role="columnheader" class={`cell ${kind}`}>
        {label}
      </div>
    );
  }
  const mine = sort.key === key;
  return (
    <div
      role="columnheader"
      class={`cell ${kind}`}
      aria-sort={mine ? (sort.descending ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => onSort({ key, descending: mine ? !sort.descending : firstDirection(key) })}>
        {label}
        {mine && <Icon name={sort.descending ? "down" : "up"} size={12} />}
      </button>
    </div>
  );
}

function useMedia(query: string): boolean {
  const media = matchMedia(query);
  const [matches, setMatches] = useState(media.matches);
  useEffect(() => {
    const update = () => setMatches(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return matches;
}

/** How much larger than usual the type of the page is, on large screens and for those who have set it so. */
function useRootScale(): number {
  const read = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
  const [scale, setScale] = useState(read);
  useEffect(() => {
    const update = () => setScale(read());
    addEventListener("resize", update);
    return () => removeEventListener("resize", update);
  }, []);
  return scale;
}
