// Which patients the table of compliance shows, and in which order.

import { compareText, holdsAll, wordsOf } from "../../words";
import type { PatientDays } from "./types";

/** Those who sent least first, or by name. */
export type PatientOrder = "least" | "name";

/** Patients whose name holds the words of `text`, in order. The given list stays as it is. */
export function arrangedPatients(patients: PatientDays[], text: string, order: PatientOrder): PatientDays[] {
  const words = wordsOf(text);
  const found = patients.filter((one) => holdsAll(one.name, words));
  // Taken once for each patient and not once for each comparison.
  const keyed = found.map((one) => ({ one, share: order === "least" ? meanShare(one.percent) : 0 }));
  keyed.sort((left, right) => left.share - right.share || compareText(left.one.name, right.one.name));
  return keyed.map(({ one }) => one);
}

/** The mean of the known days in percent. Those who were to send nothing are first: there may be no bracelet yet. */
function meanShare(percent: (number | null)[]): number {
  const known = percent.filter((value): value is number => value !== null);
  return known.length === 0 ? -1 : known.reduce((sum, value) => sum + value, 0) / known.length;
}
