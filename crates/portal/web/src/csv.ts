// A list as CSV (RFC 4180). A text cell that a spreadsheet would take for a formula is made harmless by an apostrophe, and
// one that holds what other spreadsheets take for the end of a cell is quoted: what follows could begin with one.

export type Cell = string | number | boolean | null | undefined;

/** One cell, quoted where it must be. */
export function csvCell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",;\t\r\n']/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A time as the lists have it, `2025-11-20T12:00:00.000Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** A header and rows as one text, lines ended as the format asks. */
export function csvText(header: string[], rows: Cell[][]): string {
  return [header, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

/** Offers a text as a file of the browser. */
export function download(name: string, text: string, type = "text/csv"): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
