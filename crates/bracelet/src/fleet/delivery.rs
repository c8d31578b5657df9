//! In which pieces and in which order a patient's data are sent.

use rand::seq::SliceRandom;

use super::config::HistoryOrder;
use crate::body::{SignalRates, Window};
use crate::data_type::DataType;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::scenario::Scenario;
use crate::time::HOUR_MS;

const DAY_MS: i64 = 24 * HOUR_MS;
/// Values of waveforms in one sync: a few megabytes of JSON, far below what a service must take.
const MAX_WAVEFORM_VALUES: i64 = 400_000;
/// How many live syncs a late bracelet holds back.
const HELD_BACK: usize = 20;

/// Returns the windows of the past `days` UTC days up to `end_ms`, in the order in which the patient's bracelet sends
/// them.
pub(crate) fn history(patient: &Patient, days: u32, end_ms: i64, span_ms: i64, order: HistoryOrder) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut day_end_ms = end_ms;
    for _ in 0..days {
        // Whole UTC days, so that a run that is repeated later sends the same windows and not shifted ones.
        let day_start_ms = (day_end_ms - 1).div_euclid(DAY_MS) * DAY_MS;
        let mut pieces = split(Window::new(day_start_ms, day_end_ms), span_ms);
        pieces.reverse();
        windows.extend(pieces);
        day_end_ms = day_start_ms;
    }
    if order == HistoryOrder::OldestFirst {
        windows.reverse();
    }
    match patient.scenario {
        Scenario::LateSync => {
            let mut random = patient.randomness.stream(Subject::SyncId, end_ms);
            // Fully out of order, worse than any real app: the service promises that no order matters.
            windows.shuffle(&mut random);
            windows
        }
        // Right after each other, as an app does whose answer got lost.
        Scenario::DuplicateSync => twice(&windows),
        _ => windows,
    }
}

/// Returns what is sent after one more live window: nothing yet, the window, the window twice, or all that was held
/// back.
pub(crate) fn live(scenario: Scenario, held: &mut Vec<Window>, window: Window) -> Vec<Window> {
    match scenario {
        Scenario::LateSync => {
            held.push(window);
            if held.len() < HELD_BACK {
                return Vec::new();
            }
            release(held)
        }
        Scenario::DuplicateSync => twice(&[window]),
        _ => vec![window],
    }
}

/// Returns all that was held back, newest first.
pub(crate) fn release(held: &mut Vec<Window>) -> Vec<Window> {
    held.drain(..).rev().collect()
}

fn twice(windows: &[Window]) -> Vec<Window> {
    windows.iter().flat_map(|window| [*window; 2]).collect()
}

/// Cuts a window into pieces of at most `span_ms`.
fn split(window: Window, span_ms: i64) -> Vec<Window> {
    let mut pieces = Vec::new();
    let mut from_ms = window.from_ms;
    while from_ms < window.to_ms {
        let to_ms = (from_ms + span_ms).min(window.to_ms);
        pieces.push(Window::new(from_ms, to_ms));
        from_ms = to_ms;
    }
    pieces
}

/// Returns the longest window, in whole minutes, whose waveforms stay below the limit; a day without waveforms.
pub(crate) fn longest_window_ms(data_types: &[DataType], rates: &SignalRates) -> i64 {
    let values_per_s: i64 = data_types
        .iter()
        .map(|data_type| match data_type {
            DataType::Ppg1 => 7 * i64::from(rates.ppg1_hz),
            DataType::Ppg2 => 3 * i64::from(rates.ppg2_hz),
            DataType::Acc => 3 * i64::from(rates.acc_hz),
            DataType::Bioz => i64::from(rates.bioz_hz),
            DataType::Ecg => 2 * i64::from(rates.ecg_hz),
            DataType::Eda => i64::from(rates.eda_hz),
            DataType::Gyro => 3 * i64::from(rates.gyro_hz),
            _ => 0,
        })
        .sum();
    if values_per_s == 0 {
        return DAY_MS;
    }
    (MAX_WAVEFORM_VALUES / values_per_s / 60).max(1) * 60_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_763_640_123_456;

    fn plan(scenario: Scenario, order: HistoryOrder) -> Vec<Window> {
        let patient = Patient::new(1, 0, scenario, 0, "UTC").unwrap();
        history(&patient, 3, NOW_MS, 6 * HOUR_MS, order)
    }

    #[test]
    fn history_covers_its_days_without_gap_in_both_orders() {
        let mut newest_first = plan(Scenario::Healthy, HistoryOrder::NewestFirst);
        assert_eq!(newest_first[0].to_ms, NOW_MS / 1_000 * 1_000);
        assert!(newest_first.windows(2).all(|pair| pair[1].to_ms == pair[0].from_ms));
        assert_eq!(newest_first.last().unwrap().from_ms % DAY_MS, 0);
        assert!(newest_first.iter().all(|w| w.to_ms - w.from_ms <= 6 * HOUR_MS));
        newest_first.reverse();
        assert_eq!(newest_first, plan(Scenario::Healthy, HistoryOrder::OldestFirst));
    }

    #[test]
    fn late_and_duplicate_bracelets_send_the_same_windows_otherwise() {
        let healthy = plan(Scenario::Healthy, HistoryOrder::NewestFirst);
        let late = plan(Scenario::LateSync, HistoryOrder::NewestFirst);
        assert_ne!(late, healthy);
        let mut sorted = late;
        sorted.sort_by_key(|window| -window.from_ms);
        assert_eq!(sorted, healthy);
        let duplicate = plan(Scenario::DuplicateSync, HistoryOrder::NewestFirst);
        assert_eq!(duplicate.len(), 2 * healthy.len());
        assert!(duplicate.chunks(2).zip(&healthy).all(|(pair, window)| pair == [*window; 2]));
    }

    #[test]
    fn a_late_bracelet_holds_its_syncs_back_and_sends_them_all_at_last() {
        let mut held = Vec::new();
        let windows: Vec<Window> = (0..45).map(|i| Window::new(i * 60_000, (i + 1) * 60_000)).collect();
        let mut sent = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            let released = live(Scenario::LateSync, &mut held, *window);
            assert_eq!(!released.is_empty(), number % HELD_BACK == HELD_BACK - 1);
            sent.extend(released);
        }
        sent.extend(release(&mut held));
        assert_ne!(sent, windows);
        sent.sort_by_key(|window| window.from_ms);
        assert_eq!(sent, windows);
    }

    #[test]
    fn waveforms_shorten_the_windows() {
        let rates = SignalRates::default();
        assert_eq!(longest_window_ms(&DataType::VITALS, &rates), DAY_MS);
        assert_eq!(longest_window_ms(&[DataType::Ppg2], &rates), 17 * 60_000);
        let all = longest_window_ms(&DataType::ALL, &rates);
        assert!(all >= 60_000 && all % 60_000 == 0);
    }
}
