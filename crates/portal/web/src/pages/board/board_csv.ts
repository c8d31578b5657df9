// The board as CSV: one line for each patient, times in UTC.

import type { Cell } from "../../csv";
import { riskOf, riskText, UNREADABLE_TEXT } from "./news";
import type { Row } from "./types";

const VITALS = ["heart_rate", "respiration_rate", "spo2", "temperature"] as const;

export const BOARD_CSV_HEADER = [
  "uuid",
  "name",
  "external_patient_id",
  "news_score",
  "news_risk",
  "news_score_timestamp",
  "news_missing",
  "news_low_quality",
  ...VITALS.flatMap((vital) => [vital, `${vital}_timestamp`]),
  "nibp_systolic",
  "nibp_diastolic",
  "nibp_timestamp",
  "battery_level",
  "worn",
  "charging",
  "last_sync",
  "unreadable",
];

export function boardCsvRow(row: Row): Cell[] {
  const { news, blood_pressure: pressure } = row;
  return [
    row.uuid,
    row.name,
    row.external_id,
    news?.score,
    row.unreadable ? UNREADABLE_TEXT : news && riskText(riskOf(news)),
    time(news?.timestamp),
    news?.missing.join(" "),
    news?.low_quality.join(" "),
    ...VITALS.flatMap((vital) => [row[vital]?.value, time(row[vital]?.timestamp)]),
    pressure?.systolic,
    pressure?.diastolic,
    time(pressure?.timestamp),
    row.battery?.percent,
    row.worn,
    row.charging,
    time(row.last_sync),
    row.unreadable === true,
  ];
}

function time(at: number | null | undefined): string {
  return at == null ? "" : new Date(at).toISOString();
}
