// What an audit entry says besides, as one line.

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
  if (time && typeof value === "number") return `${words(time[1])}: ${new Date(value).toISOString().slice(0, 16).replace("T", " ")}`;
  return `${words(name)}: ${valueText(value)}`;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
