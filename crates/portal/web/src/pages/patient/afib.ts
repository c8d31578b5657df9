// What an AF record says, in words and tone.

import * as paths from "../../api/paths";

/** A record as the AF export answers it. */
export interface AfRecord {
  _id: string;
  timestamp: number;
  classification: string;
  final_probability: number;
  heart_rate: number | null;
  rmssd: number | null;
  pnn50: number | null;
  good_ibi_number: number | null;
  has_image_file: boolean;
}

const WORDS: Record<string, string> = { NSR: "Sinus rhythm", AF: "Atrial fibrillation", UNC: "Unclassified" };

export function afText(classification: string): string {
  return WORDS[classification] ?? classification;
}

export function afTone({ classification }: AfRecord): "good" | "bad" | "plain" {
  return classification === "AF" ? "bad" : classification === "NSR" ? "good" : "plain";
}

/** The address of a record's strip. */
export function stripPath(uuid: string, { _id }: AfRecord): string {
  return `${paths.patient(uuid)}/afib/${encodeURIComponent(_id)}/strip.svg`;
}
