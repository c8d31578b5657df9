// The stretch of time on the screen, and the moves that change it. Between one second of a waveform and a few weeks; a
// move keeps the point under the pointer where it is.

/** A stretch of time in ms. */
export interface Range {
  from: number;
  to: number;
}

export const LEAST_MS = 1000;
export const MOST_MS = 35 * 86_400_000;

/** The range cut or stretched to what can be shown, about its middle. */
export function held(range: Range): Range {
  const span = range.to - range.from;
  if (span >= LEAST_MS && span <= MOST_MS) return { from: Math.round(range.from), to: Math.round(range.to) };
  const wanted = span < LEAST_MS ? LEAST_MS : MOST_MS;
  const from = Math.round((range.from + range.to - wanted) / 2);
  return { from, to: from + wanted };
}

/** A range `factor` times as long that keeps the instant `at` at its place on the screen. */
export function zoomed(range: Range, factor: number, at = (range.from + range.to) / 2): Range {
  const span = Math.min(Math.max((range.to - range.from) * factor, LEAST_MS), MOST_MS);
  const share = (at - range.from) / (range.to - range.from);
  const from = Math.round(at - span * share);
  return { from, to: from + Math.round(span) };
}

/** The range moved by a part of its own length. */
export function panned(range: Range, share: number): Range {
  const by = Math.round((range.to - range.from) * share);
  return { from: range.from + by, to: range.to + by };
}

/** What a key does to the range; none when the key is not ours. `home` is the range to return to. */
export function rangeOfKey(key: string, range: Range, home: Range): Range | null {
  switch (key) {
    case "ArrowLeft":
      return panned(range, -0.2);
    case "ArrowRight":
      return panned(range, 0.2);
    case "PageUp":
      return panned(range, -1);
    case "PageDown":
      return panned(range, 1);
    case "+":
    case "=":
    case "ArrowUp":
      return zoomed(range, 0.5);
    case "-":
    case "ArrowDown":
      return zoomed(range, 2);
    case "0":
    case "Home":
      return home;
    default:
      return null;
  }
}

const STEPS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A length of time in words, `14 d`, `1 h 30 min`, `2.5 s`. */
export function lengthText(ms: number): string {
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1000) * 1000;
  for (const [unit, name] of STEPS) {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    if (count > 0) parts.push(`${count} ${name}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}
