// The zone of a patient: as the series tell it, else as the slots of a recent summary show it, else the reader's own.

import { useEffect, useState } from "preact/hooks";
import { get } from "../../api/client";
import * as paths from "../../api/paths";
import { addDays, dateOf } from "../../charts/zone";
import { zoneOfSummary } from "./zone_of_summary";

export interface PatientZone {
  zone: string;
  /** Whether it is the patient's and not the reader's. */
  known: boolean;
}

/** Days to look back for a slot. */
const LOOK_BACK = 3;

const known = new Map<string, string>();

/** Remembers what an answer told. */
export function rememberZone(uuid: string, zone: string | undefined): void {
  if (zone) known.set(uuid, zone);
}

export function usePatientZone(uuid: string, told: string | undefined): PatientZone | null {
  const [found, setFound] = useState<string | null | undefined>(known.get(uuid));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  useEffect(() => {
    if (found !== undefined) return;
    const stop = new AbortController();
    void look(uuid, dateOf(Date.now(), own), stop.signal).then((zone) => {
      if (stop.signal.aborted) return;
      rememberZone(uuid, zone ?? undefined);
      setFound(zone);
    });
    return () => stop.abort();
  }, [uuid]);
  if (told) return { zone: told, known: true };
  if (found === undefined) return null;
  return found === null ? { zone: own, known: false } : { zone: found, known: true };
}

async function look(uuid: string, today: string, signal: AbortSignal): Promise<string | null> {
  for (let back = 0; back < LOOK_BACK; back += 1) {
    try {
      const zone = zoneOfSummary(await get(paths.summary(uuid, addDays(today, -back)), signal));
      if (zone) return zone;
    } catch {
      return null;
    }
  }
  return null;
}
