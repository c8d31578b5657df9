// Which studies an API key opens. A key keeps the codes that it is confined to after their studies are deleted or their
// owner has left them; it opens none of those.

import type { ApiKey, Group } from "../../api/types";

export type KeyReach = { kind: "all" } | { kind: "some"; open: string[]; gone: string[] };

/** `mine` are the studies of the key's owner; null while they are not known, and nothing is called gone then. */
export function reachOf({ is_scoped, groups }: Pick<ApiKey, "is_scoped" | "groups">, mine: Group[] | null): KeyReach {
  if (!is_scoped) return { kind: "all" };
  const codes = groups ?? [];
  const isGone = (code: string) => mine !== null && !mine.some((study) => study.code === code);
  return { kind: "some", open: codes.filter((code) => !isGone(code)), gone: codes.filter(isGone) };
}

/** A reach in words. */
export function reachText(reach: KeyReach): string {
  if (reach.kind === "all") return "all of mine";
  const open = reach.open.join(" ");
  if (reach.gone.length === 0) return open || "opens nothing: its studies are gone";
  const gone = `${reach.gone.join(" ")} no longer yours`;
  return open ? `${open} (${gone})` : `opens nothing: ${gone}`;
}
