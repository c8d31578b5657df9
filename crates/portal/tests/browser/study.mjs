// A study as a researcher's script and the patients' apps see it: through the public API, next to the browser.

import { PORTAL } from "./browser.mjs";

const KEY = process.env.PORTAL_KEY;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The password of every patient. */
const PATIENT_PASSWORD = "a password for tests";

/** Calls the API; a status that is not expected ends the test with what the service said. */
export async function api(method, path, body, headers = {}) {
  const answer = await fetch(`${PORTAL}${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

const withKey = { "X-Api-Key": KEY };

export const makeStudy = (name) => api("POST", "/integration/v1/groups", { name, description: "Made by a test" }, withKey);

export const makeVoucher = (code) => api("POST", `/integration/v1/groups/${code}/patients`, {}, withKey);

export const setAlarms = (uuid, alarms) => api("PUT", `/integration/v1/patients/${uuid}/alarms`, { alarms }, withKey);

/** Uses a voucher as the app does; the answer is the patient's token of the Health Cloud. */
export async function activate(voucher, person = {}) {
  const body = { code: voucher, password: PATIENT_PASSWORD, time_zone: "Europe/Zurich", ...person };
  const { token } = await api("POST", "/users/activate", body);
  return (await api("POST", "/health/login", { user_api_token: token })).token;
}

export const sync = (token, data, device) =>
  api("POST", "/health/v1/sync", { time_zone: "Europe/Zurich", data, ...(device ? { device } : {}) }, { Authorization: `Bearer ${token}` });

/** One minute's row of vital signs. */
export function vitals(at, { bpm = 72, resp = 15, spo2 = 97, temp = 36.8, pressure = [124, 78], battery = 71 } = {}) {
  return {
    activity: [
      {
        ...{ timestamp: at, bpm, bpm_q: 4, respiration_rate: resp, resp_q: 4, spo2, spo2_q: 4, core_temp: temp },
        ...{ nibp_systolic_combine: pressure[0], nibp_diastolic_combine: pressure[1], wearing: 4, charging: 0, battery },
      },
    ],
  };
}

/** Hours of a patient's life that end at `end`: a night, steps, an hour off the wrist, one on the charger, one unsent. */
export function hoursOfLife(end, hours, ill = 0) {
  const activity = [];
  const sleep = [];
  const temperature = [];
  const variability = [];
  for (let at = end - hours * HOUR; at < end; at += MINUTE) {
    const ago = (end - at) / HOUR;
    if (ago > 3 && ago < 3.6) continue;
    const wave = (period) => Math.sin((2 * Math.PI * at) / (period * MINUTE));
    const off = ago > 6 && ago < 7;
    const charging = ago > 9 && ago < 9.8;
    const worn = !off && !charging;
    const value = (number) => (worn ? Math.round(number * 10) / 10 : 0);
    const walks = worn && wave(170) > 0.75;
    const night = ago > 10 && ago < 17;
    activity.push({
      ...{ timestamp: at, bpm: Math.round(value(66 + 6 * wave(190) + 3 * wave(7) + (walks ? 35 : 0) - (night ? 9 : 0) + 13 * ill)), bpm_q: worn ? 4 : 0 },
      ...{ respiration_rate: value(15 + 2 * wave(95) + 3.2 * ill), resp_q: worn ? 4 : 0 },
      ...{ spo2: Math.round(value(97 + wave(80) - 1.6 * ill)), spo2_q: worn ? 4 : 0 },
      ...{ core_temp: worn ? 36.7 + 0.3 * wave(1440) + 0.5 * ill : null, last_steps: walks ? Math.round(70 + 30 * wave(9)) : 0 },
      ...{ wearing: worn ? 4 : 0, charging: charging ? 1 : 0, battery: Math.round(Math.max(8, 90 - 3 * (hours - ago) + (ago < 9 ? 40 : 0))) % 101 },
      ...(at % (30 * MINUTE) < MINUTE ? { nibp_systolic_combine: Math.round(value(123 + 8 * wave(400))), nibp_diastolic_combine: Math.round(value(77 + 5 * wave(400))) } : {}),
    });
    if (night) {
      const stage = [1, 2, 2, 1, 3, 1, 0][Math.floor(at / (17 * MINUTE)) % 7];
      sleep.push({ timestamp: at, sleep_state: stage, quality: 4 }, { timestamp: at + MINUTE / 2, sleep_state: stage, quality: 4 });
    }
    if (worn && at % (5 * MINUTE) < MINUTE) {
      temperature.push({ timestamp: at, temp_sk1: 33.1 + 0.6 * wave(300), temp_sk2: 32.6 + 0.5 * wave(280), temp_amb: 24 });
      variability.push({ timestamp: at, si: 110 + 50 * wave(240), si_n: 10, mrr: 880, sdnn: 45, rmssd: 38 });
    }
  }
  return { activity, sleep, temperature, "heart-rate-variability": variability };
}

/** Seconds of ECG, PPG and acceleration from `start`. */
export function waveforms(start, seconds) {
  const samples = (rate, value) => Array.from({ length: seconds * rate }, (_, index) => value((index / rate) * 1000));
  const beat = (ms) => (ms % 870) / 870;
  const ecg = (ms) => {
    const phase = beat(ms);
    const bump = (at, width, height) => height * Math.exp(-((phase - at) ** 2) / (2 * width ** 2));
    return Math.round(1000 * (bump(0.18, 0.025, 0.12) - bump(0.275, 0.008, 0.12) + bump(0.3, 0.011, 1.15) - bump(0.325, 0.01, 0.25) + bump(0.55, 0.045, 0.28))) / 1000;
  };
  return {
    ecg: [{ start, rate_hz: 256, ecg: samples(256, ecg) }],
    ppg2: [{ start, rate_hz: 128, metric_id: "0x7e", led_pd_pos: 6, value: samples(128, (ms) => Math.round(30_000 - 900 * Math.cos(2 * Math.PI * beat(ms)) - 350 * Math.cos(4 * Math.PI * beat(ms)))) }],
    acc: [
      {
        ...{ start, rate_hz: 32, accX: samples(32, (ms) => Math.round(18 * Math.sin(ms / 320))) },
        ...{ accY: samples(32, (ms) => Math.round(498 + 9 * Math.sin(ms / 700))), accZ: samples(32, (ms) => Math.round(70 * Math.sin(ms / 1500))) },
      },
    ],
  };
}

/** Beats of an hour from `start`, the middle third of them irregular. */
export function beats(start) {
  const rows = [];
  let at = start;
  for (let count = 0; at < start + HOUR; count += 1) {
    const third = (at - start) / (HOUR / 3);
    const irregular = third > 1 && third < 2;
    // A sequence that looks random and is the same each time.
    const noise = ((Math.imul(count + 1, 2654435761) >>> 0) / 2 ** 32) * 2 - 1;
    const rr = Math.round(irregular ? 720 + 260 * noise : 850 + 25 * Math.sin(count / 9) + 6 * noise);
    rows.push({ timestamp: at, rr, quality: 4 });
    at += rr;
  }
  return { "rr-interval": rows };
}
