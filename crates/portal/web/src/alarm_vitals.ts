// The vital signs that alarms can watch, with the words for people.

export const VITALS = [
  { value: "heart_rate", text: "Heart rate", unit: "/min" },
  { value: "respiration_rate", text: "Respiration rate", unit: "/min" },
  { value: "spo2", text: "SpO₂", unit: "%" },
  { value: "temperature", text: "Temperature", unit: "°C" },
  { value: "nibp_systolic", text: "Systolic pressure", unit: "mmHg" },
  { value: "nibp_diastolic", text: "Diastolic pressure", unit: "mmHg" },
  { value: "news_score", text: "NEWS score", unit: "points" },
];
