//! What the sensors make of the truth: as many samples as promised, in their ranges, and with the truth to be found in
//! them.

use bracelet::signals::acc::acceleration;
use bracelet::signals::bioz::bioimpedance;
use bracelet::signals::ecg::ecg;
use bracelet::signals::eda::{level_us, responses, skin_conductance};
use bracelet::signals::gyro::rotation;
use bracelet::signals::hrv::hrv_rows;
use bracelet::signals::ppg::ppg;
use bracelet::signals::rr::{BLOCK_MS, BeatBlock, rr_intervals};
use bracelet::{Column, Course, DataType, HOUR_MS, MINUTE_MS, Patient, Scenario, SignalRates, SyncBody, Wear, Window};

use crate::common::{DAY_MS, MIDNIGHT_MS, course, mean, patient};

/// Three o'clock: every patient of these tests sleeps.
const NIGHT_S: i64 = MIDNIGHT_MS / 1_000 + 3 * 3_600;

/// Power of `values` at a frequency, by the definition of a Fourier sum about their mean.
fn power_at(values: &[f64], rate_hz: f64, frequency_hz: f64) -> f64 {
    let centre = mean(values);
    let (mut cosine, mut sine) = (0.0, 0.0);
    for (number, value) in (0..).zip(values) {
        let angle = std::f64::consts::TAU * frequency_hz * f64::from(number) / rate_hz;
        cosine += (value - centre) * angle.cos();
        sine += (value - centre) * angle.sin();
    }
    (cosine * cosine + sine * sine) / (values.len() * values.len()) as f64
}

/// Returns the frequency of most power among breaths of 6 to 36 per minute, per minute.
fn dominant_breath(values: &[f64], rate_hz: f64) -> f64 {
    let candidates = (60..360).map(|tenth| f64::from(tenth) / 10.0);
    candidates
        .max_by(|one, other| power_at(values, rate_hz, one / 60.0).total_cmp(&power_at(values, rate_hz, other / 60.0)))
        .unwrap()
}

/// Means of parts of a second, `per_second` of them.
fn by_second(values: &[u16], rate_hz: usize, per_second: usize) -> Vec<f64> {
    let part = rate_hz / per_second;
    values.chunks(part).map(|part| mean(&part.iter().map(|v| f64::from(*v)).collect::<Vec<_>>())).collect()
}

#[test]
fn every_waveform_has_as_many_samples_as_its_rate_says() {
    let patient = patient(0, Scenario::Healthy);
    let course = course(&patient);
    for (from_s, seconds) in [(NIGHT_S, 1), (NIGHT_S + 7, 13), (NIGHT_S + 295, 10), (NIGHT_S, 0)] {
        let to_s = from_s + seconds;
        let expected = |rate: u32| seconds as usize * rate as usize;
        for rate in [16, 25, 128] {
            assert_eq!(bioimpedance(&course, rate, from_s, to_s).len(), expected(rate));
            assert_eq!(ecg(&course, rate, from_s, to_s).len(), expected(rate));
            assert_eq!(skin_conductance(&course, rate, from_s, to_s).len(), expected(rate));
            assert!(ppg(&course, rate, from_s, to_s).values.iter().all(|colour| colour.len() == expected(rate)));
            assert!(acceleration(&course, rate, from_s, to_s).axes.iter().all(|axis| axis.len() == expected(rate)));
            assert!(rotation(&course, rate, from_s, to_s).axes.iter().all(|axis| axis.len() == expected(rate)));
        }
    }
}

#[test]
fn a_signal_at_another_rate_shows_the_same_body() {
    let patient = patient(1, Scenario::Healthy);
    let course = course(&patient);
    let at = |rate_hz: u32| by_second(&bioimpedance(&course, rate_hz, NIGHT_S, NIGHT_S + 60), rate_hz as usize, 1);
    for (slow, fast) in at(25).iter().zip(at(100)) {
        assert!((slow - fast).abs() < 30.0, "{slow} at 25 Hz, {fast} at 100 Hz, of a breath of 600");
    }
}

#[test]
fn breathing_is_found_in_light_and_in_impedance_at_its_true_rate() {
    for index in 0..4 {
        for scenario in [Scenario::Healthy, Scenario::Deteriorating] {
            let patient = patient(index, scenario);
            let course = course(&patient);
            // A whole block, of which the breaths are known.
            let block = BeatBlock::new(&course, NIGHT_S * 1_000 / BLOCK_MS);
            let truth = (block.breaths_ms.len() - 1) as f64 / 5.0;
            let impedance = by_second(&bioimpedance(&course, 25, NIGHT_S, NIGHT_S + 300), 25, 5);
            let found = dominant_breath(&impedance, 5.0);
            assert!((found - truth).abs() < 1.5, "{scenario} {index}: {found} in the impedance, in truth {truth}");
            let [_, _, infra_red] = &ppg(&course, 25, NIGHT_S, NIGHT_S + 300).values;
            let found = dominant_breath(&by_second(infra_red, 25, 5), 5.0);
            assert!((found - truth).abs() < 1.5, "{scenario} {index}: {found} in the light, in truth {truth}");
        }
    }
}

