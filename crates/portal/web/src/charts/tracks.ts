// The tracks of a patient's day: which signals of the series route each draws, and how. Names are those of the data types
// and columns; a signal that a bracelet never sends leaves its track out.

import { unitOf } from "../data_columns";
import { DATA_TYPES, type DataType } from "../data_types";

/** How the values of a track are drawn. */
export type Drawing = "line" | "bars" | "points" | "hypnogram" | "step" | "parts";

/** A signal of a track. `channel` is left out where a type has one, or where every channel is meant. */
export interface Signal {
  name: string;
  label: string;
  /** The colour token without its dashes. */
  colour: string;
}

/** A chart of its own, stacked with the others over the same time. */
export interface Track {
  id: string;
  label: string;
  unit: string;
  decimals: number;
  signals: Signal[];
  drawing: Drawing;
  /** The usual distance of two rows; much more than that is a break. */
  usualMs: number;
  /** A row holds until the next one, however far that is; the series itself says where it ends. */
  holds?: boolean;
  /** The least stretch of the value axis, so that a steady value is a flat line. */
  leastSpan: number;
  heightPx: number;
  /** Stretch of the value axis that never changes. */
  fixed?: [number, number];
}

const MINUTE = 60_000;
const usual = { decimals: 0, drawing: "line" as const, usualMs: MINUTE, leastSpan: 20, heightPx: 96 };

/** Vitals, steps, sleep, stress and score, from top to bottom. */
export const VITAL_TRACKS: Track[] = [
  {
    ...usual,
    id: "heart_rate",
    label: "Heart rate",
    unit: unitOf("activity.bpm"),
    signals: [{ name: "activity.bpm", label: "Heart rate", colour: "signal-heart-rate" }],
    heightPx: 132,
    leastSpan: 40,
  },
  {
    ...usual,
    id: "respiration_rate",
    label: "Respiration",
    unit: unitOf("activity.respiration_rate"),
    signals: [{ name: "activity.respiration_rate", label: "Respiration", colour: "signal-respiration-rate" }],
    leastSpan: 10,
  },
  {
    ...usual,
    id: "spo2",
    label: "SpO₂",
    unit: unitOf("activity.spo2"),
    signals: [{ name: "activity.spo2", label: "SpO₂", colour: "signal-spo2" }],
    leastSpan: 10,
  },
  {
    ...usual,
    id: "temperature",
    label: "Temperature",
    unit: unitOf("activity.core_temp"),
    decimals: 1,
    signals: [
      { name: "activity.core_temp", label: "Core", colour: "signal-temperature" },
      { name: "temperature.temp_sk1", label: "Skin 1", colour: "signal-skin" },
      { name: "temperature.temp_sk2", label: "Skin 2", colour: "signal-skin-2" },
    ],
    leastSpan: 3,
    usualMs: 5 * MINUTE,
  },
  {
    ...usual,
    id: "blood_pressure",
    label: "Blood pressure",
    unit: unitOf("activity.nibp_systolic_combine"),
    signals: [
      { name: "activity.nibp_systolic_combine", label: "Systolic", colour: "signal-blood-pressure" },
      { name: "activity.nibp_diastolic_combine", label: "Diastolic", colour: "signal-diastolic" },
    ],
    leastSpan: 60,
    usualMs: 35 * MINUTE,
  },
  {
    ...usual,
    id: "news",
    label: "NEWS",
    unit: "",
    signals: [{ name: "news.value", label: "NEWS", colour: "signal-news" }],
    drawing: "step",
    holds: true,
    leastSpan: 7,
  },
  {
    ...usual,
    id: "news_parts",
    label: "NEWS sub-scores",
    unit: "",
    signals: [
      ["respiration_rate", "Resp."],
      ["spo2", "SpO₂"],
      ["oxygen", "Oxygen"],
      ["blood_pressure", "BP"],
      ["heart_rate", "HR"],
      ["consciousness", "Consc."],
      ["temperature", "Temp."],
    ].map(([part, label]) => ({ name: `news.score_${part}`, label: label!, colour: "signal-news" })),
    drawing: "parts",
    holds: true,
    heightPx: 118,
  },
  {
    ...usual,
    id: "steps",
    label: "Steps",
    unit: "per record",
    signals: [{ name: "activity.last_steps", label: "Steps", colour: "signal-steps" }],
    drawing: "bars",
    heightPx: 72,
  },
  {
    ...usual,
    id: "sleep",
    label: "Sleep stages",
    unit: "",
    signals: [{ name: "sleep.sleep_state", label: "Stage", colour: "sleep-light" }],
    drawing: "hypnogram",
    usualMs: MINUTE / 2,
    fixed: [-0.5, 3.5],
    heightPx: 92,
  },
  {
    ...usual,
    id: "stress",
    label: "Stress index",
    unit: "",
    signals: [{ name: "heart-rate-variability.si", label: "Stress index", colour: "signal-stress" }],
    usualMs: 5 * MINUTE,
    leastSpan: 50,
  },
];

