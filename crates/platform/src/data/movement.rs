//! How much a patient moved when they were scored: a heart rate of 120 means something else in a runner.

use vitals::activity::movement_level;
use vitals::block::Block;
use vitals::registry::{DataType, NULL};
use vitals::zone::SECOND_US;

use crate::core::access::Readable;
use crate::core::error::Result;
use crate::data::Data;
use store::PatientId;

/// Acceleration is looked at over the minute that ends with the time asked for.
const SPAN_US: i64 = 60 * SECOND_US;
/// Steps of the acceleration columns in one g.
const STEPS_PER_G: f64 = 512.0;

impl Data {
    /// Movement level, 0 to 4, of a patient at a time, ms; `None` without acceleration in the minute before.
    pub(crate) async fn movement_at(&self, patient: &Readable<PatientId>, time_ms: i64) -> Result<Option<u8>> {
        // Times are shown as floor(ms): a row in the same millisecond belongs to it (refinement 3).
        let to_us = time_ms * 1000 + 999;
        let blocks = self.core.health().rows(patient.uuid(), DataType::Acc, to_us - SPAN_US + 1, to_us).await?;
        let lengths: Vec<f64> = blocks.iter().flat_map(lengths_g).collect();
        Ok(movement_level(&lengths))
    }
}

/// Returns the lengths of the acceleration vectors, g. Rows that lack an axis are left out.
fn lengths_g(block: &Block) -> Vec<f64> {
    let axes = ["accX", "accY", "accZ"].map(|name| block.column(name));
    let length = |row: usize| {
        let steps = axes.map(|axis| axis.get(row));
        let squares = steps.map(|steps| f64::from(steps).powi(2));
        (!steps.contains(&NULL)).then(|| squares.iter().sum::<f64>().sqrt() / STEPS_PER_G)
    };
    (0..block.rows()).filter_map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::block::Cells;
    use vitals::registry::Channel;

    #[test]
    fn lengths_are_in_g_and_need_all_three_axes() {
        let mut block = Block::empty(DataType::Acc, Channel::default());
        block.times_us = vec![0, 1];
        for (name, steps) in [("accX", vec![0, 3]), ("accY", vec![0, NULL]), ("accZ", vec![-512, 4])] {
            block.columns[DataType::Acc.column_index(name).expect("a column")] = Cells::Values(steps);
        }
        assert_eq!(lengths_g(&block), [1.0]);
    }
}