#[test]
fn the_heart_is_found_in_the_light_at_its_true_rate() {
    for index in 0..4 {
        let patient = patient(index, Scenario::Healthy);
        let course = course(&patient);
        let block = BeatBlock::new(&course, NIGHT_S * 1_000 / BLOCK_MS);
        let truth = (block.beats_ms.len() - 1) as f64 / 5.0;
        let green: Vec<f64> =
            ppg(&course, 25, NIGHT_S, NIGHT_S + 300).values[0].iter().map(|value| f64::from(*value)).collect();
        let power = |bpm: f64| (-3..=3).map(|off| power_at(&green, 25.0, (bpm + f64::from(off)) / 60.0)).sum::<f64>();
        let candidates = (40..120).map(f64::from);
        let found = candidates.max_by(|one, other| power(*one).total_cmp(&power(*other))).unwrap();
        assert!((found - truth).abs() < 5.0, "{index}: {found}, in truth {truth}");
    }
}

#[test]
fn light_impedance_and_potential_stay_in_the_range_of_their_sensor() {
    for (index, scenario) in (0..).zip(Scenario::ALL) {
        let patient = patient(index, scenario);
        let course = course(&patient);
        for hour in [3, 9, 17] {
            let from_s = MIDNIGHT_MS / 1_000 + hour * 3_600;
            let light = ppg(&course, 25, from_s, from_s + 120);
            for (values, base) in light.values.iter().zip([30_000.0, 38_000.0, 42_000.0]) {
                let share = |value: &u16| f64::from(*value) / base;
                assert!(values.iter().all(|value| (0.9..1.1).contains(&share(value))), "{scenario} {hour}");
            }
            assert!(bioimpedance(&course, 25, from_s, from_s + 120).iter().all(|z| (19_000..21_000).contains(z)));
            let potential = ecg(&course, 128, from_s, from_s + 60);
            let highest = potential.iter().copied().fold(f32::MIN, f32::max);
            let lowest = potential.iter().copied().fold(f32::MAX, f32::min);
            assert!((0.5..3.0).contains(&highest) && (-1.5..0.0).contains(&lowest), "{scenario}: {lowest} {highest}");
        }
    }
}

#[test]
fn skin_conducts_more_in_effort_and_less_asleep() {
    for index in 0..6 {
        let patient = patient(index, Scenario::Healthy);
        let course = course(&patient);
        let first = MIDNIGHT_MS / MINUTE_MS;
        let (mut asleep, mut awake) = (Vec::new(), Vec::new());
        for minute in (first..first + 1_440).step_by(3) {
            let level = level_us(&course, minute);
            assert!((2.0..=20.0).contains(&level), "{level}");
            if course.minute(minute).stage.is_some() { asleep.push(level) } else { awake.push(level) }
        }
        assert!(mean(&asleep) < 0.9 * mean(&awake), "{index}: {} asleep, {} awake", mean(&asleep), mean(&awake));
        let count = |hour: i64| {
            let from_ms = MIDNIGHT_MS + hour * HOUR_MS;
            responses(&course, from_ms, from_ms + HOUR_MS).len()
        };
        assert!(count(3) < count(13), "{index}: {} responses by night, {} by day", count(3), count(13));
    }
}

#[test]
fn responses_of_the_skin_in_two_windows_are_those_of_the_whole() {
    let patient = patient(3, Scenario::Healthy);
    let course = course(&patient);
    let (from_ms, to_ms) = (MIDNIGHT_MS + 13 * HOUR_MS, MIDNIGHT_MS + 14 * HOUR_MS);
    let whole = responses(&course, from_ms, to_ms);
    for cut_ms in [from_ms + 1, from_ms + 20 * MINUTE_MS, from_ms + 1_234_567] {
        let mut joined = responses(&course, from_ms, cut_ms);
        joined.extend(responses(&course, cut_ms, to_ms));
        assert_eq!(joined, whole);
    }
    assert!(whole.len() > 60 && whole.is_sorted_by_key(|response| response.onset_ms));
    assert!(whole.iter().all(|response| (0.03..=0.6).contains(&response.amplitude_us)));
}

/// Share of successive intervals that differ by more than an eighth.
fn uneven_share(course: &Course, hour: i64) -> f64 {
    let from_ms = MIDNIGHT_MS + hour * HOUR_MS;
    let rows = rr_intervals(course, from_ms, from_ms + HOUR_MS);
    let ratios = rows.windows(2).map(|pair| pair[1].rr_ms as f64 / pair[0].rr_ms as f64);
    let uneven = ratios.filter(|ratio| (ratio - 1.0).abs() > 0.125).count();
    uneven as f64 / rows.len() as f64
}

