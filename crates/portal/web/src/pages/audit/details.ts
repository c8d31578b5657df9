// What an audit entry says besides, as one line.

import { dayAndClock } from "../../format";

/** "types: activity, ecg; format: csv"; empty when nothing is there (also after an erasure). */
export function detailsText(details: Record<string, unknown> | null | undefined): string {
  if (!details) return "";
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => entryText(name, value))
    .join("; ");
}

/** Times are written as such: local ones are milliseconds of the patient's clock, not of UTC. */
function entryText(name: string, value: unknown): string {
  const time = /^(.*)_local_ms$/.exec(name);
  if (time && typeof value === "number")
    return `${words(time[1])}: ${new Date(value).toISOString().slice(0, 16).replace("T", " ")}`;
  return `${words(name)}: ${valueText(value)}`;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).filter(([, part]) => part !== null);
    return parts.map(([name, part]) => `${words(name)} ${valueText(part)}`).join(" ");
  }
  return isTime(value) ? dayAndClock(value, "second") : String(value);
}

/** Whether a number is a Unix time in ms, between 2001 and 2096. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && value > 1e12 && value < 4e12;
}
