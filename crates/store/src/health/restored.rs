//! What a copy of the database holds of the processes that worked on it when it was copied.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    FORGET_NODES = "DELETE FROM node";
    FORGET_HOLDS = "DELETE FROM object_hold";
    FREE_JOBS = "UPDATE job SET node = NULL, ready_ms = $1 WHERE node IS NOT NULL";
    /// But for patients who were put aside until 9999 ([`NEVER_MS`](super::NEVER_MS)).
    FREE_PATIENTS = "UPDATE patient SET fold_node = NULL, fold_lease_until_ms = 0
        WHERE fold_lease_until_ms > 0 AND fold_lease_until_ms < 253402300799000";
}

#[boxed_futures]
impl HealthDb {
    /// Ends what processes held when the database was copied: none of them works on the copy. Their leases would keep
    /// everything that they had begun waiting, and the hold of the backup its dead objects.
    pub async fn forget_processes(&self, now_ms: i64) -> Result<()> {
        self.db
            .write(async move |tx: &Tx<'_>| {
                tx.put(FORGET_NODES, &[]).await?;
                tx.put(FORGET_HOLDS, &[]).await?;
                tx.put(FREE_JOBS, &[&now_ms]).await?;
                tx.put(FREE_PATIENTS, &[]).await
            })
            .await
    }
}
