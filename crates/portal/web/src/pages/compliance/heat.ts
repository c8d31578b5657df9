// A heat map's cells: the share of what was expected that has been received, in a colour step and in words. Nothing
// expected is not the same as nothing received.

/** One cell. */
export interface HeatCell {
  /** 0 to 100; none where nothing was expected. */
  percent: number | null;
  received: number | null;
  expected: number | null;
  /** What is stored is damaged: it is not known what was received. */
  unreadable?: boolean;
}

/** Colour steps from nothing to all, with their words; "none" where nothing was expected. */
export const STEPS = [
  ["none", "nothing expected"],
  ["s0", "0 %"],
  ["s1", "under 25 %"],
  ["s2", "under 50 %"],
  ["s3", "under 75 %"],
  ["s4", "under 90 %"],
  ["s5", "under 98 %"],
  ["s6", "all"],
] as const;

export type Step = (typeof STEPS)[number][0];

/** The colour step of a share: only all but a fiftieth counts as full, only nothing as empty. */
export function stepOf(percent: number | null): Step {
  if (percent === null) return "none";
  if (percent <= 0) return "s0";
  if (percent < 25) return "s1";
  if (percent < 50) return "s2";
  if (percent < 75) return "s3";
  // Above, a day is judged by what it misses: 77 % is five hours and a half, 97 % is less than one.
  if (percent < 90) return "s4";
  if (percent < 98) return "s5";
  return "s6";
}

/** The share received; none where nothing was expected. */
export function cellOf(received: number | null, expected: number | null, percent?: number | null): HeatCell {
  const share = received === null || !expected ? null : Math.min(100, (100 * received) / expected);
  return { percent: percent === undefined ? share : percent, received, expected };
}

/** `96 %`, `–`. */
export function percentText(percent: number | null): string {
  if (percent === null) return "–";
  if (percent <= 0 || percent >= 100) return `${percent <= 0 ? 0 : 100} %`;
  // 99.6 is not yet all, and 0.4 is not nothing.
  return `${Math.min(99, Math.max(1, Math.round(percent)))} %`;
}

/** `1 382 of 1 440 received, 96 %`. */
export function cellText({ percent, received, expected, unreadable }: HeatCell): string {
  if (unreadable) return "cannot be read, stored data are damaged";
  if (expected === null || expected === 0)
    return received ? `${spaced(received)} received, none expected` : "nothing expected";
  return `${spaced(received ?? 0)} of ${spaced(expected)} received, ${percentText(percent)}`;
}

function spaced(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Where a key leads from a cell of a grid; none when it is not a key of the grid. */
export function moved(key: string, at: [number, number], rows: number, columns: number): [number, number] | null {
  const [row, column] = at;
  const to: Record<string, [number, number]> = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
    PageUp: [row - 10, column],
    PageDown: [row + 10, column],
  };
  const next = to[key];
  // In a grid without cells there is no place to be, and none to come back from.
  if (!next || rows === 0 || columns === 0) return null;
  const within = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
  return [within(next[0], rows), within(next[1], columns)];
}
