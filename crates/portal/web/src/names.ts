// Who or what an id is: the API's lists and logs name patients, accounts, studies and bracelets by their ids only. Read once from
// the studies that one can see, kept as long as the page is open, and forgotten with it.

import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "./api/client";
import * as paths from "./api/paths";
import { useOwnSession } from "./api/session";
import type { Bracelet, Hcp, Patient } from "./api/types";
import { patientName } from "./format";
import { useStudies } from "./studies";

export interface Names {
  /** What is known under an id, else the id's beginning. */
  of: (id: string) => string;
  isKnown: (id: string) => boolean;
  /** The code of a study that holds a patient. */
  studyOf: (uuid: string) => string | null;
}

/** More studies than this are not searched for names. */
const MOST_STUDIES = 20;

export function useNames(): Names {
  const { account } = useOwnSession();
  const { groups } = useStudies();
  const [found, setFound] = useState({ names: new Map<string, string>(), studies: new Map<string, string>() });

  useEffect(() => {
    if (!groups) return;
    const stop = new AbortController();
    void readNames(
      groups.slice(0, MOST_STUDIES).map((group) => group.code),
      stop.signal,
    ).then((read) => !stop.signal.aborted && setFound(read));
    return () => stop.abort();
  }, [groups]);

  return useMemo(() => {
    const names = new Map(found.names);
    for (const group of groups ?? []) names.set(group.id, group.name);
    names.set(account.uuid, account.email);
    return {
      of: (id) => names.get(id) ?? (id.length > 12 ? `${id.slice(0, 8)}…` : id),
      isKnown: (id) => names.has(id),
      studyOf: (uuid) => found.studies.get(uuid) ?? null,
    };
  }, [found, groups, account]);
}

async function readNames(codes: string[], signal: AbortSignal) {
  const names = new Map<string, string>();
  const studies = new Map<string, string>();
  const lists = codes.map(async (code) => {
    // Not the code of a voucher that is not used yet: it opens an account, and a log is read by many.
    const fields = "fields[]=first_name&fields[]=last_name&fields[]=external_patient_id";
    const patients = await get<Patient[]>(`${paths.patients(code)}?${fields}`, signal).catch(() => []);
    for (const patient of patients) {
      names.set(patient.uuid, patientName(patient));
      studies.set(patient.uuid, code);
    }
    const members = await get<Hcp[]>(paths.hcps(code), signal).catch(() => []);
    for (const member of members) names.set(member.uuid, member.email);
  });
  const bracelets = await get<Bracelet[]>(paths.bracelets(), signal).catch(() => []);
  for (const { id, serial_number } of bracelets) if (id) names.set(id, serial_number);
  await Promise.all(lists);
  return { names, studies };
}
