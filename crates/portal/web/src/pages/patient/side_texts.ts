// Texts of the panels next to the charts.

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
