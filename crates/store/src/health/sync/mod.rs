//! Storing one sync: the transaction behind "200 means durable".
//!
//! On PostgreSQL it is two flights. The first asks, in one statement, for everything that decides what is written: the
//! patient's row, the stored rows around the new ones, an earlier sync of the same id. The second writes and commits.
//! Nothing is locked between them. Instead the sync takes the next number of the patient's events: where another
//! transaction has taken it meanwhile, or the patient is gone, the event's row cannot be written, the whole transaction
//! fails and is made again, then with the patient's row held from the start.

mod around;
pub(super) mod event;
mod prepare;
mod request;
mod write;

use boxed_futures::boxed_futures;

use std::sync::Arc;

pub use request::{Counts, Sync, SyncId, SyncOutcome};

use self::around::{Hold, SealedRows};
use self::prepare::prepare_all;
use self::write::Written;
use super::db::HealthDb;
use crate::engine::Tx;
use crate::error::{Result, StoreError};

/// Number of times that a sync reads sealed rows: each time another one has sealed the period meanwhile, which takes
/// longer than a look at it.
const LOOKS: usize = 20;

#[boxed_futures]
impl HealthDb {
    /// Stores a sync. When this returns, the counted rows are durable and every reader sees them.
    pub async fn store_sync(&self, mut sync: Sync) -> Result<SyncOutcome> {
        let blocks = std::mem::take(&mut sync.blocks);
        // Ordered, encoded and compressed before the transaction, which holds up everybody who writes on SQLite.
        let channels = Arc::new(prepare_all(blocks).await?);
        let sync = Arc::new(sync);
        let mut sealed = Arc::new(SealedRows::default());
        let mut hold = Hold::Nothing;
        for _ in 0..LOOKS {
            let (sync, channels, known) = (sync.clone(), channels.clone(), sealed.clone());
            let patient = sync.patient.clone();
            let store = async move |tx: &Tx<'_>| write::write(tx, &sync, &channels, &known, hold).await;
            let written = self.db.write_of(patient.as_str(), store).await;
            match written {
                Ok(Written::Done(outcome)) => return Ok(outcome),
                // Objects are read between transactions: an object store takes milliseconds to seconds.
                Ok(Written::NeedsSealed(ranges)) => match self.read_sealed(ranges).await {
                    Ok(rows) => sealed = Arc::new(rows),
                    // The objects of an erased patient go after the rows, so a look may find them named and then gone.
                    Err(_) if self.patient(&patient).await?.is_none() => return Ok(SyncOutcome::UnknownPatient),
                    Err(error) => return Err(error),
                },
                // Another transaction has taken the number.
                Err(StoreError::Conflict(_)) if hold == Hold::Nothing => hold = Hold::Patient,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable("the sealed rows around a sync change all the time".to_owned()))
    }
}

/// Every statement of a sync, for the test that prepares each on both engines.
#[cfg(test)]
pub(super) const TEXTS: [&[&str]; 2] = [around::TEXTS, write::TEXTS];
