//! Patients: erasure.

use clap::Args;
use platform::Platform;
use serde_json::{Value, json};
use uuid::Uuid;

use super::operate::Operate;
use crate::failure::Failure;
use crate::values::iso;
use crate::wiring::Expected;
use store::PatientId;

/// Erase a patient with everything that was measured of them, for good; prints the receipt
#[derive(Args)]
pub struct ErasePatient {
    /// The patient
    #[arg(value_name = "UUID")]
    patient: Uuid,
}

impl Operate for ErasePatient {
    fn expected(&self) -> Expected {
        Expected::Store
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
