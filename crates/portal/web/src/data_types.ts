// The types of raw data with their columns of numbers, made of the declarations of the service: docs/data-types.md says how.
// `UPDATE_GENERATED=1 cargo test -p vitals --test generated` writes this file again.

export interface DataColumn {
  unit: string;
  decimals: number;
  /** What means "no value" in the data. */
  noValue?: number;
  /** Differs from sample to sample of a waveform, and does not only accompany the signal. */
  isSignal?: boolean;
}

export interface DataType {
  value: string;
  text: string;
  isWaveform: boolean;
  columns: Record<string, DataColumn>;
}

export const DATA_TYPES: DataType[] = [
  {
    value: "activity",
    text: "Activity",
    isWaveform: false,
    columns: {
      bpm: { unit: "/min", decimals: 0, noValue: 0 },
      bpm_q: { unit: "", decimals: 0 },
      last_steps: { unit: "steps", decimals: 0 },
      activity_type: { unit: "", decimals: 0 },
      speed: { unit: "0.1 m/s", decimals: 0 },
      skin_proximity: { unit: "", decimals: 0 },
      energy_exp: { unit: "cal", decimals: 0 },
      respiration_rate: { unit: "/min", decimals: 1, noValue: 0 },
      resp_q: { unit: "", decimals: 0 },
      spo2: { unit: "%", decimals: 1, noValue: 0 },
      spo2_q: { unit: "", decimals: 0 },
      wearing: { unit: "", decimals: 0 },
      charging: { unit: "", decimals: 0 },
      battery: { unit: "%", decimals: 0 },
      core_temp: { unit: "°C", decimals: 2, noValue: 0 },
      gait_asymmetry: { unit: "%", decimals: 3 },
      gait_speed: { unit: "m/s", decimals: 3 },
      gait_var: { unit: "%", decimals: 3 },
      cardiac_arrest: { unit: "", decimals: 0 },
      nibp_systolic: { unit: "mmHg", decimals: 0, noValue: 0 },
      nibp_diastolic: { unit: "mmHg", decimals: 0, noValue: 0 },
      nibp_systolic_long_term: { unit: "mmHg", decimals: 0, noValue: 0 },
      nibp_diastolic_long_term: { unit: "mmHg", decimals: 0, noValue: 0 },
      nibp_systolic_combine: { unit: "mmHg", decimals: 0, noValue: 0 },
      nibp_diastolic_combine: { unit: "mmHg", decimals: 0, noValue: 0 },
      hta_q: { unit: "", decimals: 0 },
    },
  },
  {
    value: "rr-interval",
    text: "RR intervals",
    isWaveform: false,
    columns: {
      rr: { unit: "ms", decimals: 3 },
      quality: { unit: "", decimals: 0 },
    },
  },
  {
    value: "sleep",
    text: "Sleep",
    isWaveform: false,
    columns: {
      sleep_state: { unit: "", decimals: 0 },
      quality: { unit: "", decimals: 0 },
    },
  },
  {
    value: "temperature",
    text: "Temperature",
    isWaveform: false,
    columns: {
      temp_sk1: { unit: "°C", decimals: 2 },
      temp_sk2: { unit: "°C", decimals: 2 },
      temp_amb: { unit: "°C", decimals: 2 },
    },
  },
  {
    value: "heart-rate-variability",
    text: "Heart rate variability",
    isWaveform: false,
    columns: {
      si: { unit: "", decimals: 3 },
      si_n: { unit: "", decimals: 3 },
      mrr: { unit: "ms", decimals: 3 },
      sdnn: { unit: "ms", decimals: 3 },
      rmssd: { unit: "ms", decimals: 3 },
      pnn50: { unit: "%", decimals: 3 },
      vlf: { unit: "ms²", decimals: 3 },
      vlf_percent: { unit: "%", decimals: 3 },
      lf: { unit: "ms²", decimals: 3 },
      lf_percent: { unit: "%", decimals: 3 },
      hf: { unit: "ms²", decimals: 3 },
      hf_percent: { unit: "%", decimals: 3 },
      hrv: { unit: "ms", decimals: 3 },
      mo: { unit: "s", decimals: 3 },
      amo: { unit: "%", decimals: 3 },
    },
  },
  {
    value: "ppg1",
    text: "PPG 1 (waveform)",
    isWaveform: true,
    columns: {
      ppg: { unit: "counts", decimals: 0, isSignal: true },
      acc: { unit: "1/64 g", decimals: 0, isSignal: true },
      accx: { unit: "1/64 g", decimals: 0, isSignal: true },
      accy: { unit: "1/64 g", decimals: 0, isSignal: true },
      accz: { unit: "1/64 g", decimals: 0, isSignal: true },
      bpm: { unit: "/min", decimals: 0, noValue: 0 },
      bpm_q: { unit: "", decimals: 0 },
    },
  },
  {
    value: "ppg2",
    text: "PPG 2 (waveform)",
    isWaveform: true,
    columns: {
      chunk_index: { unit: "", decimals: 0 },
      quality: { unit: "", decimals: 0 },
      body_pose: { unit: "", decimals: 0 },
      led_pd_pos: { unit: "", decimals: 0 },
      offset: { unit: "counts", decimals: 0 },
      exp: { unit: "", decimals: 0 },
      led: { unit: "", decimals: 0 },
      gain: { unit: "", decimals: 0 },
      value: { unit: "counts", decimals: 0, isSignal: true },
    },
  },
  {
    value: "bioz",
    text: "Bioimpedance (waveform)",
    isWaveform: true,
    columns: {
      chunk_index: { unit: "", decimals: 0 },
      value: { unit: "counts", decimals: 0, isSignal: true },
    },
  },
  {
    value: "acc",
    text: "Acceleration (waveform)",
    isWaveform: true,
    columns: {
      chunk_index: { unit: "", decimals: 0 },
      quality: { unit: "", decimals: 0 },
      body_pose: { unit: "", decimals: 0 },
      accX: { unit: "1/512 g", decimals: 0, isSignal: true },
      accY: { unit: "1/512 g", decimals: 0, isSignal: true },
      accZ: { unit: "1/512 g", decimals: 0, isSignal: true },
    },
  },
  {
    value: "ecg",
    text: "ECG (waveform)",
    isWaveform: true,
    columns: {
      chunk_index: { unit: "", decimals: 0 },
      value: { unit: "counts", decimals: 0, isSignal: true },
      ecg: { unit: "mV", decimals: 3, isSignal: true },
    },
  },
  {
    value: "tests",
    text: "Tests",
    isWaveform: false,
    columns: {
      value: { unit: "as unit", decimals: 3 },
      quality: { unit: "", decimals: 0 },
    },
  },
  {
    value: "eda",
    text: "Skin conductance (waveform)",
    isWaveform: true,
    columns: {
      eda: { unit: "µS", decimals: 4, isSignal: true },
      quality: { unit: "", decimals: 0 },
    },
  },
  {
    value: "gyro",
    text: "Rotation (waveform)",
    isWaveform: true,
    columns: {
      x: { unit: "°/s", decimals: 3, isSignal: true },
      y: { unit: "°/s", decimals: 3, isSignal: true },
      z: { unit: "°/s", decimals: 3, isSignal: true },
      quality: { unit: "", decimals: 0 },
    },
  },
];
