//! Patients that the log has named because they cannot be read.

use std::sync::{Mutex, PoisonError};

use runtime::HashMap;
use store::PatientId;

/// Interval at which the log names a patient. A board that somebody looks at reads them again every minute.
const EVERY_MS: i64 = 3_600_000;

/// Patients, and when the log named them, ms.
#[derive(Debug, Default)]
pub(super) struct UnreadableLog(Mutex<HashMap<PatientId, i64>>);

impl UnreadableLog {
    /// Returns whether the log is to name a patient now; it then counts as named.
    pub fn is_due(&self, patient: &PatientId, now_ms: i64) -> bool {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if named.get(patient).is_some_and(|at_ms| now_ms - at_ms < EVERY_MS) {
            return false;
        }
        // Those of before are dropped here: what is kept does not grow with the age of the process.
        named.retain(|_, at_ms| now_ms - *at_ms < EVERY_MS);
        named.insert(patient.clone(), now_ms);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patient_is_named_once_an_hour() {
        let (log, ada, bob) = (UnreadableLog::default(), PatientId::new("ada"), PatientId::new("bob"));
        let asked = [(&ada, 0), (&ada, 1), (&bob, 1), (&ada, EVERY_MS - 1), (&ada, EVERY_MS)];
        assert_eq!(asked.map(|(uuid, now_ms)| log.is_due(uuid, now_ms)), [true, false, true, false, true]);
    }
}
