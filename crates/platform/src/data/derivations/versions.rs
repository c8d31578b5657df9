//! What other versions of the derivations have computed is computed again.

use vitals::derivation::{types_to_derive_again, versions};
use vitals::registry::DataType;

use crate::core::error::Result;
use crate::data::Data;

/// Patients who are looked up at once.
const PATIENTS: i64 = 256;

impl Data {
    /// Marks the rows dirty from which new or changed derivations are computed; returns of how many patients. To be called
    /// at the start: doing it twice is doing it once.
    pub(crate) async fn mark_other_versions(&self) -> Result<usize> {
        let health = self.core.health();
        let current = versions();
        let mut marked = 0;
        let mut after = None;
        loop {
            let patients = health.patients_of_other_versions(&current, after.as_ref(), PATIENTS).await?;
            let Some((last, _)) = patients.last() else { break };
            after = Some(last.clone());
            for (patient, stored) in &patients {
                let types = types_to_derive_again(stored);
                let mut ranges = health.everything_due(patient, self.core.now_ms()).await?;
                ranges
                    .retain(|range| DataType::from_number(range.data_type).is_some_and(|known| types.contains(&known)));
                marked += usize::from(!ranges.is_empty());
                health.derive_again(patient, &current, ranges).await?;
            }
        }
        if marked > 0 {
            self.core.wake_derivations();
        }
        Ok(marked)
    }
}
