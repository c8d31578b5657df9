// What an audit entry says besides, as one line.

/** "types: activity, ecg; format: csv"; empty when nothing is there (also after an erasure). */
export function detailsText(details: Record<string, unknown> | null | undefined): string {
  if (!details) return "";
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${valueText(value)}`)
    .join("; ");
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
