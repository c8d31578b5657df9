//! The patients of a list, composed of both databases part by part.

use runtime::HashMap;
use store::{Device, HealthPatient, Patient, PatientId};

use crate::core::access::Readable;
use crate::core::error::Result;
use crate::core::person::Person;
use crate::data::Data;
use crate::people::patients::PatientRow;

/// Patients whose rows are best read together: a longer list is streamed in such parts.
pub const ROWS_AT_ONCE: usize = 512;

/// Which columns of a patient row are wanted; what is not wanted is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each column is wanted or not")]
pub struct PatientColumns {
    /// Their names and so on.
    pub person: bool,
    /// What the health database knows of the body.
    pub profile: bool,
    /// The newest bracelet.
    pub device: bool,
    /// The newest valid vital signs.
    pub latest_values: bool,
}

impl Data {
    /// The rows of patients, in their order. Best called with [`ROWS_AT_ONCE`]; who has been removed meanwhile is left out.
    pub async fn patient_rows(
        &self,
        wanted: &Readable<Vec<PatientId>>,
        columns: PatientColumns,
    ) -> Result<Vec<PatientRow>> {
        let (mut patients, mut bodies, mut devices, mut latest) = tokio::try_join!(
            self.persons_of(wanted),
            async { if columns.profile { self.bodies_of(wanted).await } else { Ok(HashMap::default()) } },
            async { if columns.device { self.newest_devices_of(wanted).await } else { Ok(HashMap::default()) } },
            async { if columns.latest_values { self.latest_values(wanted).await } else { Ok(HashMap::default()) } },
        )?;
        let row_of = |patient: Patient| {
            let person = if columns.person { Person::from_json(&patient.person)? } else { Person::default() };
            Ok(PatientRow {
                person,
                profile: bodies.remove(&patient.uuid).map(|body| body.profile).unwrap_or_default(),
                device: devices.remove(&patient.uuid),
                latest_values: columns.latest_values.then(|| latest.remove(&patient.uuid).unwrap_or_default()),
                patient,
            })
        };
        // The users database decides who is there; a patient who is being erased can still have rows in the other.
        wanted.uuids().iter().filter_map(|uuid| patients.remove(uuid)).map(row_of).collect()
    }

    async fn persons_of(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, Patient>> {
        Ok(self.core.users().patients(patients.uuids().to_vec()).await?)
    }

    async fn bodies_of(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, HealthPatient>> {
        Ok(self.core.health().patients(patients.uuids().to_vec()).await?)
    }

    async fn newest_devices_of(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, Device>> {
        Ok(self.core.health().newest_devices(patients.uuids().to_vec()).await?)
    }
}
