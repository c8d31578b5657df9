//! The patients of a group, composed of both databases.

use runtime::HashMap;
use store::{Device, HealthPatient, Patient, Profile};
use vitals::latest::LatestValues;

use crate::core::access::Researcher;
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::identity::health_sessions::HealthCaller;
use crate::platform::Platform;

/// Patients whose rows are best read together: a longer list is streamed in such parts.
pub const ROWS_AT_ONCE: usize = 512;

/// Which columns of a patient row are wanted; what is not wanted is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each column is wanted or not")]
pub struct PatientColumns {
    /// His names and so on.
    pub person: bool,
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
    /// His newest valid vital signs; present where they are wanted, also when there are none.
    pub latest_values: Option<LatestValues>,
}

impl Platform {
    /// The bracelets of the patient whose data the token opens, newest first.
    pub async fn devices(&self, caller: &HealthCaller) -> Result<Vec<Device>> {
        caller.require("patient.read")?;
        Ok(self.core.health().devices(&caller.patient).await?)
    }

    /// The uuids of the patients of a group, in the order in which they joined. What is shown of them is then read
    /// part by part, so that a study of thousands takes no more memory than a small one.
    pub async fn uuids_of_group(&self, researcher: &Researcher, group_code: &str) -> Result<Vec<String>> {
        let group = self.core.group_access(researcher, group_code).await?;
        Ok(self.core.users().uuids_of(&group.code).await?)
    }

    /// The rows of patients whom the caller has been found to have access to, in their order. Best called with
    /// [`ROWS_AT_ONCE`]; who has been removed meanwhile is left out.
    pub async fn patient_rows(&self, uuids: &[String], columns: PatientColumns) -> Result<Vec<PatientRow>> {
        let (mut patients, mut bodies, mut devices, mut latest) = tokio::try_join!(
            self.persons_of(uuids),
            self.bodies_of(columns.profile, uuids),
            self.newest_devices_of(columns.device, uuids),
            self.latest_of(columns.latest_values, uuids),
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
        uuids.iter().filter_map(|uuid| patients.remove(uuid)).map(row_of).collect()
    }

    /// A patient whom the caller has been found to have access to.
    pub(crate) async fn patient_row(&self, uuid: &str) -> Result<PatientRow> {
        let patient = self.core.users().patient(uuid).await?.ok_or(PlatformError::NotFound("patient"))?;
        let profile = self.core.health().patient(uuid).await?.map(|body| body.profile).unwrap_or_default();
        let device = self.core.health().devices(uuid).await?.into_iter().next();
        Ok(PatientRow { person: Person::from_json(&patient.person)?, patient, profile, device, latest_values: None })
    }

    async fn persons_of(&self, uuids: &[String]) -> Result<HashMap<String, Patient>> {
        Ok(self.core.users().patients(uuids.to_vec()).await?)
    }

    async fn bodies_of(&self, wanted: bool, uuids: &[String]) -> Result<HashMap<String, HealthPatient>> {
        if !wanted {
            return Ok(HashMap::default());
        }
        Ok(self.core.health().patients(uuids.to_vec()).await?)
    }

    async fn newest_devices_of(&self, wanted: bool, uuids: &[String]) -> Result<HashMap<String, Device>> {
        if !wanted {
            return Ok(HashMap::default());
        }
        Ok(self.core.health().newest_devices(uuids.to_vec()).await?)
    }

    async fn latest_of(&self, wanted: bool, uuids: &[String]) -> Result<HashMap<String, LatestValues>> {
        if !wanted {
            return Ok(HashMap::default());
        }
        self.latest_values(uuids.to_vec()).await
    }
}
