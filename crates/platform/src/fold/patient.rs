//! Folding one patient: from the marks that are due to everything that follows from the rows they name.

use std::collections::BTreeMap;

use store::{AHEAD_MS, Claim, DueRange, FoldCommit, LatestChange};
use vitals::block::Block;
use vitals::cells::{CellsByDay, Kept, activity_cells, spot_cells, stage_cells, temperature_cells, variability_cells};
use vitals::latest::{LatestValues, Timed};
use vitals::registry::DataType;
use vitals::zone::WINDOW_US;

use super::days::Days;
use super::news::{self, Interval, LOOK_BACK_WINDOWS};
use super::plan::{Plan, Windows, joined};
use super::sections::{self, DirtyDays};
use super::source::FoldSource;
use super::subject::Subject;
use super::{beats, latest, waveforms};

/// What a fold of one patient starts from.
#[derive(Debug)]
pub(crate) struct FoldInput {
    pub claim: Claim,
    /// What is due, read before the rows.
    pub due: Vec<DueRange>,
    /// Latest values, read before the rows.
    pub seen: LatestValues,
    pub subject: Subject,
    /// From when on rows of a type are still there, µs; types that are not named are there from the beginning.
    pub kept_from_us: BTreeMap<DataType, i64>,
    pub now_ms: i64,
}

/// Computes what is due of a patient. Nothing is written.
pub(crate) async fn fold(source: &impl FoldSource, input: FoldInput) -> store::Result<FoldCommit> {
    let FoldInput { claim, due, seen, subject, kept_from_us, now_ms } = input;
    let not_after_us = (now_ms + AHEAD_MS) * 1000 + 999;
    let plan = Plan::of(due, &kept_from_us);
    let mut commit = FoldCommit { done: plan.done.clone(), due: plan.left.clone(), ..FoldCommit::nothing(claim) };
    let Some(span) = plan.span() else { return Ok(commit) };
    let (activity, tests) = (plan.windows_of(DataType::Activity), plan.windows_of(DataType::Tests));
    let vital_windows = joined(activity.iter().chain(tests).cloned().collect());
    let around = span.start - LOOK_BACK_WINDOWS..span.end + LOOK_BACK_WINDOWS;
    let mut days = Days::load(source, &span, (!vital_windows.is_empty()).then_some(&around)).await?;

    replace(source, &mut days, &plan, temperature_cells).await?;
    replace(source, &mut days, &plan, stage_cells).await?;
    replace(source, &mut days, &plan, variability_cells).await?;
    commit.af_hours = beats::fold(source, &mut days, plan.windows_of(DataType::RrInterval), now_ms).await?;
    waveforms::fold(source, &mut days, &plan).await?;
    let mut intervals = Vec::new();
    for windows in news::reach(&vital_windows, &days) {
        let and_next = windows.start..windows.end + 1;
        intervals.push(Interval { blocks: news::vital_rows(source, &and_next).await?, windows });
    }
    for interval in &intervals {
        replace_vitals(&mut days, interval, activity, tests, &subject);
    }
    if !intervals.is_empty() {
        let whole_from = news::whole_from(&kept_from_us);
        let edit = news::evaluate(source, &days, &subject, &intervals, whole_from, not_after_us).await?;
        let mut computed = latest::compute(source, &days, &seen, &vital_windows, &intervals, not_after_us).await?;
        let newest = news::newest_after(source, &edit).await?;
        computed.news_score = newest
            .and_then(|entry| entry.total.map(|total| Timed { value: f64::from(total), timestamp_ms: entry.time_ms }));
        commit.latest = Some(LatestChange { seen, computed });
        commit.news = news::rows(source, &edit).await?;
        commit.due.extend(due_later(&plan, &intervals, not_after_us));
    }
    let dirty = DirtyDays {
        changed: days.changed().iter().map(|(day, _)| *day).collect(),
        revisited: plan.revisited.iter().flat_map(|windows| days.with_cells_in(windows)).collect(),
    };
    let edit = sections::sum_up(source, &mut days, &subject, &dirty).await?;
    (commit.summaries, commit.facts) = (edit.summaries, edit.facts);
    commit.slots = days.rows();
    Ok(commit)
}

/// Puts the cells of touched windows of a type with one channel in their days.
async fn replace<C: Kept>(
    source: &impl FoldSource,
    days: &mut Days,
    plan: &Plan,
    cells: fn(&Block) -> CellsByDay<C>,
) -> store::Result<()> {
    for windows in plan.windows_of(C::DATA_TYPE) {
        let rows = source.rows(C::DATA_TYPE, windows.start * WINDOW_US, windows.end * WINDOW_US - 1).await?;
        days.replace(windows, rows.first().map(cells).unwrap_or_default());
    }
    Ok(())
}

/// Puts the cells of vital signs of the touched windows in their days.
fn replace_vitals(days: &mut Days, interval: &Interval, activity: &[Windows], tests: &[Windows], subject: &Subject) {
    let inside = |windows: &&Windows| windows.start >= interval.windows.start && windows.end <= interval.windows.end;
    for windows in activity.iter().filter(inside) {
        let rows = interval.blocks.iter().find(|block| block.data_type == DataType::Activity);
        let cells = rows.map(|block| activity_cells(&part(block, windows), |day| subject.max_bpm(day)));
        days.replace(windows, cells.unwrap_or_default());
    }
    for windows in tests.iter().filter(inside) {
        let rows = interval.blocks.iter().filter(|block| block.data_type == DataType::Tests);
        let parts: Vec<Block> = rows.map(|block| part(block, windows)).collect();
        days.replace(windows, spot_cells(&parts));
    }
}

/// The rows of a block that lie in some windows.
fn part(block: &Block, windows: &Windows) -> Block {
    block.slice(block.rows_between(windows.start * WINDOW_US, windows.end * WINDOW_US - 1))
}

/// Marks for the rows whose time has not come: latest values and NEWS take them then.
fn due_later(plan: &Plan, intervals: &[Interval], not_after_us: i64) -> Vec<DueRange> {
    let mut later = Vec::new();
    for mark in plan.done.iter().filter(|mark| mark.last_us > not_after_us) {
        let blocks = intervals.iter().flat_map(|interval| &interval.blocks);
        let of_type = blocks.filter(|block| block.data_type.number() == mark.data_type);
        let first_ahead = |block: &Block| {
            let rows = block.rows_between(mark.first_us.max(not_after_us + 1), mark.last_us);
            block.times_us[rows].first().copied()
        };
        if let Some(first_us) = of_type.filter_map(first_ahead).min() {
            later.push(DueRange { first_us, ready_ms: first_us.div_euclid(1000) - AHEAD_MS, ..*mark });
        }
    }
    later
}
