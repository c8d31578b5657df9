//! Patients: erasure.

use clap::{ArgMatches, Args};
use platform::{Platform, Settings};
use serde_json::{Value, json};
use uuid::Uuid;

use super::operate::Operate;
use crate::config::{self, CopyOptions, StoreOptions};
use crate::failure::Failure;
use crate::values::iso;
use crate::wiring::{self, Expected};
use store::PatientId;

/// Erase a patient with everything that was measured of them, for good; prints the receipt
#[derive(Args)]
pub struct ErasePatient {
    /// The patient
    #[arg(value_name = "UUID")]
    patient: Uuid,
    #[command(flatten)]
    copies: CopyOptions,
}

impl Operate for ErasePatient {
    fn expected(&self) -> Expected {
        Expected::Store
    }

    fn settings(&self, store: &StoreOptions, matches: &ArgMatches) -> Result<Settings, Failure> {
        let copies = config::complete(self.copies.clone(), matches, store.config.as_deref())?;
        let object_copies = wiring::object_copies(copies.object_copies.as_deref(), store)?;
        Ok(Settings { object_copies, ..Settings::default() })
    }

    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let patient = PatientId::new(self.patient.to_string());
        platform.people.erase_patient_as_operator(&patient).await?;
        // Where the databases are files, nobody else may come to rewrite them: the service may not be running.
        platform.upkeep.overwrite_erased().await?;
        let receipt = platform.people.erase_patient_as_operator(&patient).await?;
        let remains =
            receipt.remains.iter().map(|left| json!({"where": left.place.name(), "until": left.until_ms.map(iso)}));
        let remains: Vec<Value> = remains.collect();
        Ok(json!({"uuid": receipt.uuid, "erased_at": iso(receipt.erased_ms), "counts": receipt.counts,
            "remains": remains}))
    }
}
