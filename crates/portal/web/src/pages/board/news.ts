// NEWS2 (Royal College of Physicians, 2017) in colour and in words. The words carry the meaning, the colour repeats it:
// nobody has to distinguish amber from red. A score counts for 30 minutes and is shown greyed after that, never hidden.

import type { NewsReading } from "./types";

/** The band of clinical risk that a total represents. */
export type Risk = "low" | "low-medium" | "medium" | "high" | "unknown";

/** Age above which a score is greyed. */
export const STALE_AFTER_MS = 30 * 60_000;

/** 0–4 low, any single 3 low–medium, 5–6 medium, 7 and more high. */
export function riskOf({ score, red_parameter }: Pick<NewsReading, "score" | "red_parameter">): Risk {
  if (score == null) return "unknown";
  if (score >= 7) return "high";
  if (score >= 5) return "medium";
  return red_parameter ? "low-medium" : "low";
}

const WORDS: Record<Risk, string> = {
  low: "Low",
  "low-medium": "Low–medium",
  medium: "Medium",
  high: "High",
  unknown: "No score",
};

/** Represents the band where the stored data of a patient are damaged. */
export const UNREADABLE_TEXT = "Cannot be read";

/** What the guidance asks for at each band. */
const RESPONSES: Record<Risk, string> = {
  low: "ward-based response",
  "low-medium": "one parameter scores 3: urgent ward-based review",
  medium: "urgent response",
  high: "emergency response",
  unknown: "a part of the score is missing",
};

/** The band in words. */
export function riskText(risk: Risk): string {
  return WORDS[risk];
}

/** The response that the guidance names. */
export function responseText(risk: Risk): string {
  return RESPONSES[risk];
}

const PARAMETERS: Record<string, string> = {
  heart_rate: "heart rate",
  respiration_rate: "respiration",
  spo2: "SpO₂",
  temperature: "temperature",
  blood_pressure: "blood pressure",
  nibp_systolic: "blood pressure",
  spo2_scale: "SpO₂ scale",
  oxygen: "oxygen",
  consciousness: "consciousness",
};

/** Parts of the score in words. */
export function parametersText(names: string[]): string {
  return names.map((name) => PARAMETERS[name] ?? name.replaceAll("_", " ")).join(", ");
}

/** A score as a cell shows it. */
export interface NewsShown {
  risk: Risk;
  score: string;
  word: string;
  /** What is shown under it: parts that are missing, poorly measured or outdated. */
  note: string;
  stale: boolean;
}

/** Reads a score at an instant. */
export function shownNews(news: NewsReading | null, nowMs: number): NewsShown {
  if (!news) return { risk: "unknown", score: "–", word: WORDS.unknown, note: "", stale: false };
  const risk = riskOf(news);
  const notes: string[] = [];
  // Without a total this would be seen nowhere else.
  if (news.score == null && news.red_parameter) notes.push("a part scores 3");
  if (news.missing.length > 0) notes.push(`no ${parametersText(news.missing)}`);
  if (news.low_quality.length > 0) notes.push(`poor ${parametersText(news.low_quality)}`);
  if (news.stale.length > 0) notes.push(`old ${parametersText(news.stale)}`);
  return {
    risk,
    score: news.score == null ? "–" : String(news.score),
    word: WORDS[risk],
    note: notes.join("; "),
    stale: nowMs - news.timestamp > STALE_AFTER_MS,
  };
}
