// The patient's offset from UTC as a daily summary shows it: its slots carry both the instant and the local time.

import { dayRange, knownZone, offsetMs } from "../../charts/zone";

/** `UTC+02:00`, from the first slot that has it; none when there is none. */
export function zoneOfSummary(summary: unknown): string | null {
  if (typeof summary !== "object" || summary === null) return null;
  const { date } = summary as { date?: unknown };
  if (typeof date !== "string") return null;
  for (const section of Object.values(summary)) {
    if (typeof section !== "object" || section === null) continue;
    for (const slots of Object.values(section)) {
      const first = Array.isArray(slots)
        ? (slots[0] as { timestamp?: unknown; date?: unknown } | undefined)
        : undefined;
      if (typeof first?.timestamp === "number" && typeof first.date === "string") {
        return offsetZone(Date.parse(`${date}T${first.date}:00Z`) - Math.floor(first.timestamp / 60_000) * 60_000);
      }
    }
  }
  return null;
}

/** The zone of a day: the named one if the slots agree with it, for it knows when clocks change; else what the slots show. */
export function zoneOfDay(named: string | null, ofDay: string | null, date: string): string | null {
  if (!named || !ofDay) return named ?? ofDay;
  const { from, to } = dayRange(date, knownZone(named));
  const shown = offsetMs(from, ofDay);
  return [from, to - 1].some((at) => offsetMs(at, knownZone(named)) === shown) ? named : ofDay;
}

function offsetZone(offsetMs: number): string | null {
  const minutes = Math.round(offsetMs / 60_000);
  if (!Number.isFinite(minutes) || Math.abs(minutes) > 15 * 60) return null;
  const two = (number: number) => String(number).padStart(2, "0");
  return `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}
