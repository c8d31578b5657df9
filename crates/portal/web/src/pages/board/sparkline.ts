// The last hours of a vital as one SVG path: one element for each row, however many slots, so that a screenful of rows
// costs little. A missing slot breaks the line; a lone slot is a dot.

/** The path of a row of slots in a box; empty when there is no value. */
export function sparkPath(values: (number | null)[], width: number, height: number, least = 8): string {
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return "";
  let [low, high] = [Math.min(...known), Math.max(...known)];
  // A steady value is a flat line and not noise blown up to the height of the row.
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const x = (index: number) => round((index / Math.max(values.length - 1, 1)) * width);
  const y = (value: number) => round(height - ((value - low) / (high - low)) * height);
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const joined = index > 0 && values[index - 1] !== null;
    const alone = !joined && (values[index + 1] ?? null) === null;
    path += `${joined ? "L" : "M"}${x(index)} ${y(value)}`;
    if (alone) path += "h.01";
  });
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A sparkline in words. */
export function sparkText(values: (number | null)[], label: string): string {
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return `${label}: no values in the last hours`;
  const last = known[known.length - 1]!;
  return `${label} of the last hours: ${Math.round(Math.min(...known))} to ${Math.round(Math.max(...known))}, last ${Math.round(last)}`;
}
