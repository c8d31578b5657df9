//! Ends tokens before their time, for the operations that take away what they rest on; and forgets those that have
//! long ended.

use store::HealthChange;

use crate::environment::Platform;
use crate::error::Result;
use crate::tokens::MINUTE_MS;

/// How long what has ended is kept, so that its reuse is still told from rubbish.
const KEPT_MS: i64 = 24 * 60 * MINUTE_MS;

impl Platform {
    /// What is owed to the health database when an account loses a membership: the end of the tokens by which it reads
    /// in patients' stead, also of patients whom another group still opens. It can ask for new ones at once.
    pub fn end_of_reader(&self, account: &str) -> HealthChange {
        HealthChange::EndSessionsOfActor { account: account.to_owned(), at_ms: self.now_ms() }
    }

    /// What is owed when a patient is detached from a group: the end of the tokens by which others read in his stead.
    pub fn end_of_readers(&self, patient: &str) -> HealthChange {
        HealthChange::EndReadersOfPatient { uuid: patient.to_owned(), at_ms: self.now_ms() }
    }

    /// Ends the tokens by which an account reads in patients' stead, at once.
    pub async fn end_tokens_of_reader(&self, account: &str) -> Result<()> {
        Ok(self.health.apply(self.end_of_reader(account)).await?)
    }

    /// Ends the tokens by which others read in a patient's stead, at once.
    pub async fn end_readers_tokens(&self, patient: &str) -> Result<()> {
        Ok(self.health.apply(self.end_of_readers(patient)).await?)
    }

    /// Forgets sessions, codes and refresh tokens that have long ended, and signing keys that no token which can still
    /// be refreshed was signed with. Answers how many rows there were.
    pub async fn tidy_identity(&self) -> Result<u64> {
        let now_ms = self.now_ms();
        let ttl_ms = self.settings.token_ttl_minutes * MINUTE_MS;
        // The last token of a family can be issued just before the end of its refreshing, and lives after that.
        let ended_ms = now_ms - ttl_ms - KEPT_MS;
        let refresh_ms = self.settings.token_refresh_minutes * MINUTE_MS;
        let retired_ms = now_ms - ttl_ms.max(refresh_ms);
        let mut tidied = self.users.purge_sessions(ended_ms).await?;
        tidied += self.health.purge_oauth(now_ms - KEPT_MS, ended_ms).await?;
        tidied += self.health.purge_sessions(ended_ms).await?;
        tidied += self.users.purge_signing_keys(retired_ms).await?;
        tidied += self.health.purge_signing_keys(retired_ms).await?;
        Ok(tidied)
    }
}
