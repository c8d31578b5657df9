// The zone of a patient: as the scores' route tells it, else as the slots of a recent summary show it, else the reader's.

import { useEffect, useState } from "preact/hooks";
import { get } from "../../api/client";
import * as paths from "../../api/paths";
import { addDays, dateOf } from "../../charts/zone";
import { type NewsHistory, newsPath } from "./news_history";
import { zoneOfSummary } from "./zone_of_summary";

export interface PatientZone {
  zone: string;
  /** Whether it is the patient's and not the reader's. */
  known: boolean;
}

/** Days to look back for a slot. */
const LOOK_BACK = 3;

const known = new Map<string, string>();

export function usePatientZone(uuid: string): PatientZone | null {
  const [found, setFound] = useState<string | null | undefined>(known.get(uuid));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  useEffect(() => {
    if (found !== undefined) return;
    const stop = new AbortController();
    void look(uuid, dateOf(Date.now(), own), stop.signal).then((zone) => {
      if (stop.signal.aborted) return;
      if (zone) known.set(uuid, zone);
      setFound(zone);
    });
    return () => stop.abort();
  }, [uuid]);
  if (found === undefined) return null;
  return found === null ? { zone: own, known: false } : { zone: found, known: true };
}

async function look(uuid: string, today: string, signal: AbortSignal): Promise<string | null> {
  try {
    const now = Date.now();
    const { time_zone: zone } = await get<NewsHistory>(newsPath(uuid, { from: now, to: now }), signal);
    if (zone) return zone;
  } catch {
    // The slots may tell.
  }
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