#[test]
fn fibrillation_begins_at_its_onset_and_makes_the_heart_fast_and_uneven() {
    for index in 0..3 {
        let onset_ms = MIDNIGHT_MS + 13 * HOUR_MS;
        let reported = Patient::new(83, index, Scenario::AtrialFibrillation, onset_ms, "UTC").unwrap();
        let twin = Patient::new(83, index, Scenario::Healthy, onset_ms, "UTC").unwrap();
        let (course_of_reported, course_of_twin) = (course(&reported), course(&twin));
        for hour in [2, 12] {
            assert!(uneven_share(&course_of_reported, hour) < 0.05, "{index} {hour} h: before the onset");
        }
        for hour in [13, 20] {
            let (reported, twin) = (uneven_share(&course_of_reported, hour), uneven_share(&course_of_twin, hour));
            assert!(reported > 0.35 && twin < 0.05, "{index} {hour} h: {reported} and {twin} of the healthy twin");
        }
        let rate = |course: &Course| course.minute(MIDNIGHT_MS / MINUTE_MS + 20 * 60).heart_rate;
        assert!(rate(&course_of_reported) > rate(&course_of_twin) + 5.0, "{index}");
    }
}

fn timestamps(body: &SyncBody, data_type: DataType) -> Vec<i64> {
    let columns = body.blocks(data_type).iter().flat_map(|block| &block.columns);
    columns
        .filter(|(name, _)| *name == "timestamp")
        .flat_map(|(_, column)| match column {
            Column::Integers(times) => times.clone(),
            other => panic!("{data_type}: {other:?}"),
        })
        .collect()
}

#[test]
fn rows_come_at_their_period_with_a_gap_only_where_the_bracelet_was_off() {
    let patient = patient(5, Scenario::Healthy);
    let course = course(&patient);
    let window = Window::new(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS);
    let body = SyncBody::from_course(&course, window, &DataType::VITALS, &SignalRates::default());
    for data_type in [DataType::Activity, DataType::Temperature] {
        let times = timestamps(&body, data_type);
        assert_eq!(times, (0..1_440).map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect::<Vec<_>>(), "{data_type}");
    }
    let charge = course.day_at(MIDNIGHT_MS + 12 * HOUR_MS);
    let is_charging = |at_ms: &i64| (charge.charge_start_ms..charge.charge_end_ms).contains(at_ms);
    assert!(!timestamps(&body, DataType::RrInterval).iter().any(is_charging));
    let asleep = timestamps(&body, DataType::Sleep);
    assert!(asleep.iter().all(|at_ms| at_ms % 30_000 == 0 && course.sleep_at(*at_ms).is_some()));
    let gaps = asleep.windows(2).filter(|pair| pair[1] - pair[0] != 30_000).count();
    assert!(gaps <= 1, "only the day lies between two nights: {gaps} gaps");
    let variability = timestamps(&body, DataType::HeartRateVariability);
    assert!(variability.iter().all(|at_ms| at_ms % BLOCK_MS == 0));
    let rows = hrv_rows(&course, window.from_ms, window.to_ms);
    assert_eq!(variability, rows.iter().map(|row| row.timestamp_ms).collect::<Vec<_>>());
    assert!((265..288).contains(&variability.len()), "{}", variability.len());
}

#[test]
fn waveforms_break_off_when_the_bracelet_goes_on_its_charger_and_go_on_after() {
    let patient = patient(5, Scenario::Healthy);
    let course = course(&patient);
    let day = course.day_at(MIDNIGHT_MS + 12 * HOUR_MS);
    let window = Window::new(day.charge_start_ms - 2 * MINUTE_MS, day.charge_end_ms + 3 * MINUTE_MS);
    let body = SyncBody::from_course(&course, window, &[DataType::Acc], &SignalRates::default());
    let [before, after] = body.blocks(DataType::Acc) else { panic!("two stretches of wear") };
    assert_eq!(before.start_and_rate, Some((window.from_ms, 32)));
    assert_eq!(before.row_count(), 2 * 60 * 32);
    assert_eq!(after.start_and_rate, Some((day.charge_end_ms, 32)));
    assert_eq!(after.row_count(), 3 * 60 * 32);
    assert_eq!(course.wear_at(day.charge_start_ms), Wear::Charging);
    assert_eq!(course.wear_at(day.charge_end_ms), Wear::Worn, "the end is exclusive");
    let on_charger = Window::new(day.charge_start_ms, day.charge_end_ms);
    assert!(SyncBody::from_course(&course, on_charger, &[DataType::Acc], &SignalRates::default()).is_empty());
}

#[test]
fn an_empty_window_has_nothing_and_another_seed_another_life() {
    let one = patient(0, Scenario::Healthy);
    let empty = Window::new(MIDNIGHT_MS, MIDNIGHT_MS);
    assert!(SyncBody::new(&one, empty, &DataType::ALL, &SignalRates::default()).unwrap().is_empty());
    let other = Patient::new(84, 0, Scenario::Healthy, MIDNIGHT_MS, "UTC").unwrap();
    let again = patient(0, Scenario::Healthy);
    let beats = |patient: &Patient| rr_intervals(&course(patient), NIGHT_S * 1_000, NIGHT_S * 1_000 + HOUR_MS);
    assert_eq!(beats(&one), beats(&again));
    assert_ne!(beats(&one), beats(&other));
    let light = |patient: &Patient| ppg(&course(patient), 25, NIGHT_S, NIGHT_S + 10);
    assert_eq!(light(&one), light(&again));
    assert_ne!(light(&one), light(&other));
}
