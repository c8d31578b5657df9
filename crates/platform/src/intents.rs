//! Finishes operations that touch both databases.
//!
//! Such an operation first commits, in the users database, what it does there and what it owes the health database.
//! Then come the two steps here: the change, which may be made twice, and the entries. Whoever was killed between
//! any two steps has lost nothing: the next look at old intents takes the rest.
//!
//! What is owed for a patient is made in the order in which it was committed, also what another operation, here or on
//! another node, has committed before: see `store/src/users/intents.rs`.

use futures::{StreamExt, TryStreamExt};
use runtime::HashSet;
use store::Intent;

use crate::environment::Platform;
use crate::error::Result;

/// Patients whose changes are made at once where an operation owes something for many.
const PATIENTS_AT_ONCE: usize = 32;

impl Platform {
    /// Makes the health change that an intent owes, then removes the intent and writes its entries.
    pub(crate) async fn finish(&self, intent: Intent) -> Result<()> {
        if let Some(patient) = intent.change.patient() {
            return self.finish_changes_of(patient).await;
        }
        self.health.apply(intent.change).await?;
        self.users.complete_intent(&intent.id, self.audit(intent.entries)).await?;
        Ok(())
    }

    /// Makes all changes that are owed for a patient, in their order, and writes their entries.
    pub(crate) async fn finish_changes_of(&self, patient: &str) -> Result<()> {
        for owed in self.users.intents_of(patient).await? {
            self.health.apply_numbered(owed.intent.change, owed.number).await?;
            self.users.complete_intent(&owed.intent.id, self.audit(owed.intent.entries)).await?;
        }
        Ok(())
    }

    /// The same for several patients.
    pub(crate) async fn finish_changes_of_all(&self, patients: Vec<String>) -> Result<()> {
        let finish = |patient: String| async move { self.finish_changes_of(&patient).await };
        futures::stream::iter(patients).map(finish).buffer_unordered(PATIENTS_AT_ONCE).try_collect().await
    }

    /// Finishes what others have left for longer than this, ms, oldest first; one that fails does not hold up the
    /// others. Answers how many there were.
    ///
    /// # Errors
    /// The first failure, when everything else has been tried.
    pub async fn finish_old_intents(&self, older_than_ms: i64) -> Result<usize> {
        let (mut finished, mut failed, mut first_failure) = (0, HashSet::default(), None);
        loop {
            let mut left = self.users.intents_until(self.now_ms() - older_than_ms).await?;
            left.retain(|intent| !failed.contains(&intent.id));
            if left.is_empty() {
                return first_failure.map_or(Ok(finished), Err);
            }
            for intent in left {
                let id = intent.id.clone();
                match self.finish(intent).await {
                    Ok(()) => finished += 1,
                    Err(error) => {
                        failed.insert(id);
                        first_failure = first_failure.or(Some(error));
                    }
                }
            }
        }
    }
}
