// Local time in the patient's zone. A chart of a night in Zurich reads the same from a desk in Lima: every time on a
// page of a patient is that patient's wall clock, on 24 hours, never the reader's.

const SECOND = 1000;
const DAY = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();

/** The zone itself, or UTC where the browser does not know it. */
export function knownZone(zone: string | undefined): string {
  if (!zone) return "UTC";
  if (fixedOffset(zone) !== null) return zone;
  try {
    formatOf(zone);
    return zone;
  } catch {
    return "UTC";
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formats.set(zone, format);
  }
  return format;
}

/** The offset of a zone such as `UTC+02:00`, in ms. */
function fixedOffset(zone: string): number | null {
  const parts = /^UTC([+-])(\d\d):(\d\d)$/.exec(zone);
  if (!parts) return null;
  const ms = (Number(parts[2]) * 60 + Number(parts[3])) * 60_000;
  return parts[1] === "-" ? -ms : ms;
}

/** Local time minus UTC at an instant, in ms. Zones change at whole quarters of an hour, so those are remembered. */
export function offsetMs(instantMs: number, zone: string): number {
  const fixed = fixedOffset(zone);
  if (fixed !== null) return fixed;
  const quarter = Math.floor(instantMs / 900_000);
  const key = `${zone} ${quarter}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const at = quarter * 900_000;
  const part: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  const offset = Date.UTC(year, month - 1, day, hour, minute, second) - at;
  offsets.set(key, offset);
  return offset;
}

/** The wall clock as a Date whose UTC fields are the local ones. */
function wall(instantMs: number, zone: string): Date {
  return new Date(instantMs + offsetMs(instantMs, zone));
}

const two = (number: number) => String(number).padStart(2, "0");

/** How much of a clock time is shown. */
export type Precision = "minute" | "second" | "millisecond";

/** `14:05`, `14:05:09` or `14:05:09.250`. */
export function clock(instantMs: number, zone: string, precision: Precision = "minute"): string {
  const local = wall(instantMs, zone);
  let text = `${two(local.getUTCHours())}:${two(local.getUTCMinutes())}`;
  if (precision !== "minute") text += `:${two(local.getUTCSeconds())}`;
  if (precision === "millisecond") text += `.${String(local.getUTCMilliseconds()).padStart(3, "0")}`;
  return text;
}

/** The local civil date, `2025-11-20`. */
export function dateOf(instantMs: number, zone: string): string {
  return wall(instantMs, zone).toISOString().slice(0, 10);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** `20 Nov`. */
export function shortDate(instantMs: number, zone: string): string {
  const local = wall(instantMs, zone);
  return `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]}`;
}

/** A civil date in words, `Thu 20 Nov 2025`. */
export function longDate(date: string): string {
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime())) return date;
  return `${WEEKDAYS[day.getUTCDay()]} ${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]} ${day.getUTCFullYear()}`;
}

/** The first instant of a civil date. A day whose midnight is skipped by a clock change begins when it begins. */
export function dayStart(date: string, zone: string): number {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const candidates = [midnight - offsetMs(midnight - DAY, zone), midnight - offsetMs(midnight + DAY, zone)];
  const inside = candidates.filter((instant) => dateOf(instant, zone) === date);
  return Math.min(...(inside.length > 0 ? inside : candidates));
}

/** The first instant of a civil date and the first after it: 23, 24 or 25 hours apart. */
export function dayRange(date: string, zone: string): { from: number; to: number } {
  return { from: dayStart(date, zone), to: dayStart(addDays(date, 1), zone) };
}

/** A civil date as an address names it, `2025-11-20`; none when there is no such day, or none that anything is kept of. */
export function civilDate(text: string | null): string | null {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text) || text < "1971-01-01" || text > "2200-12-31") return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) ? text : null;
}

/** A civil date some days later. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);
}

/** The instant at which the wall clock of the zone shows these local milliseconds (as if they were UTC). */
export function instantOf(localMs: number, zone: string): number {
  // The offset is that of an instant, and the instant is what is looked for: the first guess is at most hours off, and
  // within them only a clock change can make a difference.
  const guess = localMs - offsetMs(localMs, zone);
  return localMs - offsetMs(guess, zone);
}

/** A stretch of time in words, `20 Nov 14:00 – 15:30`, as finely as the stretch needs. */
export function rangeText(fromMs: number, toMs: number, zone: string): string {
  const span = toMs - fromMs;
  const precision = span <= 20 * SECOND ? "millisecond" : span <= 20 * 60 * SECOND ? "second" : "minute";
  const [first, last] = [shortDate(fromMs, zone), shortDate(toMs, zone)];
  const end = clock(toMs, zone, precision);
  return `${first} ${clock(fromMs, zone, precision)} – ${first === last ? end : `${last} ${end}`}`;
}
