//! The patients of a group, composed of both databases.

use boxed_futures::boxed_futures;
use store::{Device, GroupCode, Patient, PatientId, Profile};
use vitals::latest::LatestValues;

use crate::core::access::{Readable, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::identity::health_sessions::HealthCaller;
use crate::people::People;

/// A patient as a list shows them.
#[derive(Clone)]
pub struct PatientRow {
    /// Identity, in both databases.
    pub uuid: PatientId,
    /// What the users database knows of them; `None` where that cannot be read.
    pub patient: Option<Patient>,
    /// Their names and so on.
    pub person: Person,
    /// Their body.
    pub profile: Profile,
    /// Their newest bracelet.
    pub device: Option<Device>,
    /// Their newest valid vital signs; present where they are wanted, also when there are none.
    pub latest_values: Option<LatestValues>,
    /// Something of this is damaged in the store, and looks here as if it was not known.
    pub is_unreadable: bool,
}

#[boxed_futures]
impl People {
    /// The bracelets of the patient whose data the token opens, newest first.
    pub async fn devices(&self, caller: &HealthCaller) -> Result<Vec<Device>> {
        Ok(self.core.health().devices(caller.readable()?.uuid()).await?)
    }

    /// The patients of a group, in the order in which they joined. What is shown of them is then read part by part, so that
    /// a study of thousands takes no more memory than a small one.
    pub async fn readable_members(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
    ) -> Result<Readable<Vec<PatientId>>> {
        self.core.readable_members(researcher, group_code).await
    }

    /// A patient as a list shows them, without latest values.
    pub(crate) async fn patient_row(&self, readable: &Readable<PatientId>) -> Result<PatientRow> {
        let uuid = readable.uuid();
        // Access was checked before; the patient can have been erased since.
        let patient = self.core.users().patient(uuid).await?.ok_or(PlatformError::NotFound("patient"))?;
        let profile = self.core.health().patient(uuid).await?.map(|body| body.profile).unwrap_or_default();
        let device = self.core.health().devices(readable.uuid()).await?.into_iter().next();
        Ok(PatientRow {
            uuid: patient.uuid.clone(),
            person: Person::from_json(&patient.person)?,
            patient: Some(patient),
            profile,
            device,
            latest_values: None,
            is_unreadable: false,
        })
    }
}
