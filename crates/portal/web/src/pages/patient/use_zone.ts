// The zone of a patient on the day that is seen: as the slots of that day show it, for people travel; else as the scores'
// route reports it, else as the slots of a recent summary show it, else the reader's.

import { useEffect, useState } from "preact/hooks";
import { get } from "../../api/client";
import * as paths from "../../api/paths";
import { addDays, dateOf } from "../../charts/zone";
import { type NewsHistory, newsPath } from "./news_history";
import { zoneOfDay, zoneOfSummary } from "./zone_of_summary";

export interface PatientZone {
  zone: string;
  /** Whether it is the patient's and not the reader's. */
  known: boolean;
}

/** Days to look back for a slot. */
const LOOK_BACK = 3;

/** What was found last, to begin with: it is looked for again on every page and day. */
const known = new Map<string, string>();

/** The zone on a date, or, without one, of now. While another is looked for, the one before stays. */
export function usePatientZone(uuid: string, date: string | null): PatientZone | null {
  const [found, setFound] = useState<string | null | undefined>(known.get(uuid));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  useEffect(() => {
    const stop = new AbortController();
    void look(uuid, date, dateOf(Date.now(), own), stop.signal).then((zone) => {
      if (stop.signal.aborted) return;
      if (zone) known.set(uuid, zone);
      setFound(zone);
    });
    return () => stop.abort();
  }, [uuid, date]);
  if (found === undefined) return null;
  return found === null ? { zone: own, known: false } : { zone: found, known: true };
}

async function look(uuid: string, date: string | null, today: string, signal: AbortSignal): Promise<string | null> {
  const [named, ofDay] = await Promise.all([namedZone(uuid, signal), date ? slotZone(uuid, date, signal) : null]);
  if (named || ofDay) return date ? zoneOfDay(named, ofDay, date) : named;
  for (let back = 0; back < LOOK_BACK; back += 1) {
    const zone = await slotZone(uuid, addDays(today, -back), signal);
    if (zone) return zone;
  }
  return null;
}

/** The zone by its name, as it was reported last. */
async function namedZone(uuid: string, signal: AbortSignal): Promise<string | null> {
  const now = Date.now();
  return get<NewsHistory>(newsPath(uuid, { from: now, to: now }), signal).then(
    ({ time_zone: zone }) => zone,
    () => null,
  );
}

/** The offset that the slots of a day show. */
async function slotZone(uuid: string, date: string, signal: AbortSignal): Promise<string | null> {
  return get(paths.summary(uuid, date), signal).then(zoneOfSummary, () => null);
}
