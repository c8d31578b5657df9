//! The head of the audit log: the transaction that holds it writes next, to the log and to the security log behind it.

use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    HOLD = "UPDATE audit_head SET number = number";
}

/// Makes what is being written come before or after what follows in this transaction.
pub(super) async fn hold(tx: &Tx<'_>) -> Result<()> {
    tx.execute(HOLD, &[]).await.map(drop)
}
