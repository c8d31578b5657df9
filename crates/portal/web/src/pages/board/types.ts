// A row of the ward board, as the service sends it: first in one answer for all patients, then one by one.

/** A value and when it was measured. */
export interface Reading {
  value: number;
  timestamp: number;
}

/** A blood pressure; its halves can come from different measurements, the time is the older one's. */
export interface Pressure {
  systolic: number | null;
  diastolic: number | null;
  timestamp: number;
}

/** The colour band of a score. */
export type NewsColour = "none" | "low" | "medium" | "high";

/** A part of the score that is a vital sign. */
export type NewsPart = "respiration_rate" | "spo2" | "blood_pressure" | "heart_rate" | "temperature";

/** The early warning score of a patient; `score` is null while parts are missing. */
export interface NewsReading {
  score: number | null;
  timestamp: number;
  missing: string[];
  /** Measured, and too poorly to count. */
  low_quality: string[];
  stale: string[];
  colour: NewsColour;
  red_parameter: boolean;
  /** Points of each vital sign; null for one that did not count. */
  parts?: Record<NewsPart, number | null>;
}

/** Slots of the last hours: `from + index · step_ms`. */
export interface Spark {
  step_ms: number;
  from: number;
  heart_rate: (number | null)[];
  spo2: (number | null)[];
  respiration_rate: (number | null)[];
}

/** One patient. */
export interface Row {
  uuid: string;
  name: string;
  external_id?: string;
  heart_rate: Reading | null;
  respiration_rate: Reading | null;
  spo2: Reading | null;
  temperature: Reading | null;
  blood_pressure: Pressure | null;
  news: NewsReading | null;
  battery: { percent: number; timestamp: number } | null;
  worn: boolean | null;
  charging: boolean | null;
  last_sync: number | null;
  spark: Spark | null;
  /** True where something stored of the patient is damaged. */
  unreadable?: boolean;
}

/** The whole board. */
export interface BoardAnswer {
  at: number;
  patients: Row[];
}
