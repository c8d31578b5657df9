// The studies of whoever is signed in, read once and shared by the pages and the header, which show their names.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api/client";
import { useConnection } from "./api/connection";
import * as paths from "./api/paths";
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
  listeners.forEach((listener) => listener(held));
}

/** Reads the studies again, after one was made, changed or deleted. */
export function reloadStudies(): Promise<void> {
  reading ??= get<Group[]>(paths.groups())
    .then(
      (groups) => become({ groups, error: null }),
      (error: Error) => become({ ...held, error }),
    )
    .finally(() => (reading = null));
  return reading;
}

/** Forgets what was read, for the next person. */
export function forgetStudies(): void {
  become({ groups: null, error: null });
}

export function useStudies(): Held & { reload: () => void } {
  const [now, setNow] = useState(held);
  const { epoch } = useConnection();
  useEffect(() => {
    listeners.add(setNow);
    setNow(held);
    if (held.groups === null || held.error) void reloadStudies();
    return () => void listeners.delete(setNow);
  }, [epoch]);
  return { ...now, reload: () => void reloadStudies() };
}

/** One study by its code; null while it is read, and when there is none. */
export function useStudy(code: string | undefined): Group | null {
  const { groups } = useStudies();
  return groups?.find((group) => group.code === code) ?? null;
}
