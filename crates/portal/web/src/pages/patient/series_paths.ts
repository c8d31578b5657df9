// The requests that a view makes. Codes such as sleep stages are asked for finer than lines: a line loses nothing when
// it is drawn as lowest and highest of a pixel, a hypnogram is best with its rows as they are.

import { PORTAL } from "../../api/paths";
import type { Range } from "../../charts/range";

const FINE_POINTS = 3000;

/** Which request a signal belongs to. */
function requestOf(name: string): "lines" | "sleep" | "news" {
  const type = name.split(".")[0];
  return type === "sleep" || type === "news" ? type : "lines";
}

/** The addresses to read; gaps come with each. */
export function seriesPaths(uuid: string, names: string[], range: Range, points: number): string[] {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(requestOf(name), [...(groups.get(requestOf(name)) ?? []), name]);
  return [...groups].map(([request, wanted]) => {
    const count = request === "lines" ? Math.max(points, 50) : Math.max(points, FINE_POINTS);
    const series = wanted.map((name) => `series[]=${encodeURIComponent(name)}`).join("&");
    return `${PORTAL}/patients/${encodeURIComponent(uuid)}/series?from=${range.from}&to=${range.to}&points=${count}&${series}`;
  });
}