const waveform = { ...usual, leastSpan: 0, usualMs: 0, heightPx: 132 };

/** Raw signals whose words are worth choosing. */
const CHOSEN_WAVEFORMS: Track[] = [
  {
    ...waveform,
    id: "ecg",
    label: "ECG",
    unit: unitOf("ecg.ecg"),
    decimals: 3,
    signals: [{ name: "ecg.ecg", label: "ECG", colour: "signal-waveform" }],
  },
  {
    ...waveform,
    id: "ppg2",
    label: "PPG",
    unit: unitOf("ppg2.value"),
    signals: [{ name: "ppg2.value", label: "PPG", colour: "signal-waveform" }],
  },
  {
    ...waveform,
    id: "ppg1",
    label: "PPG (25 Hz)",
    unit: unitOf("ppg1.ppg"),
    signals: [{ name: "ppg1.ppg", label: "PPG", colour: "signal-waveform" }],
  },
  {
    ...waveform,
    id: "acc",
    label: "Acceleration",
    unit: unitOf("acc.accX"),
    signals: [
      { name: "acc.accX", label: "x", colour: "signal-x" },
      { name: "acc.accY", label: "y", colour: "signal-y" },
      { name: "acc.accZ", label: "z", colour: "signal-z" },
    ],
  },
];

const AXES = ["signal-x", "signal-y", "signal-z"];

/** A waveform as its declaration has it: a line for each signal. */
function declaredTrack({ value, text, columns }: DataType): Track {
  const signals = Object.entries(columns).filter(([, { isSignal }]) => isSignal);
  const [, first] = signals[0]!;
  return {
    ...waveform,
    id: value,
    label: text.replace(" (waveform)", ""),
    unit: first.unit,
    decimals: first.decimals,
    signals: signals.map(([column], at) => ({
      name: `${value}.${column}`,
      label: column,
      colour: signals.length > 1 ? AXES[at % AXES.length]! : "signal-waveform",
    })),
  };
}

const isChosen = ({ value }: DataType) => CHOSEN_WAVEFORMS.some(({ id }) => id === value);

/** Raw signals, down to single samples: those of all waveforms. */
export const WAVEFORM_TRACKS: Track[] = [
  ...CHOSEN_WAVEFORMS,
  ...DATA_TYPES.filter((type) => type.isWaveform && !isChosen(type)).map(declaredTrack),
];

/** The order of the hypnogram from the bottom: deep, light, REM, awake. */
export const STAGES = ["Deep", "Light", "REM", "Awake"] as const;

// 0 awake, 1 light, 2 deep, 3 REM in the data.
const LEVELS = [3, 1, 0, 2];

/** The height of a stage code in the hypnogram. */
export function stageLevel(code: number): number {
  return LEVELS[code] ?? 3;
}
