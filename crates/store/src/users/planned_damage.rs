//! Damage that tests of the crates above ask for.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    // There is no state of this name, so the row cannot be read. Nothing of this database has a checksum.
    PATIENT = "UPDATE patient SET state = 'damaged' WHERE uuid = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Makes the row of a patient one that cannot be read, for tests.
    pub async fn damage(&self, patient: &PatientId) -> Result<()> {
        let patient = patient.clone();
        self.db.write(async move |tx| tx.put(PATIENT, &[&patient]).await).await
    }
}
