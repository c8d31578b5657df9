//! Window aggregates: rows of five minutes to what is kept of them, packed, a data type at a time.

use super::declaration::{Derivation, Input, Work, is_equal};
use super::frozen::Frozen;
use super::need::{Computed, Missing};
use super::news::{is_inside, vital_intervals};
use super::output::{Output, day_of};
use super::view::{View, vital_rows};
use super::windows::{Windows, joined, widened};
use crate::block::Block;
use crate::cells::{
    CellsByDay, Day, Kept, activity_cells, beat_cells, ecg_cells, motion_cells, ppg1_cells, ppg2_cells, spot_cells,
    stage_cells, temperature_cells, variability_cells, window_of,
};
use crate::registry::DataType;
use crate::zone::WINDOW_US;

/// Windows of waveforms whose rows are in memory at once: twenty minutes.
const WAVEFORM_WINDOWS: i64 = 4;
/// Windows of beat intervals whose rows are in memory at once: a UTC day.
pub(super) const BEAT_WINDOWS: i64 = 288;
/// Windows of an hour.
pub(super) const HOUR_WINDOWS: i64 = 12;

/// Version of the aggregates of a type; their packed form begins with a version of its own.
pub(super) const fn version_of(data_type: DataType) -> i64 {
    match data_type {
        DataType::Activity | DataType::Tests => 2,
        _ => 1,
    }
}

/// Aggregates of `temperature`.
pub(super) const TEMPERATURE: Derivation =
    aggregates("aggregates.temperature", &[Input::Rows(DataType::Temperature)], None, |view, windows| {
        of_one_channel(view, windows, temperature_cells)
    });

/// Aggregates of `sleep`.
pub(super) const SLEEP: Derivation =
    aggregates("aggregates.sleep", &[Input::Rows(DataType::Sleep)], None, |view, windows| {
        of_one_channel(view, windows, stage_cells)
    });

/// Aggregates of `heart-rate-variability`.
pub(super) const VARIABILITY: Derivation =
    aggregates("aggregates.heart-rate-variability", &[Input::Rows(DataType::HeartRateVariability)], None, {
        |view, windows| of_one_channel(view, windows, variability_cells)
    });

/// Aggregates of `rr-interval`.
pub(super) const BEATS: Derivation =
    aggregates("aggregates.rr-interval", &[Input::Rows(DataType::RrInterval)], Some(BEAT_WINDOWS), beats);

/// Aggregates of `acc`.
pub(super) const MOTION: Derivation =
    aggregates("aggregates.acc", &[Input::Rows(DataType::Acc)], Some(WAVEFORM_WINDOWS), |view, windows| {
        of_one_channel(view, windows, motion_cells)
    });

/// Aggregates of `ecg`.
pub(super) const ECG: Derivation =
    aggregates("aggregates.ecg", &[Input::Rows(DataType::Ecg)], Some(WAVEFORM_WINDOWS), |view, windows| {
        of_one_channel(view, windows, ecg_cells)
    });

/// Aggregates of `ppg1`.
pub(super) const PPG1: Derivation =
    aggregates("aggregates.ppg1", &[Input::Rows(DataType::Ppg1)], Some(WAVEFORM_WINDOWS), |view, windows| {
        of_one_channel(view, windows, ppg1_cells)
    });

/// Aggregates of `ppg2`.
pub(super) const PPG2: Derivation =
    aggregates("aggregates.ppg2", &[Input::Rows(DataType::Ppg2)], Some(WAVEFORM_WINDOWS), |view, windows| {
        of_channels(view, windows, ppg2_cells)
    });

/// Aggregates of `activity`.
pub(super) const ACTIVITY: Derivation =
    aggregates("aggregates.activity", &[Input::Rows(DataType::Activity), Input::Body, Input::Settings], None, activity);

/// Aggregates of `tests`.
pub(super) const SPOT: Derivation = aggregates("aggregates.tests", &[Input::Rows(DataType::Tests)], None, spot);

