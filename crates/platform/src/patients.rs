//! The patients of a group, composed of both databases.

use std::collections::HashMap;

use serde_json::value::RawValue;
use store::{Device, HealthPatient, Patient, Profile};

use crate::access::Researcher;
use crate::environment::Platform;
use crate::error::Result;
use crate::health_sessions::HealthCaller;
use crate::profile::Person;

/// Which columns of a patient row are wanted; what is not wanted is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatientColumns {
    /// What the health database knows of the body.
    pub profile: bool,
    /// The newest bracelet.
    pub device: bool,
    /// The newest valid vital signs.
    pub latest_values: bool,
}

/// A patient as a list shows him.
#[derive(Clone)]
pub struct PatientRow {
    /// The patient.
    pub patient: Patient,
    /// His names and so on.
    pub person: Person,
    /// His body.
    pub profile: Profile,
    /// His newest bracelet.
    pub device: Option<Device>,
    /// His newest valid vital signs, as the JSON that the store keeps.
    pub latest_values: Option<Box<RawValue>>,
}

impl Platform {
    /// The bracelets of the patient whose data the token opens, newest first.
    pub async fn devices(&self, caller: &HealthCaller) -> Result<Vec<Device>> {
        caller.require("patient.read")?;
        Ok(self.health.devices(&caller.patient).await?)
    }

    /// The patients of a group, in the order in which they joined.
    pub async fn group_patients(
        &self,
        researcher: &Researcher,
        group_code: &str,
        columns: PatientColumns,
    ) -> Result<Vec<PatientRow>> {
        let group = self.group_access(researcher, group_code).await?;
        let patients = self.users.patients_of(&group.code).await?;
        let uuids: Vec<String> = patients.iter().map(|patient| patient.uuid.clone()).collect();
        let mut bodies: HashMap<String, HealthPatient> = HashMap::new();
        if columns.profile {
            bodies = self.health.patients(uuids.clone()).await?;
        }
        let mut devices: HashMap<String, Device> = HashMap::new();
        if columns.device {
            devices = self.health.newest_devices(uuids.clone()).await?;
        }
        // MERGE: latest values. `if columns.latest_values { latest = self.health.latest_values(uuids).await? }`.
        patients
            .into_iter()
            .map(|patient| {
                Ok(PatientRow {
                    person: Person::from_json(&patient.person)?,
                    profile: bodies.remove(&patient.uuid).map(|body| body.profile).unwrap_or_default(),
                    device: devices.remove(&patient.uuid),
                    latest_values: None,
                    patient,
                })
            })
            .collect()
    }
}
