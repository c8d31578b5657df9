// What the compliance routes answer.

/** Patients by day. */
export interface GroupCompliance {
  days: string[];
  patients: {
    uuid: string;
    name: string;
    percent: (number | null)[];
    received: (number | null)[];
    expected: (number | null)[];
  }[];
}

/** Types by hour of a patient's local day: 23, 24 or 25 hours. */
export interface DayCompliance {
  hours: number;
  types: { type: string; received: number[]; expected: number[] }[];
}
