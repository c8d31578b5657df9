//! Groups after their creation: their texts, their end, and which patients they hold.

use boxed_futures::boxed_futures;
use serde_json::json;
use store::{Group, GroupCode, GroupDeletion, HealthChange, HealthMessage, PatientDetachment, PatientId};

use crate::core::access::Researcher;
use crate::core::audit::{Action, group_entity, patient_entity};
use crate::core::change::Change;
use crate::core::checks::{note, refuse};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::people::People;
use crate::people::enrolment::group_faults;

/// Texts of a group to change; those that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupChange {
    /// Name, which a group always has.
    pub name: Change<String>,
    /// Description; empty when it is taken away.
    pub description: Change<String>,
}

impl GroupChange {
    /// Returns everything that is wrong of what is named.
    pub fn faults(&self) -> FieldFaults {
        // A name that stays was judged when it was given.
        let name = self.name.as_ref().set().map_or("kept", String::as_str);
        let mut errors = group_faults(name, self.description.as_ref().set().map_or("", String::as_str));
        if self.name == Change::Removed {
            note(&mut errors, "name", "cannot be taken away");
        }
        errors
    }
}

#[boxed_futures]
impl People {
    /// Changes name and description of a group; answers the group as it then is.
    pub async fn change_group(&self, researcher: &Researcher, code: &GroupCode, change: GroupChange) -> Result<Group> {
        let group = self.core.managed_group(researcher, code).await?;
        let fields: Vec<&str> = [("name", &change.name), ("description", &change.description)]
            .into_iter()
            .filter_map(|(field, value)| value.is_named().then_some(field))
            .collect();
        if fields.is_empty() {
            return Err(PlatformError::invalid("name", "or description is required"));
        }
        refuse(change.faults())?;
        let (new_name, description) = (change.name.set(), change.description.text());
        let mut entry = self.core.entry(Action::GroupUpdate, researcher, group_entity(&group.id), None);
        // Names of fields and not their texts: a description can name people, and the log is kept.
        entry.details = Some(json!({ "fields": fields }).to_string());
        let audit = self.core.audit(vec![entry]);
        Ok(self.core.users().change_group(&group.code, new_name, description, audit).await?)
    }

    /// Deletes a group that holds no patient.
    pub async fn delete_group(&self, researcher: &Researcher, code: &GroupCode) -> Result<()> {
        let group = self.core.managed_group(researcher, code).await?;
        let entry = self.core.entry(Action::GroupDelete, researcher, group_entity(&group.id), None);
        match self.core.users().delete_group(&group.code, self.core.audit(vec![entry])).await? {
            GroupDeletion::Deleted => Ok(()),
            GroupDeletion::HasPatients => {
                Err(PlatformError::Conflict { code: "group_has_patients", message: "the group holds patients" })
            }
        }
    }

    /// Adds a patient, held by a group of the caller, to another group of theirs. Doing it again changes nothing.
    pub async fn attach_patient(&self, researcher: &Researcher, code: &GroupCode, patient: &PatientId) -> Result<()> {
        let group = self.core.managed_group(researcher, code).await?;
        // With the group alone, a member could take in patients of other studies by their uuids.
        self.core.patient_access(researcher, patient).await?;
        let secondary = Some(group_entity(&group.id));
        let entry = self.core.entry(Action::PatientAttachGroup, researcher, patient_entity(patient), secondary);
        let effective = self.effective_settings();
        if self.core.users().attach_patient(&group.code, patient, effective, self.core.audit(vec![entry])).await? {
            self.core.deliver_changes_of(patient).await?;
            self.core.wake_derivations();
        }
        Ok(())
    }

    /// Takes a patient out of a group. All health tokens for reading the patient's data on their behalf end; an
    /// account that still has access asks for another.
    pub async fn detach_patient(&self, researcher: &Researcher, code: &GroupCode, patient: &PatientId) -> Result<()> {
        let group = self.core.managed_group(researcher, code).await?;
        self.core.patient_access(researcher, patient).await?;
        let secondary = Some(group_entity(&group.id));
        let entry = self.core.entry(Action::PatientDetachGroup, researcher, patient_entity(patient), secondary);
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndReadersOfPatient { uuid: patient.clone(), at_ms: now_ms };
        let message =
            HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: now_ms };
        let effective = self.effective_settings();
        match self.core.users().detach_patient(&group.code, patient, effective, message).await? {
            PatientDetachment::Detached => {}
            PatientDetachment::NotHeld => return Err(PlatformError::NotFound("patient")),
            // Nobody could reach the patient any more, not even to erase them (refinement 14).
            PatientDetachment::LastGroup => {
                let message = "no other group holds the patient";
                return Err(PlatformError::Conflict { code: "last_group", message });
            }
        }
        self.core.deliver_changes_of(patient).await?;
        self.core.wake_derivations();
        Ok(())
    }
}
