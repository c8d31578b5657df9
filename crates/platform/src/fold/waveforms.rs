//! Cells of raw waveforms, twenty minutes of rows in memory at a time.

use vitals::block::Block;
use vitals::cells::{CellsByDay, Kept, ecg_cells, motion_cells, ppg1_cells, ppg2_cells};
use vitals::zone::WINDOW_US;

use super::beats::cut;
use super::days::Days;
use super::plan::Plan;
use super::source::FoldSource;

/// Windows that are read at once.
const PART_WINDOWS: i64 = 4;

/// Computes the cells of the touched windows of all waveforms.
pub(crate) async fn fold(source: &impl FoldSource, days: &mut Days, plan: &Plan) -> store::Result<()> {
    replace(source, days, plan, |blocks| blocks.first().map(motion_cells).unwrap_or_default()).await?;
    replace(source, days, plan, |blocks| blocks.first().map(ecg_cells).unwrap_or_default()).await?;
    replace(source, days, plan, |blocks| blocks.first().map(ppg1_cells).unwrap_or_default()).await?;
    replace(source, days, plan, ppg2_cells).await
}

async fn replace<C: Kept>(
    source: &impl FoldSource,
    days: &mut Days,
    plan: &Plan,
    cells: impl Fn(&[Block]) -> CellsByDay<C>,
) -> store::Result<()> {
    for windows in plan.windows_of(C::DATA_TYPE).iter().flat_map(|windows| cut(windows, PART_WINDOWS)) {
        let blocks = source.rows(C::DATA_TYPE, windows.start * WINDOW_US, windows.end * WINDOW_US - 1).await?;
        days.replace(&windows, cells(&blocks));
    }
    Ok(())
}
