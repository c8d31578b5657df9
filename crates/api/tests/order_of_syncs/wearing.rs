//! A made-up day of a patient: every kind of row that a formula treats in its own way, in two time zones.

use std::ops::Range;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use crate::common::START_MS;

const MINUTE_US: i64 = 60_000_000;
const DAY_US: i64 = 1440 * MINUTE_US;
/// How far the data reach beyond the present.
pub const AHEAD_MS: i64 = 20 * 60_000;
/// Samples of a waveform block: 8 s at 128 Hz.
const BLOCK: i64 = 1024;

/// A row.
#[derive(Clone, Debug)]
pub struct Sample {
    pub data_type: &'static str,
    pub time_us: i64,
    /// The zone of the phone at that time.
    pub zone: &'static str,
    /// Its columns but for the time.
    pub cells: Map<String, Value>,
}

/// What a bracelet has to send.
pub struct Wearing {
    pub samples: Vec<Sample>,
    /// Time at which the waveform begins.
    pub waveform_us: i64,
}

impl Wearing {
    /// Makes a day that ends a little after the present.
    pub fn of(random: &mut ChaCha8Rng) -> Self {
        let mut day =
            Day { samples: Vec::new(), travel_us: START_MS * 1000 - random.random_range(2..20) * 60 * MINUTE_US };
        day.activity(random);
        day.temperature(random);
        day.tests(random);
        day.earlier_tests(random);
        day.beats(random);
        day.sleep(random);
        day.variability(random);
        let waveform_us = day.photoplethysmogram(random);
        Wearing { samples: day.samples, waveform_us }
    }
}

struct Day {
    samples: Vec<Sample>,
    /// Time at which the patient arrives in another zone.
    travel_us: i64,
}

const BEGIN_US: i64 = (START_MS - 24 * 3_600_000) * 1000;
const END_US: i64 = (START_MS + AHEAD_MS) * 1000;

impl Day {
    fn push(&mut self, data_type: &'static str, time_us: i64, cells: Value) {
        let zone = if time_us < self.travel_us { "Europe/Zurich" } else { "Asia/Kathmandu" };
        let Value::Object(cells) = cells else { unreachable!() };
        self.samples.push(Sample { data_type, time_us, zone, cells });
    }

    fn activity(&mut self, random: &mut ChaCha8Rng) {
        let (mut time_us, mut bpm, mut worn) = (BEGIN_US + random.random_range(0..MINUTE_US), 70, true);
        while time_us < END_US {
            bpm = (bpm + random.random_range(-6..=6)).clamp(38, 190);
            worn ^= random.random_bool(0.02);
            let cells = json!({
                "bpm": measured(random, bpm..bpm + 1, 1),
                "bpm_q": random.random_range(0..=4),
                "last_steps": random.random_range(0..120),
                "activity_type": ([0, 1, 2, 4, 6, 7][random.random_range(0..6)]),
                "speed": random.random_range(0..40),
                "energy_exp": random.random_range(0..9000),
                "respiration_rate": measured(random, 80..280, 10),
                "resp_q": random.random_range(0..=4),
                "spo2": measured(random, 850..1000, 10),
                "spo2_q": random.random_range(0..=4),
                "wearing": if worn { json!(random.random_range(1..=4)) } else { json!(0) },
                "charging": i32::from(!worn && random.random_bool(0.5)),
                "battery": random.random_range(5..=100),
                "core_temp": measured(random, 3550..3950, 100),
                "nibp_systolic": measured(random, 85..190, 1),
                "nibp_diastolic": measured(random, 50..110, 1),
                "gait_speed": f64::from(random.random_range(0..2000)) / 1000.0,
                "hta": if random.random_bool(0.1) { json!("raised, \"maybe\"") } else { Value::Null },
                "distance": if random.random_bool(0.1) { json!(random.random_range(0..90)) } else { Value::Null },
            });
            self.push("activity", time_us, cells);
            time_us += random.random_range(1..5) * MINUTE_US - random.random_range(0..1000) * 1000;
        }
    }

    fn temperature(&mut self, random: &mut ChaCha8Rng) {
        let mut time_us = BEGIN_US + random.random_range(0..MINUTE_US);
        while time_us < END_US {
            let cells = json!({"temp_sk1": measured(random, 2800..3700, 100), "temp_sk2": measured(random, 2800..3700, 100),
                "temp_amb": 21.5});
            self.push("temperature", time_us, cells);
            time_us += random.random_range(1..9) * MINUTE_US;
        }
    }

