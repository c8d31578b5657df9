//! Finishes operations that touch both databases.
//!
//! Such an operation first commits, in the users database, what it does there and what it owes the health database.
//! Then come the two steps here: the change, which may be made twice, and the entries. Whoever was killed between
//! any two steps has lost nothing: the next look at old intents takes the rest.

use store::Intent;

use crate::environment::Platform;
use crate::error::Result;

impl Platform {
    /// Makes the health change that an intent owes, then removes the intent and writes its entries.
    pub(crate) async fn finish(&self, intent: Intent) -> Result<()> {
        self.health.apply(intent.change).await?;
        self.users.complete_intent(&intent.id, self.audit(intent.entries)).await?;
        Ok(())
    }

    /// Finishes what others have left for longer than this, ms, oldest first. Answers how many there were.
    pub async fn finish_old_intents(&self, older_than_ms: i64) -> Result<usize> {
        let mut finished = 0;
        loop {
            let left = self.users.intents_until(self.now_ms() - older_than_ms).await?;
            if left.is_empty() {
                return Ok(finished);
            }
            for intent in left {
                self.finish(intent).await?;
                finished += 1;
            }
        }
    }
}
