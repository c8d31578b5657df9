// The types of raw data, with the words for people.

export const DATA_TYPES = [
  { value: "activity", text: "Activity" },
  { value: "rr-interval", text: "RR intervals" },
  { value: "sleep", text: "Sleep" },
  { value: "temperature", text: "Temperature" },
  { value: "heart-rate-variability", text: "Heart rate variability" },
  { value: "tests", text: "Tests" },
  { value: "ppg1", text: "PPG 1 (waveform)" },
  { value: "ppg2", text: "PPG 2 (waveform)" },
  { value: "bioz", text: "Bioimpedance (waveform)" },
  { value: "acc", text: "Acceleration (waveform)" },
  { value: "ecg", text: "ECG (waveform)" },
];

/** What alarms can watch. */
export const VITALS = [
  { value: "heart_rate", text: "Heart rate", unit: "/min" },
  { value: "respiration_rate", text: "Respiration rate", unit: "/min" },
  { value: "spo2", text: "SpO₂", unit: "%" },
  { value: "temperature", text: "Temperature", unit: "°C" },
  { value: "nibp_systolic", text: "Systolic pressure", unit: "mmHg" },
  { value: "nibp_diastolic", text: "Diastolic pressure", unit: "mmHg" },
  { value: "news_score", text: "NEWS score", unit: "points" },
];
