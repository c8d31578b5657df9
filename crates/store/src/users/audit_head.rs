//! The head of the audit log: the transaction that holds it writes next, to the log and to the security log behind it.

use super::db::UsersDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

/// The line of all writes that hold the head. No owner has such a name.
pub(super) const LINE: &str = "audit_head";

sql! {
    HOLD = "UPDATE audit_head SET number = number";
}

/// Makes what is being written come before or after what follows in this transaction.
pub(super) async fn hold(tx: &Tx<'_>) -> Result<()> {
    tx.execute(HOLD, &[]).await.map(drop)
}

impl UsersDb {
    /// Writes in a transaction that comes to hold the head. A node that freezes with it keeps the others waiting, so
    /// those that wait leave most connections to what needs no head.
    pub(super) async fn write_logged<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        self.db.write_in_line(&[LINE], work).await
    }
}
