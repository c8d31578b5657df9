// Sorting and filtering of a list, apart from how it looks.

import type { Cell } from "../csv";
import { compareText, holdsAll, wordsOf } from "../words";

export type Direction = "up" | "down";

export interface Order {
  key: string;
  direction: Direction;
}

/** Rows whose cells hold every word of `text`, whatever its case. */
export function filterRows<T>(rows: T[], text: string, cellsOf: (row: T) => Cell[]): T[] {
  const words = wordsOf(text);
  if (words.length === 0) return rows;
  return rows.filter((row) => holdsAll(cellsOf(row).join("\n"), words));
}

/** Rows in the order of a value; rows without one come last in either direction, and ties keep their order. */
export function sortRows<T>(rows: T[], cellOf: (row: T) => Cell, direction: Direction): T[] {
  return rows
    .map((row) => ({ row, value: cellOf(row) }))
    .sort((a, b) => {
      const empty = Number(isEmpty(a.value)) - Number(isEmpty(b.value));
      if (empty !== 0) return empty;
      return compare(a.value, b.value) * (direction === "down" ? -1 : 1);
    })
    .map(({ row }) => row);
}

function isEmpty(value: Cell): boolean {
  return value === null || value === undefined || value === "";
}

function compare(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return compareText(String(a ?? ""), String(b ?? ""));
}
