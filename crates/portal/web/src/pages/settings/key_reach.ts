// Which studies an API key opens. A key keeps the codes that it is confined to after their studies are deleted or their
// owner has left them; it opens none of those.

import type { ApiKey, Group } from "../../api/types";

export type KeyReach = { kind: "all" } | { kind: "some"; open: string[]; gone: string[] };

/** `mine` are the studies of the key's owner; null while they are not known, and nothing is called gone then. */
export function reachOf({ groups }: Pick<ApiKey, "groups">, mine: Group[] | null): KeyReach {
  if (!groups?.length) return { kind: "all" };
  const isGone = (code: string) => mine !== null && !mine.some((study) => study.code === code);
  return { kind: "some", open: groups.filter((code) => !isGone(code)), gone: groups.filter(isGone) };
}

/** A reach in words. */
export function reachText(reach: KeyReach): string {
  if (reach.kind === "all") return "all of mine";
  const open = reach.open.join(" ");
  if (reach.gone.length === 0) return open;
  const gone = `${reach.gone.join(" ")} no longer yours`;
  return open ? `${open} (${gone})` : `opens nothing: ${gone}`;
}
