//! Which store this database belongs to, and whether that store has been made.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::StoreId;
use crate::readers::is_any;
use crate::texts::{record, sql};

record! {
    identity_columns!(""), read_identity(row) -> StoreIdentity { id, is_bound = "bound" by is_any }
}

sql! {
    READ = concat!("SELECT ", identity_columns!(), " FROM store_identity");
    BEGIN = "INSERT INTO store_identity (one, id, bound) VALUES (1, $1, 0) ON CONFLICT (one) DO NOTHING";
    /// Of several processes that make a store, one finishes it, and its objects are the store's.
    BIND = "UPDATE store_identity SET bound = 1 WHERE bound = 0";
}

/// The identity of a store as the users database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreIdentity {
    /// The identity.
    pub id: StoreId,
    /// Whether the store has been made: then the other database and the objects must have the same.
    pub is_bound: bool,
}

#[boxed_futures]
impl UsersDb {
    /// Returns the identity of the store; none before anybody began to make it.
    pub async fn store_identity(&self) -> Result<Option<StoreIdentity>> {
        self.db.read(async move |tx| tx.query_opt(READ, &[], read_identity).await).await
    }

    /// Returns whether the identity can be read, in less than a second whatever else the database is asked.
    pub async fn probe_identity(&self) -> Result<()> {
        self.db.probe(async |tx: &Tx<'_>| tx.query_opt(READ, &[], read_identity).await.map(drop)).await
    }

    /// Begins a store, unless one was begun.
    pub async fn begin_store(&self, id: &StoreId) -> Result<()> {
        let id = id.clone();
        self.db.write(async move |tx| tx.execute(BEGIN, &[&id]).await.map(drop)).await
    }

    /// Says that both databases have the identity. Whether that was not said before.
    pub async fn bind_store(&self) -> Result<bool> {
        Ok(self.db.write(async |tx| tx.execute(BIND, &[]).await).await? > 0)
    }
}
