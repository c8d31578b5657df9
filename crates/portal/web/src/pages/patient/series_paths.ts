// The requests that a view makes. Codes such as sleep stages are asked for finer than lines: a line loses nothing when
// it is drawn as lowest and highest of a pixel, a hypnogram is best with its rows as they are.

import { PORTAL } from "../../api/paths";
import type { Range } from "../../charts/range";

const FINE_POINTS = 3000;

/**
 * The addresses to read; gaps come with each. They are read by the clock, too, so none of them is a sign of anybody being
 * there: that is decided by a touch of the page.
 */
export function seriesPaths(uuid: string, names: string[], range: Range, points: number): string[] {
  const sleep = names.filter((name) => name.startsWith("sleep."));
  const lines = names.filter((name) => !name.startsWith("sleep."));
  const path = (wanted: string[], count: number) => {
    const series = wanted.map((name) => `series[]=${encodeURIComponent(name)}`).join("&");
    return `${PORTAL}/patients/${encodeURIComponent(uuid)}/series?from=${range.from}&to=${range.to}&points=${count}&peek=1&${series}`;
  };
  return [
    ...(lines.length > 0 ? [path(lines, Math.max(points, 50))] : []),
    ...(sleep.length > 0 ? [path(sleep, Math.max(points, FINE_POINTS))] : []),
  ];
}
