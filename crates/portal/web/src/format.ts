// Numbers, times and ages as the pages write them: local time, 24-hour clock, ages like "4 min", a dash for nothing.

export const NOTHING = "–";

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const CLOCK_SECONDS = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

type Time = number | string | null | undefined;

function dateOf(time: Time): Date | null {
  if (time === null || time === undefined || time === "") return null;
  // A day alone is read as midnight in UTC, which west of Greenwich is the day before: a birthday has no zone.
  const isDay = typeof time === "string" && /^\d{4}-\d\d-\d\d$/.test(time);
  const date = new Date(isDay ? `${time}T00:00` : time);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** Precision of a time as shown. */
export type Fineness = "minute" | "second";

/** "14:05", or "14:05:09" to the second. */
export function clock(time: Time, fineness: Fineness = "minute"): string {
  const date = dateOf(time);
  if (!date) return NOTHING;
  return (fineness === "second" ? CLOCK_SECONDS : CLOCK).format(date);
}

/** "22 Nov 2026". */
export function day(time: Time): string {
  const date = dateOf(time);
  return date ? DAY.format(date) : NOTHING;
}

/** "22 Nov 2026, 14:05", or "22 Nov 2026, 14:05:09" to the second. */
export function dayAndClock(time: Time, fineness: Fineness = "minute"): string {
  const date = dateOf(time);
  return date ? `${DAY.format(date)}, ${clock(time, fineness)}` : NOTHING;
}

/** How long ago: "now", "4 min", "3 h", "2 d". What lies ahead is "now" as well. */
export function age(time: Time, now: number = Date.now()): string {
  const date = dateOf(time);
  return date ? duration(now - date.getTime()) : NOTHING;
}

/** A length of time in its largest unit: "now" below a minute, "59 min", "23 h", "6 d". */
export function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / (24 * 60))} d`;
}

/** "4 min ago", "now". */
export function ago(time: Time, now: number = Date.now()): string {
  const text = age(time, now);
  return text === "now" || text === NOTHING ? text : `${text} ago`;
}

/** A number with so many decimals, groups of thousands apart by a thin space; a dash for none. */
export function number(value: number | null | undefined, decimals = 0): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  const sign = value < 0 && Number(value.toFixed(decimals)) !== 0 ? "−" : "";
  return sign + grouped + (rest ? `.${rest}` : "");
}

/** "1 patient", "3 patients". */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${number(amount)} ${amount === 1 ? one : many}`;
}

/** A local day as the API writes it: "2026-11-22". */
export function isoDay(date: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The day `days` after (or, negative, before) a day "2026-11-22". */
export function shiftDay(isoDate: string, days: number): string {
  const [year, month, dayOfMonth] = isoDate.split("-").map(Number);
  return isoDay(new Date(year, month - 1, dayOfMonth + days));
}

/** What a patient is called on the screen: name, else the customer's id, else a piece of the uuid; never a voucher's code. */
export function patientName(patient: {
  uuid: string;
  first_name?: string;
  last_name?: string;
  external_patient_id?: string;
}): string {
  const name = [patient.first_name, patient.last_name].filter(Boolean).join(" ");
  return name || patient.external_patient_id || patient.uuid.slice(0, 8);
}

/** Full years since a birthday "1980-02-29"; null without one, and for one that is still to come. */
export function yearsOld(birthday: string | null | undefined, now: Date = new Date()): number | null {
  const parts = birthday?.split("-").map(Number);
  if (parts?.length !== 3 || parts.some(Number.isNaN)) return null;
  const [year, month, dayOfMonth] = parts;
  const before = now.getMonth() + 1 < month || (now.getMonth() + 1 === month && now.getDate() < dayOfMonth);
  const years = now.getFullYear() - year - (before ? 1 : 0);
  return years < 0 ? null : years;
}
