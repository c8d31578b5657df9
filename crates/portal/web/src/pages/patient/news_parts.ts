// The parts of a score as rows.

/** The answer of latest-news-score. */
export interface NewsScore {
  timestamp: number;
  value: number | null;
  age_s: number;
  assumed: string[];
  missing: { parameter: string; reason: string; age_s: number | null }[];
  movement_level?: number | null;
  [part: string]: unknown;
}

/** One part: what was measured, how old it was when the score was made, what it scores. */
export interface NewsPart {
  name: string;
  label: string;
  value: string;
  unit: string;
  ageMs: number | null;
  score: number | null;
}

const MEASURED: [string, string, string, number][] = [
  ["respiration_rate", "Respiration", "/min", 0],
  ["spo2", "SpO₂", "%", 0],
  ["blood_pressure", "Systolic BP", "mmHg", 0],
  ["heart_rate", "Heart rate", "/min", 0],
  ["temperature", "Temperature", "°C", 1],
];

/** All parts, in the order of the chart of the guidance. */
export function newsParts(news: NewsScore): NewsPart[] {
  const measured = MEASURED.map(([name, label, unit, decimals]) => {
    const value = number(news[name]);
    const at = number(news[`${name}_timestamp`]);
    return {
      name,
      label,
      unit: value === null ? "" : unit,
      value: value === null ? "–" : value.toFixed(decimals),
      ageMs: at === null ? null : Math.max(0, news.timestamp - at),
      score: number(news[`score_${name}`]),
    };
  });
  const set = (name: string, label: string): NewsPart => {
    const score = number(news[`score_${name}`]);
    return { name, label, unit: "", value: SET[name]![score === 0 ? 0 : 1]!, ageMs: null, score };
  };
  return [
    ...measured.slice(0, 2),
    set("oxygen", "Oxygen"),
    ...measured.slice(2, 4),
    set("consciousness", "Consciousness"),
    measured[4]!,
  ];
}

const SET: Record<string, [string, string]> = { oxygen: ["air", "oxygen"], consciousness: ["alert", "not alert"] };

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
