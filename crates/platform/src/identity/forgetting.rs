//! Forgets tokens that have long ended.

use boxed_futures::boxed_futures;

use crate::core::error::Result;
use crate::identity::Identity;
use crate::identity::tokens::MINUTE_MS;

/// Time for which what has ended is kept, so that its reuse is still distinguished from rubbish.
const KEPT_MS: i64 = 24 * 60 * MINUTE_MS;

#[boxed_futures]
impl Identity {
    /// Forgets sessions, codes and refresh tokens that have long ended, signing keys that no token which can still be
    /// refreshed was signed with, and security events that were kept long enough. Answers how many rows there were.
    pub async fn tidy_identity(&self) -> Result<u64> {
        let now_ms = self.core.now_ms();
        let ttl_ms = self.core.settings().token_ttl_minutes * MINUTE_MS;
        // The last token of a family can be issued just before the end of its refreshing, and lives after that.
        let ended_ms = now_ms - ttl_ms - KEPT_MS;
        let refresh_ms = self.core.settings().token_refresh_minutes * MINUTE_MS;
        let retired_ms = now_ms - ttl_ms.max(refresh_ms);
        let security_ms = now_ms - self.core.settings().security_retention_s * 1000;
        // All are tried before the first failure is returned.
        let tidied = [
            self.core.users().purge_sessions(ended_ms).await.map_err(Into::into),
            self.purge_portal_sessions().await,
            self.core.health().purge_oauth(now_ms - KEPT_MS, ended_ms).await.map_err(Into::into),
            self.core.health().purge_sessions(ended_ms).await.map_err(Into::into),
            self.core.users().purge_signing_keys(retired_ms).await.map_err(Into::into),
            self.core.health().purge_signing_keys(retired_ms).await.map_err(Into::into),
            self.core.users().purge_security_events(security_ms).await.map_err(Into::into),
        ];
        tidied.into_iter().sum()
    }
}
