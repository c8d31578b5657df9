//! Hours in which small chunks have arrived, as they are noted for [`hours`](super::hours) to merge.

use std::sync::{Mutex, PoisonError};

use runtime::HashMap;

use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    NOTE = "INSERT INTO open_hour (patient, data_type, hour_us, ready_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (patient, data_type, hour_us) DO NOTHING";
}

/// An hour in which small chunks have arrived.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpenHour {
    pub patient: PatientId,
    pub data_type: i64,
    pub hour_us: i64,
    /// Time at which its chunks can be merged, ms.
    pub ready_ms: i64,
}

/// Notes hours whose small chunks are to be merged.
pub(super) async fn note(tx: &Tx<'_>, hours: &[OpenHour]) -> Result<()> {
    let rows = hours.iter().map(|hour| {
        let row: [&dyn Param; 4] = [&hour.patient, &hour.data_type, &hour.hour_us, &hour.ready_ms];
        row
    });
    tx.put_rows(NOTE, &rows.collect::<Vec<_>>()).await
}

/// Hours that this process has noted: live data come for the same hour again and again.
#[derive(Debug, Default)]
pub(super) struct NotedHours {
    /// When the chunks can be merged, ms, by patient, type and start of the hour.
    pub(super) held: Mutex<HashMap<(PatientId, i64, i64), i64>>,
}

/// Hours that are remembered at most.
const MOST_NOTED: usize = 100_000;

impl NotedHours {
    /// Takes note of hours that are stored.
    pub fn remember(&self, hours: Vec<OpenHour>) {
        let mut noted = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() + hours.len() > MOST_NOTED {
            // Forgetting costs no more than noting an hour a second time; keeping account of ages would cost more.
            noted.clear();
        }
        noted.extend(hours.into_iter().map(|hour| ((hour.patient, hour.data_type, hour.hour_us), hour.ready_ms)));
    }
}
