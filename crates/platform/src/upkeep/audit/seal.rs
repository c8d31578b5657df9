//! The seal of the audit log.

use boxed_futures::boxed_futures;
use store::AuditEnd;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Lets the key of this store guard the audit log, where none does yet.
    pub async fn seal_new_audit_log(&self) -> Result<()> {
        let is_sealed_now = self.core.users().seal_new_audit(&self.core.audit_keys().head, self.core.now_ms()).await?;
        if is_sealed_now {
            tracing::info!("the audit log is sealed from now on");
        }
        Ok(())
    }

    /// Lets the key of this store guard the audit log as it is, whatever its end shows.
    pub async fn seal_audit_log_again(&self) -> Result<()> {
        let key = &self.core.audit_keys().head;
        self.core.users().seal_audit_again(key, self.core.now_ms()).await?;
        tracing::warn!("the audit log was sealed as it is");
        Ok(())
    }

    /// Follows the chain of the audit log alone, whatever key guards its end. Returns the number of the first entry that is
    /// missing or not what was written.
    pub async fn first_broken_audit_entry(&self) -> Result<Option<i64>> {
        Ok(self.core.users().verify_audit().await?.1)
    }

    /// Returns the end of the audit log.
    pub async fn audit_end(&self) -> Result<AuditEnd> {
        Ok(self.core.users().audit_end(&self.core.audit_keys().head).await?)
    }
}
