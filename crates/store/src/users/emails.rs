//! Addresses to log in with. A login asks for an address alone and must not find two people by it, but accounts and
//! patients are two tables, over which no index can reach: whatever takes an address holds it first.

use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::texts::sql;

sql! {
    /// A lock of the transaction on the address. Of two that want it, the second looks for a holder when the first has ended;
    /// SQLite lets only one write anyway.
    HOLD = "SELECT CAST($1 AS TEXT)
        /*postgres , pg_advisory_xact_lock(hashtextextended(CAST($1 AS TEXT), 0)) postgres*/";
    OF_ACCOUNT = "SELECT uuid FROM account WHERE email = $1";
    OF_PATIENT = "SELECT uuid FROM patient WHERE email = $1";
}

/// Holds an address for an account until the transaction ends. [`StoreError::Conflict`] when a patient has it; that
/// another account has it, the key of the table says.
pub(super) async fn hold_for_account(tx: &Tx<'_>, email: &str) -> Result<()> {
    hold(tx, email).await?;
    match tx.query_opt(OF_PATIENT, &[&email], |_| Ok(())).await? {
        Some(()) => Err(StoreError::Conflict("a patient has this e-mail".to_owned())),
        None => Ok(()),
    }
}

/// The same for a patient. [`StoreError::Conflict`] when an account has it.
pub(super) async fn hold_for_patient(tx: &Tx<'_>, email: Option<&str>) -> Result<()> {
    let Some(email) = email else { return Ok(()) };
    hold(tx, email).await?;
    match tx.query_opt(OF_ACCOUNT, &[&email], |_| Ok(())).await? {
        Some(()) => Err(StoreError::Conflict("an account has this e-mail".to_owned())),
        None => Ok(()),
    }
}

async fn hold(tx: &Tx<'_>, email: &str) -> Result<()> {
    tx.query_opt(HOLD, &[&email], |_| Ok(())).await.map(drop)
}
