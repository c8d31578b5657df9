// The studies of the person who is signed in, read once and shared by the pages and the header, which show their names.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api/client";
import { useConnection } from "./api/connection";
import * as paths from "./api/paths";
import { whenPersonChanges } from "./api/session";
import type { Group } from "./api/types";

interface Held {
  groups: Group[] | null;
  error: Error | null;
}

let held: Held = { groups: null, error: null };
let reading: Promise<void> | null = null;
const listeners = new Set<(now: Held) => void>();

function become(next: Held): void {
  held = next;
  for (const listener of listeners) listener(held);
}

/** Reads the studies again, after one was made, changed or deleted. Of several readings the last one counts. */
export function reloadStudies(): Promise<void> {
  const counts = () => reading === mine;
  const mine: Promise<void> = get<Group[]>(paths.groups()).then(
    (groups) => void (counts() && become({ groups, error: null })),
    (error: Error) => void (counts() && become({ ...held, error })),
  );
  reading = mine;
  return mine.finally(() => {
    if (counts()) reading = null;
  });
}

whenPersonChanges(() => {
  reading = null;
  held = { groups: null, error: null };
});

export function useStudies(): Held & { reload: () => void } {
  const [now, setNow] = useState(held);
  const { epoch } = useConnection();
  useEffect(() => {
    listeners.add(setNow);
    setNow(held);
    if (!reading && (held.groups === null || held.error)) void reloadStudies();
    return () => void listeners.delete(setNow);
  }, [epoch]);
  return { ...now, reload: () => void reloadStudies() };
}

/** One study by its code; null while it is read, and when there is none. */
export function useStudy(code: string | undefined): Group | null {
  const { groups } = useStudies();
  return groups?.find((group) => group.code === code) ?? null;
}
