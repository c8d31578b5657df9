// The router: which page an address means, and moving between addresses without loading the page. The address is the
// only state: `useAddress` reports it, and a plain <a href> is enough to go somewhere.

import { useEffect, useState } from "preact/hooks";

/** The path's named parts, decoded. */
export type Params = Record<string, string>;

export interface Address {
  path: string;
  query: URLSearchParams;
}

/** The named parts of `path` when it has the shape of `pattern` (`/studies/:code`), else null. */
export function matchPath(pattern: string, path: string): Params | null {
  const wanted = partsOf(pattern);
  const given = partsOf(path);
  if (wanted.length !== given.length) return null;
  const params: Params = {};
  for (let i = 0; i < wanted.length; i++) {
    if (!wanted[i].startsWith(":")) {
      if (wanted[i] !== given[i]) return null;
      continue;
    }
    const value = decoded(given[i]);
    if (value === null) return null;
    params[wanted[i].slice(1)] = value;
  }
  return params;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** The address of a path whose query has `changes` applied: null or "" takes a key out. */
export function withQuery(path: string, query: URLSearchParams, changes: Record<string, string | null>): string {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(key);
    else next.set(key, value);
  }
  const text = next.toString();
  return text === "" ? path : `${path}?${text}`;
}

const listeners = new Set<() => void>();
let steps = 0;
/** When a move within the page went on last; none since another step. */
let movedAtMs = -Infinity;

/** A move within a page at once, or a part of one. */
export type Move = "whole" | "part";

/** Parts of a move that follow one another faster are one: the turns of a wheel, a key that is held. */
const ONE_MOVE_MS = 700;

/** Whether the page that is shown is the one that the portal was opened at. */
export function isFirstPage(): boolean {
  return steps === 0;
}

/** Goes to an address of the portal. `replace` leaves no step to come back to, e.g. for a changed filter. */
export function navigate(to: string, options: { replace?: boolean } = {}): void {
  steps++;
  movedAtMs = -Infinity;
  if (options.replace) history.replaceState(null, "", to);
  else {
    history.pushState(null, "", to);
    scrollTo(0, 0);
  }
  for (const listener of listeners) listener();
}

export function currentAddress(): Address {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** The address, again whenever it changes. */
export function useAddress(): Address {
  const [address, setAddress] = useState(currentAddress);
  useEffect(() => {
    const update = () => setAddress(currentAddress());
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  return address;
}

/** Changes the query of the page that is shown, without a new step in the history. */
export function setQuery(changes: Record<string, string | null>): void {
  const { path, query } = currentAddress();
  navigate(withQuery(path, query, changes), { replace: true });
}

/**
 * Changes the query of the page that is shown as a step that "back" undoes, e.g. for a zoom. The page stays where it is
 * scrolled to. A part of a move that has begun before is no step of its own.
 */
export function stepQuery(changes: Record<string, string | null>, move: Move = "whole"): void {
  const { path, query } = currentAddress();
  const to = withQuery(path, query, changes);
  if (to === location.pathname + location.search) return;
  const nowMs = Date.now();
  if (move === "whole" || nowMs - movedAtMs > ONE_MOVE_MS) history.pushState(null, "", location.href);
  navigate(to, { replace: true });
  if (move === "part") movedAtMs = nowMs;
}

/** Lets every plain link within the portal go through the router. Called once. */
export function listenForLinks(): void {
  addEventListener("popstate", () => {
    steps++;
    movedAtMs = -Infinity;
    for (const listener of listeners) listener();
  });
  document.addEventListener("click", (event) => {
    const to = ownLink(event);
    if (to === null) return;
    event.preventDefault();
    navigate(to);
  });
}

function ownLink(event: MouseEvent): string | null {
  if (event.defaultPrevented || event.button !== 0) return null;
  // Another tab, another window, a download: that is the browser's to do.
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null;
  const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return null;
  if (link.getAttribute("href")!.startsWith("#") || !isPage(link.pathname)) return null;
  return link.pathname + link.search + link.hash;
}

/** Whether an address of this server is a page of the portal and not the API's. */
function isPage(path: string): boolean {
  return !/^\/(integration|users|health|docs|openapi\.json|portal)(\/|$)/.test(path);
}
