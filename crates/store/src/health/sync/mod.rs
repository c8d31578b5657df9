//! Storing one sync: the transaction behind "200 means durable".
//!
//! On PostgreSQL it is two round trips. The first asks, in one statement, for everything that decides what is written: the
//! patient's row, the stored rows around the new ones, an earlier sync of the same id. The second writes and commits.
//! Nothing is locked between them. Instead the sync takes the next sequence number of the patient's events: where another
//! transaction has taken it meanwhile, or the patient is gone, the event's row cannot be written, the whole transaction
//! fails and is made again, then with the patient's row held from the start.

mod around;
pub(super) mod event;
mod prepare;
mod request;
mod write;

use boxed_futures::boxed_futures;

use std::sync::Arc;

pub use request::{Counts, NamedSync, Sync, SyncOutcome};

use self::around::{Hold, SealedRows};
use self::prepare::prepare_all;
use self::request::Purpose;
use self::write::{Attempt, Written};
use super::db::HealthDb;
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;

/// Attempts at storing a sync. Nearly all succeed with the first one, or with the second, which has read sealed rows or holds
/// the patient.
// More are needed where the period is sealed again during each of them, which takes longer than reading it.
const MOST_ATTEMPTS: usize = 20;

#[boxed_futures]
impl HealthDb {
    /// Stores a sync. When this returns, the counted rows are durable and every reader sees them.
    pub async fn store_sync(&self, sync: Sync) -> Result<SyncOutcome> {
        let mut tries = Tries::of(sync).await?;
        while let Some((patient, attempt)) = tries.next() {
            let store = async move |tx: &Tx<'_>| attempt.write(tx, Purpose::Store).await;
            let written = self.db.write_of((&patient).into(), store).await;
            if let Some(outcome) = tries.outcome_or_retry(self, written).await? {
                return Ok(outcome);
            }
        }
        Err(StoreError::Unavailable(CHANGES_ALL_THE_TIME.to_owned()))
    }

    /// Counts what a sync would store now, and stores nothing. Written out next to [`HealthDb::store_sync`], since metrics and
    /// planned failures name an operation by the function that carries it out.
    pub async fn validate_sync(&self, sync: Sync) -> Result<SyncOutcome> {
        let mut tries = Tries::of(sync).await?;
        while let Some((patient, attempt)) = tries.next() {
            let count = async move |tx: &Tx<'_>| attempt.write(tx, Purpose::Validate).await;
            let written = self.db.write_of((&patient).into(), count).await;
            if let Some(outcome) = tries.outcome_or_retry(self, written).await? {
                return Ok(outcome);
            }
        }
        Err(StoreError::Unavailable(CHANGES_ALL_THE_TIME.to_owned()))
    }
}

const CHANGES_ALL_THE_TIME: &str = "the sealed rows around a sync change all the time";

/// A sync and the stored rows near its samples, for one attempt after the other.
struct Tries {
    attempt: Attempt,
    left: usize,
}

impl Tries {
    async fn of(mut sync: Sync) -> Result<Self> {
        let blocks = std::mem::take(&mut sync.blocks);
        // Ordered, encoded and compressed before the transaction, which holds up everybody who writes on SQLite.
        let channels = Arc::new(prepare_all(blocks).await?);
        let attempt =
            Attempt { sync: Arc::new(sync), channels, sealed: Arc::new(SealedRows::default()), hold: Hold::Nothing };
        Ok(Tries { attempt, left: MOST_ATTEMPTS })
    }

    /// Returns the patient and the next attempt; `None` when there were enough of them.
    fn next(&mut self) -> Option<(PatientId, Attempt)> {
        self.left = self.left.checked_sub(1)?;
        Some((self.attempt.sync.patient.clone(), self.attempt.clone()))
    }

    /// Returns how the sync ended; `None` when it is to be tried again, with what is known now.
    async fn outcome_or_retry(&mut self, health: &HealthDb, written: Result<Written>) -> Result<Option<SyncOutcome>> {
        match written {
            Ok(Written::Done(outcome)) => return Ok(Some(outcome)),
            // Objects are read between transactions: an object store takes milliseconds to seconds.
            Ok(Written::NeedsSealed(ranges)) => match health.read_sealed(ranges).await {
                Ok(rows) => self.attempt.sealed = Arc::new(rows),
                // The objects of an erased patient go after the rows, so the catalog can list one that is deleted before it is read.
                Err(_) if health.patient(&self.attempt.sync.patient).await?.is_none() => {
                    return Ok(Some(SyncOutcome::UnknownPatient));
                }
                Err(error) => return Err(error),
            },
            // Another transaction has taken the sequence number.
            Err(StoreError::Conflict(_)) if self.attempt.hold == Hold::Nothing => self.attempt.hold = Hold::Patient,
            Err(error) => return Err(error),
        }
        Ok(None)
    }
}

/// Every statement of a sync, for the test that prepares each on both engines.
#[cfg(test)]
pub(super) const TEXTS: [&[&str]; 2] = [around::TEXTS, write::TEXTS];
