//! Damage that tests of the crates above ask for.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    CHUNKS = "UPDATE chunk SET sum = sum + 1 WHERE patient = $1";
    LAST_CHUNK = "UPDATE chunk SET sum = sum + 1 WHERE patient = $1 AND data_type = $2
        AND last_us = (SELECT MAX(last_us) FROM chunk WHERE patient = $1 AND data_type = $2)";
    DERIVED = "UPDATE derived SET sum = sum + 1 WHERE patient = $1 AND output = $2";
    SETTINGS = "UPDATE patient_setting SET sum = sum + 1 WHERE patient = $1";
    CATALOG = "UPDATE segment SET sum = sum + 1 WHERE patient = $1";
    PROFILE = "UPDATE patient SET weight = COALESCE(weight, 0) + 1 WHERE uuid = $1";
    LATEST = "UPDATE patient SET latest = REPLACE(latest, '1', '2') WHERE uuid = $1";
}

/// What is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageTarget {
    /// Chunks that are not sealed.
    Chunks,
    /// The latest chunk of a type that is not sealed.
    LastChunk(vitals::registry::DataType),
    /// Derived values of an output.
    Derived(vitals::derivation::Output),
    /// Latest values.
    Latest,
    /// Settings, the rules of retention among them.
    Settings,
    /// The body.
    Profile,
    /// What the catalog says of sealed files.
    Catalog,
}

#[boxed_futures]
impl HealthDb {
    /// Lets stored rows of a patient differ from their checksums, for tests.
    pub async fn damage(&self, patient: &PatientId, target: DamageTarget) -> Result<()> {
        let patient = patient.clone();
        self.db
            .write(async move |tx| match target {
                DamageTarget::Chunks => tx.put(CHUNKS, &[&patient]).await,
                DamageTarget::LastChunk(of_type) => tx.put(LAST_CHUNK, &[&patient, &of_type.number()]).await,
                DamageTarget::Derived(output) => tx.put(DERIVED, &[&patient, &output.number()]).await,
                DamageTarget::Settings => tx.put(SETTINGS, &[&patient]).await,
                DamageTarget::Latest => tx.put(LATEST, &[&patient]).await,
                DamageTarget::Profile => tx.put(PROFILE, &[&patient]).await,
                DamageTarget::Catalog => tx.put(CATALOG, &[&patient]).await,
            })
            .await
    }
}
