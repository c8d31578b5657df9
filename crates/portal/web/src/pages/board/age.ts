// How old a value is. An age ticks, so cells carry the time of their value in an attribute and one clock rewrites their
// text: a board of a thousand patients ages without being drawn again.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Age above which a value of a column counts as outdated: pressure is taken rarely, the rest all the time. */
export const OUTDATED_MS = { vital: 30 * MINUTE, blood_pressure: 12 * HOUR, sync: 30 * MINUTE } as const;

/** `now`, `40 s`, `3 min`, `2 h 05`, `4 d`. */
export function ageText(ageMs: number): string {
  if (ageMs < 5000) return "now";
  if (ageMs < MINUTE) return `${Math.floor(ageMs / 1000)} s`;
  if (ageMs < HOUR) return `${Math.floor(ageMs / MINUTE)} min`;
  if (ageMs < DAY)
    return `${Math.floor(ageMs / HOUR)} h ${String(Math.floor((ageMs % HOUR) / MINUTE)).padStart(2, "0")}`;
  return `${Math.floor(ageMs / DAY)} d`;
}

/** An age for a screen reader. */
export function spokenAge(ageMs: number): string {
  const text = ageText(ageMs);
  return text === "now" ? "just now" : `${text} ago`;
}

/** Rewrites every age below `root`: elements with `data-at` (ms) and, optionally, `data-limit` (ms). */
export function tickAges(root: ParentNode, nowMs: number): void {
  for (const element of root.querySelectorAll<HTMLElement>("[data-at]")) {
    const age = Math.max(0, nowMs - Number(element.dataset.at));
    const text = ageText(age);
    if (element.textContent !== text) element.textContent = text;
    const limit = Number(element.dataset.limit);
    if (!limit) continue;
    const cell = element.closest<HTMLElement>("[data-cell]") ?? element;
    cell.classList.toggle("outdated", age > limit);
  }
}
