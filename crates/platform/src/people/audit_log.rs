//! Reading the audit log.

use boxed_futures::boxed_futures;
use futures::Stream;
use futures::stream;
use store::{ActionCode, AuditEntry, AuditQuery, AuditReader};

use crate::core::access::Researcher;
use crate::core::audit::Action;
use crate::core::error::Result;
use crate::people::People;

#[boxed_futures]
impl People {
    /// Returns the entries in which the caller appears, ascending, in pages that are read while they are taken; of
    /// those, only the ones of an action when one is named. Both ends, ms, are inclusive. All pages are of the log as
    /// it was when this was called. Forbidden without an active subscription.
    pub async fn audit_log(
        &self,
        researcher: &Researcher,
        from_ms: i64,
        to_ms: i64,
        action: Option<Action>,
    ) -> Result<impl Stream<Item = Result<Vec<AuditEntry>>> + Send + use<>> {
        let now_ms = self.core.now_ms();
        // Section 7 of the specification: 403 without an active subscription.
        researcher.require_subscription(now_ms)?;
        let appears = researcher.account.clone();
        // A key for named groups does not see what its account has done in other groups.
        let scoped_key = researcher.key_id.clone().filter(|_| researcher.key_scoped);
        let query = AuditQuery {
            appears,
            from_ms,
            to_ms,
            action_type: action.map(|action| ActionCode::new(action.code())),
            scoped_key,
        };
        let reader = self.core.users().read_audit(query, now_ms).await?;
        Ok(stream::try_unfold(reader, async |mut reader: AuditReader| {
            let page = reader.next_page().await?;
            Ok(page.map(|page| (page, reader)))
        }))
    }
}
