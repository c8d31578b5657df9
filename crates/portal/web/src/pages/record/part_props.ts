// What each part of the record is given.

import type { Patient } from "../../api/types";

export interface PartProps {
  code: string;
  patient: Patient;
  /** Whether one may change it. */
  may: boolean;
  onChanged: () => void;
}
