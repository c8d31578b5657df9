//! The patients of a list, composed of both databases part by part.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::{Device, HealthPatient, Patient, PatientId};
use vitals::latest::LatestValues;

use crate::core::access::Readable;
use crate::core::error::Result;
use crate::core::person::Person;
use crate::data::Data;
use crate::data::unreadable::{ReadOfMany, if_sound};
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

#[boxed_futures]
impl Data {
    /// The rows of patients, in their order. Best called with [`ROWS_AT_ONCE`]; who has been removed meanwhile is left out.
    /// A patient with damaged stored data has a row that says so, with what is sound.
    pub async fn patient_rows(
        &self,
        wanted: Readable<Vec<PatientId>>,
        columns: PatientColumns,
    ) -> Result<Vec<PatientRow>> {
        self.read_each(wanted, &PatientRows { data: self, columns }).await
    }
}

/// Rows of a list.
struct PatientRows<'read> {
    data: &'read Data,
    columns: PatientColumns,
}

/// What the health database knows of patients, as far as it is wanted.
struct Measured {
    bodies: HashMap<PatientId, HealthPatient>,
    devices: HashMap<PatientId, Device>,
    latest: HashMap<PatientId, LatestValues>,
}

impl ReadOfMany for PatientRows<'_> {
    type Row = PatientRow;

    const NAME: &'static str = "list of patients";

    async fn rows(&self, patients: &Readable<Vec<PatientId>>) -> Result<Vec<PatientRow>> {
        let (mut persons, bodies, devices, latest) = tokio::try_join!(
            self.persons(patients),
            self.bodies(patients),
            self.devices(patients),
            self.latest(patients),
        )?;
        let mut measured = Measured { bodies, devices, latest };
        let row_of = |patient: Patient| {
            let person = if self.columns.person { Person::from_json(&patient.person)? } else { Person::default() };
            Ok(PatientRow { person, ..self.row(patient.uuid.clone(), Some(patient), &mut measured) })
        };
        // The users database decides who is there; a patient who is being erased can still have rows in the other.
        patients.uuids().iter().filter_map(|uuid| persons.remove(uuid)).map(row_of).collect()
    }

    async fn marked(&self, patient: &Readable<Vec<PatientId>>) -> Result<Vec<PatientRow>> {
        let persons = self.persons(patient).await;
        if persons.as_ref().is_ok_and(HashMap::is_empty) {
            return Ok(Vec::new());
        }
        let mut persons = if_sound(persons)?;
        let mut measured = Measured {
            bodies: if_sound(self.bodies(patient).await)?,
            devices: if_sound(self.devices(patient).await)?,
            latest: if_sound(self.latest(patient).await)?,
        };
        let row_of = |uuid: &PatientId| {
            let patient = persons.remove(uuid);
            let person = patient.as_ref().and_then(|patient| Person::from_json(&patient.person).ok());
            let row = self.row(uuid.clone(), patient, &mut measured);
            PatientRow {
                person: person.filter(|_| self.columns.person).unwrap_or_default(),
                is_unreadable: true,
                ..row
            }
        };
        Ok(patient.uuids().iter().map(row_of).collect())
    }
}

impl PatientRows<'_> {
    /// A row but for the person.
    fn row(&self, uuid: PatientId, patient: Option<Patient>, measured: &mut Measured) -> PatientRow {
        let latest = measured.latest.remove(&uuid);
        PatientRow {
            patient,
            person: Person::default(),
            profile: measured.bodies.remove(&uuid).map(|body| body.profile).unwrap_or_default(),
            device: measured.devices.remove(&uuid),
            latest_values: self.columns.latest_values.then(|| latest.unwrap_or_default()),
            is_unreadable: false,
            uuid,
        }
    }

    async fn persons(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, Patient>> {
        Ok(self.data.core.users().patients(patients.uuids().to_vec()).await?)
    }

    // What is not wanted is not read: its failure would be no reason to fail.

    async fn bodies(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, HealthPatient>> {
        if !self.columns.profile {
            return Ok(HashMap::default());
        }
        Ok(self.data.core.health().patients(patients.uuids().to_vec()).await?)
    }

    async fn devices(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, Device>> {
        if !self.columns.device {
            return Ok(HashMap::default());
        }
        Ok(self.data.core.health().newest_devices(patients.uuids().to_vec()).await?)
    }

    async fn latest(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, LatestValues>> {
        if !self.columns.latest_values {
            return Ok(HashMap::default());
        }
        self.data.latest_values(patients).await
    }
}