    fn tests(&mut self, random: &mut ChaCha8Rng) {
        for _ in 0..random.random_range(3..14) {
            let time_us = random.random_range(BEGIN_US / 1000..END_US / 1000) * 1000;
            let (kind, value, unit) = match random.random_range(0..5) {
                0 => ("heart_rate", json!(random.random_range(45..140)), Value::Null),
                1 => ("spo2", json!(random.random_range(88..100)), json!("%")),
                2 => ("temperature", json!(f64::from(random.random_range(3550..3950)) / 100.0), json!("°C")),
                3 => ("glucose", json!(5.25), json!("mmol/L")),
                _ => {
                    let systolic =
                        json!({"test_type": "blood_pressure_systolic", "value": random.random_range(95..170)});
                    self.push("tests", time_us, systolic);
                    ("blood_pressure_diastolic", json!(random.random_range(55..100)), Value::Null)
                }
            };
            let note = if random.random_bool(0.3) { json!("sitting") } else { Value::Null };
            let quality = random.random_range(2..=4);
            let cells = json!({"test_type": kind, "value": value, "unit": unit, "quality": quality, "note": note});
            self.push("tests", time_us, cells);
        }
    }

    /// Two kinds of measurement that begin together on a day, and of which one goes on longer: ranges of one type that
    /// begin alike. Weeks before them something else, so that they are left for a later derivation.
    fn earlier_tests(&mut self, random: &mut ChaCha8Rng) {
        let together = |time_us: i64, random: &mut ChaCha8Rng| {
            [("heart_rate", random.random_range(45..140)), ("spo2", random.random_range(88..100))]
                .map(|(kind, value)| (time_us, kind, value))
        };
        let weeks_before = together(BEGIN_US - random.random_range(10..30) * DAY_US, random);
        let the_day_before = together(BEGIN_US - random.random_range(400..600) * MINUTE_US, random);
        let alone = (BEGIN_US - 100 * MINUTE_US, "spo2", random.random_range(80..88));
        for (time_us, kind, value) in weeks_before.into_iter().chain(the_day_before).chain([alone]) {
            self.push("tests", time_us, json!({"test_type": kind, "value": value, "quality": 4}));
        }
    }

    fn beats(&mut self, random: &mut ChaCha8Rng) {
        let mut time_us = BEGIN_US + random.random_range(0..20) * 60 * MINUTE_US;
        for _ in 0..400 {
            let rr_us = random.random_range(400_000..1_400_000);
            time_us += rr_us;
            self.push(
                "rr-interval",
                time_us,
                json!({"rr": rr_us as f64 / 1000.0, "quality": random.random_range(0..=4)}),
            );
        }
    }

    fn sleep(&mut self, random: &mut ChaCha8Rng) {
        let begin_us = BEGIN_US + random.random_range(0..12) * 60 * MINUTE_US;
        for epoch in 0..240 {
            let cells = json!({"sleep_state": random.random_range(0..=3), "quality": random.random_range(0..=4)});
            self.push("sleep", begin_us + epoch * MINUTE_US / 2, cells);
        }
    }

    fn variability(&mut self, random: &mut ChaCha8Rng) {
        for part in 0..20 {
            let cells = json!({"rmssd": f64::from(random.random_range(9000..90_000)) / 1000.0, "pnn50": 12.345});
            self.push("heart-rate-variability", BEGIN_US + part * 60 * MINUTE_US, cells);
        }
    }

    /// Two colours at 128 Hz over the same time. Two samples are 15.625 ms, so every second time is a whole µs.
    fn photoplethysmogram(&mut self, random: &mut ChaCha8Rng) -> i64 {
        let begin_us = BEGIN_US + random.random_range(0..1400) * MINUTE_US;
        for colour in ["0x7e", "0x7c"] {
            for index in 0..BLOCK {
                let time_us = begin_us + (index * 15_625 + 1) / 2;
                let cells = json!({"metric_id": colour, "led_pd_pos": 6, "quality": 3,
                    "value": random.random_range(29_000..31_000)});
                self.push("ppg2", time_us, cells);
            }
        }
        begin_us
    }
}

/// Returns a value out of a range of fractions of its unit; now and then none, or the 0 that means none.
fn measured(random: &mut ChaCha8Rng, range: Range<i32>, per_unit: i32) -> Value {
    match random.random_range(0..12) {
        0 => Value::Null,
        1 => json!(0),
        _ => json!(f64::from(random.random_range(range)) / f64::from(per_unit)),
    }
}