const fn aggregates(
    id: &'static str,
    inputs: &'static [Input],
    at_once: Option<i64>,
    compute: fn(&mut View, &[Windows]) -> Computed,
) -> Derivation {
    let work = Work::Windows { aligned: 1, at_once, compute };
    let version = match inputs[0] {
        Input::Rows(data_type) => version_of(data_type),
        _ => 1,
    };
    Derivation { id, version, output: Some(Output::Slots), inputs, work, frozen, is_same: is_equal }
}

/// Of a day of whose rows some are no more: the aggregates before the first row that is left.
fn frozen(frozen: &Frozen, key: i64, body: &[u8]) -> Option<Vec<u8>> {
    let data_type = DataType::from_number(day_of(key).1)?;
    let mut day = Day::default();
    day.read(data_type, body);
    day.keep_before(window_of(frozen.first_of(&[data_type])));
    let kept = day.pack(data_type);
    (!kept.is_empty()).then_some(kept)
}

fn of_one_channel<C: Kept>(view: &mut View, windows: &[Windows], cells: fn(&Block) -> CellsByDay<C>) -> Computed {
    of_channels(view, windows, |blocks| blocks.first().map(cells).unwrap_or_default())
}

fn of_channels<C: Kept>(view: &mut View, windows: &[Windows], cells: impl Fn(&[Block]) -> CellsByDay<C>) -> Computed {
    view.need_days_around(windows)?;
    let rows = Missing::gather(windows.iter().map(|windows| view.rows(C::DATA_TYPE, windows)))?;
    for (windows, blocks) in windows.iter().zip(rows) {
        view.days.replace(windows, cells(&blocks));
    }
    Ok(())
}

/// The hours of touched windows are read whole, since records of atrial fibrillation need them.
fn beats(view: &mut View, touched: &[Windows]) -> Computed {
    view.need_days_around(touched)?;
    let hours = joined(touched.iter().map(|windows| widened(windows, HOUR_WINDOWS)).collect());
    let rows = Missing::gather(hours.iter().map(|hours| view.rows(DataType::RrInterval, hours)))?;
    for (hours, blocks) in hours.iter().zip(rows) {
        for windows in touched.iter().filter(|windows| is_inside(windows, hours)) {
            let cells = blocks.first().map(|block| beat_cells(&part(block, windows)));
            view.days.replace(windows, cells.unwrap_or_default());
        }
    }
    Ok(())
}

fn activity(view: &mut View, touched: &[Windows]) -> Computed {
    of_vital_rows(view, touched, |view, blocks| {
        let rows = blocks.iter().find(|block| block.data_type == DataType::Activity);
        rows.map(|block| activity_cells(block, |day| view.subject.max_bpm(day))).unwrap_or_default()
    })
}

fn spot(view: &mut View, touched: &[Windows]) -> Computed {
    of_vital_rows(view, touched, |_, blocks| {
        let of_tests = blocks.iter().filter(|block| block.data_type == DataType::Tests);
        spot_cells(&of_tests.cloned().collect::<Vec<_>>())
    })
}

/// The rows of vital signs are those that NEWS needs: they are read once for all.
fn of_vital_rows<C: Kept>(
    view: &mut View,
    touched: &[Windows],
    cells: impl Fn(&View, &[Block]) -> CellsByDay<C>,
) -> Computed {
    view.need_days_around(touched)?;
    let intervals = vital_intervals(view)?;
    let rows = Missing::gather(intervals.iter().map(|interval| vital_rows(view, &interval.with_next())))?;
    for (interval, blocks) in intervals.iter().zip(rows) {
        for windows in touched.iter().filter(|windows| is_inside(windows, &interval.0)) {
            let blocks: Vec<Block> = blocks.iter().map(|block| part(block, windows)).collect();
            let cells = cells(view, &blocks);
            view.days.replace(windows, cells);
        }
    }
    Ok(())
}

/// Returns the rows of a block that lie in some windows.
pub(super) fn part(block: &Block, windows: &Windows) -> Block {
    block.slice(block.rows_between(windows.start * WINDOW_US, windows.end * WINDOW_US - 1))
}
