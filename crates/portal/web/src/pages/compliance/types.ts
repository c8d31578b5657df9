// What the compliance routes answer.

/** A patient's heart-rate data by day; null where nothing is known. */
export interface PatientDays {
  uuid: string;
  name: string;
  percent: (number | null)[];
  received: (number | null)[];
  expected: (number | null)[];
  /** True where what the days are counted by is damaged. */
  unreadable?: boolean;
}

/** Patients by day. */
export interface GroupCompliance {
  days: string[];
  patients: PatientDays[];
}

/** Types by hour of a patient's local day: 23, 24 or 25 hours. */
export interface DayCompliance {
  hours: number;
  types: { type: string; received: number[]; expected: number[] }[];
}
