//! Which store this database belongs to.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::StoreId;
use crate::texts::sql;

sql! {
    READ = "SELECT id FROM store_identity";
    SET = "INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the identity of the store; none before it is made.
    pub async fn store_id(&self) -> Result<Option<StoreId>> {
        self.db.read(async |tx| tx.query_opt(READ, &[], |row| row.get(0)).await).await
    }

    /// Returns whether the identity can be read, in less than a second whatever else the database is asked.
    pub async fn probe_identity(&self) -> Result<()> {
        self.db.probe(async |tx: &Tx<'_>| tx.query_opt(READ, &[], |row| row.get::<StoreId>(0)).await.map(drop)).await
    }

    /// Makes the database part of a store, unless it is part of one already.
    pub async fn set_store_id(&self, id: &StoreId) -> Result<()> {
        let id = id.clone();
        self.db.write(async move |tx| tx.execute(SET, &[&id]).await.map(drop)).await
    }
}
