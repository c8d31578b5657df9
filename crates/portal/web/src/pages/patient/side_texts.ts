// Texts of the panels beside the charts.

import type { Alarm } from "../../api/types";
import { lengthText } from "../../charts/range";

const VITALS: Record<string, string> = {
  heart_rate: "Heart rate",
  respiration_rate: "Respiration",
  spo2: "SpO₂",
  temperature: "Temperature",
  nibp_systolic: "Systolic pressure",
  nibp_diastolic: "Diastolic pressure",
  news_score: "NEWS2",
};

/** `Heart rate below 40 or above 130 for 5 min`. */
export function alarmText({ vital, below, above, for_s }: Alarm): string {
  const limits = [below == null ? "" : `below ${below}`, above == null ? "" : `above ${above}`].filter(Boolean);
  const lasting = for_s > 0 ? ` for ${lengthText(for_s * 1000)}` : "";
  return `${VITALS[vital] ?? vital} ${limits.join(" or ")}${lasting}`;
}

/** Whole years since a birthday. */
export function ageYears(birthday: string, nowMs: number): number {
  const [born, now] = [new Date(birthday), new Date(nowMs)];
  const years = now.getUTCFullYear() - born.getUTCFullYear();
  const before = now.getUTCMonth() * 32 + now.getUTCDate() < born.getUTCMonth() * 32 + born.getUTCDate();
  return before ? years - 1 : years;
}
