// A heat map as a table: one cell of it takes the focus, arrow keys move it, and what it says is in a line above for
// everybody, not only in a tooltip. Cells show their percentage, so that nothing is shown by colour alone.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { cellText, type HeatCell, moved, percentText, STEPS, stepOf } from "./heat";

export interface HeatRow {
  key: string;
  label: string;
  head?: ComponentChildren;
  cells: HeatCell[];
}

interface Props {
  label: string;
  corner: string;
  columns: { key: string; label: string; long: string }[];
  rows: HeatRow[];
  /** Called when a cell is pressed or entered. */
  onOpen?(row: HeatRow, column: number): void;
  /** What opening a cell does, for the line above. */
  openText?: string;
}

export function HeatMap({ label, corner, columns, rows, onOpen, openText }: Props) {
  const [at, setAt] = useState<[number, number]>([0, Math.max(columns.length - 1, 0)]);
  const body = useRef<HTMLTableSectionElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const row = Math.min(at[0], rows.length - 1);
  const column = Math.min(at[1], columns.length - 1);
  const chosen = rows[row]?.cells[column];

  // The newest day is at the right end.
  useEffect(() => {
    if (scroll.current) scroll.current.scrollLeft = scroll.current.scrollWidth;
  }, [columns.length]);

  const go = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (rows[row]) onOpen?.(rows[row], column);
      return;
    }
    const next = moved(event.key, [row, column], rows.length, columns.length);
    if (!next) return;
    event.preventDefault();
    setAt(next);
    body.current?.rows[next[0]]?.cells[next[1] + 1]?.focus();
  };
  const placeOf = (target: EventTarget | null): [number, number] | null => {
    const cell = (target as Element | null)?.closest<HTMLTableCellElement>("td");
    return cell ? [(cell.parentElement as HTMLTableRowElement).rowIndex - 1, cell.cellIndex - 1] : null;
  };

  return (
    <div class="heat">
      <p class="heat-words small" role="status">
        {chosen ? (
          <>
            <b>{rows[row]!.label}</b> · {columns[column]!.long}: {cellText(chosen)}
            {openText && <span class="soft"> · {openText}</span>}
          </>
        ) : (
          "Nothing to show."
        )}
      </p>
      <div class="heat-scroll" ref={scroll}>
        <table role="grid" aria-label={label} aria-rowcount={rows.length + 1}>
          <thead>
            <tr role="row">
              <th role="columnheader" scope="col">
                {corner}
              </th>
              {columns.map((one) => (
                <th role="columnheader" scope="col" key={one.key} title={one.long}>
                  {one.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody
            ref={body}
            onKeyDown={go}
            onPointerOver={(event) => {
              const place = placeOf(event.target);
              if (place) setAt(place);
            }}
            onClick={(event) => {
              const place = placeOf(event.target);
              if (place) onOpen?.(rows[place[0]]!, place[1]);
            }}
            onFocusIn={(event) => {
              const place = placeOf(event.target);
              if (place) setAt(place);
            }}
          >
            {rows.map((one, index) => (
              <HeatLine key={one.key} row={one} columns={columns} focusColumn={index === row ? column : -1} />
            ))}
          </tbody>
        </table>
      </div>
      <Legend />
    </div>
  );
}

function HeatLine({ row, columns, focusColumn }: { row: HeatRow; columns: Props["columns"]; focusColumn: number }) {
  return (
    <tr role="row">
      <th role="rowheader" scope="row">
        {row.head ?? row.label}
      </th>
      {row.cells.map((cell, index) => (
        <td
          role="gridcell"
          key={columns[index]!.key}
          class={`${stepOf(cell.percent)}${index === focusColumn ? " chosen" : ""}`}
          tabIndex={index === focusColumn ? 0 : -1}
          title={`${row.label}, ${columns[index]!.long}: ${cellText(cell)}`}
          aria-label={`${columns[index]!.long}: ${cellText(cell)}`}
        >
          {cell.unreadable ? "?" : percentText(cell.percent).replace(" %", "")}
        </td>
      ))}
    </tr>
  );
}

function Legend() {
  return (
    <ul class="heat-legend plain tiny soft" aria-label="Colours">
      {STEPS.map(([step, text]) => (
        <li key={step}>
          <i class={step} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  );
}
