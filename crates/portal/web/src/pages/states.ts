// What a patient's state means for the lists.

import type { Patient } from "../api/types";

/** Whether somebody has used the voucher. Until then it is a voucher, with a code that opens an account, and no patient. */
export function hasBegun(patient: Patient): boolean {
  return patient.state !== "pre_created";
}
