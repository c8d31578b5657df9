//! Bracelets: which there are, and who wears which. Practitioners may do all of this.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use serde_json::json;
use store::{
    Attachment, AttachmentId, Bracelet, BraceletId, Completion, Device, HealthChange, HealthMessage, PatientId,
    SerialNumber, StoreError, UserId,
};

use crate::core::access::Researcher;
use crate::core::audit::{Action, bracelet_entity, user_entity};
use crate::core::change::Change;
use crate::core::checks::{is_blank, note, refuse};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::people::People;

const LONGEST_TEXT: usize = 100;
/// Attempts at a change while others change the same bracelet.
const TRIES: usize = 5;

/// A bracelet to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBracelet {
    /// Serial number, as it is printed on the bracelet.
    pub serial_number: SerialNumber,
    /// Model.
    pub device_type: String,
    /// Version of its firmware.
    pub firmware_version: Option<String>,
}

/// Attributes of a bracelet to change; those that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BraceletChange {
    /// Model, which a bracelet always has.
    pub device_type: Change<String>,
    /// Version of its firmware.
    pub firmware_version: Change<String>,
}

/// A bracelet in the list of the inventory and of what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBracelet {
    /// Its serial number.
    pub serial_number: SerialNumber,
    /// Its record, where the caller may act on it.
    pub bracelet: Option<Bracelet>,
    /// Whether anybody has registered it.
    pub is_registered: bool,
    /// Its last report, and the patient who wore it then.
    pub seen: Option<(PatientId, Device)>,
}

impl NewBracelet {
    /// Returns everything that is wrong.
    pub fn faults(&self) -> FieldFaults {
        text_faults([
            ("serial_number", Some(self.serial_number.as_str())),
            ("device_type", Some(self.device_type.as_str())),
            ("firmware_version", self.firmware_version.as_deref()),
        ])
    }
}

impl BraceletChange {
    /// Returns everything that is wrong of what is named.
    pub fn faults(&self) -> FieldFaults {
        let mut errors = text_faults([
            ("device_type", self.device_type.as_ref().set().map(String::as_str)),
            ("firmware_version", self.firmware_version.as_ref().set().map(String::as_str)),
        ]);
        if self.device_type == Change::Removed {
            note(&mut errors, "device_type", "cannot be taken away");
        }
        errors
    }
}

impl From<Bracelet> for ListedBracelet {
    /// Makes the entry of a bracelet that has reported nothing.
    fn from(bracelet: Bracelet) -> Self {
        let serial_number = bracelet.serial_number.clone();
        ListedBracelet { serial_number, bracelet: Some(bracelet), is_registered: true, seen: None }
    }
}

#[boxed_futures]
impl People {
    /// Returns the bracelets that the caller may act on, oldest first: those that their patients wear, and those that
    /// nobody wears and that an account of their groups has registered (a key for named groups sees the worn ones only);
    /// then, by serial number, those that syncs of their patients have named. A sync registers and attaches nothing.
    pub async fn bracelets(&self, researcher: &Researcher) -> Result<Vec<ListedBracelet>> {
        let inventory = self.core.users().bracelets(&researcher.account, researcher.key_id.as_ref()).await?;
        let patients = self.core.readable_patients(researcher).await?;
        let devices = self.core.health().devices_of_patients(patients.uuids().to_vec()).await?;
        // They come in the order of their last reports, so the newest wearer takes the place of earlier ones.
        let mut seen: BTreeMap<SerialNumber, (PatientId, Device)> = BTreeMap::new();
        for (patient, device) in devices {
            seen.insert(device.serial_number.clone(), (patient, device));
        }
        let mut all: Vec<ListedBracelet> = Vec::with_capacity(inventory.len() + seen.len());
        for bracelet in inventory {
            let seen = seen.remove(&bracelet.serial_number);
            let serial_number = bracelet.serial_number.clone();
            all.push(ListedBracelet { serial_number, bracelet: Some(bracelet), is_registered: true, seen });
        }
        // Also those that others have registered: registering them again would be refused.
        let registered = self.core.users().registered(seen.keys().cloned().collect()).await?;
        all.extend(seen.into_iter().map(|(serial_number, seen)| {
            let is_registered = registered.contains(&serial_number);
            ListedBracelet { serial_number, bracelet: None, is_registered, seen: Some(seen) }
        }));
        Ok(all)
    }

    /// Registers a bracelet. Forbidden for a key for named groups: the bracelet would belong to none of them.
    pub async fn register_bracelet(&self, researcher: &Researcher, new: NewBracelet) -> Result<Bracelet> {
        if researcher.key_scoped {
            return Err(PlatformError::Forbidden("a key for named groups cannot register bracelets"));
        }
        refuse(new.faults())?;
        let bracelet = Bracelet {
            id: BraceletId::new(self.core.new_record_id()),
            serial_number: new.serial_number,
            device_type: new.device_type,
            firmware_version: new.firmware_version,
            registered_by: researcher.account.clone(),
            created_ms: self.core.now_ms(),
            worn_by: None,
        };
        let user = user_entity(&UserId::from(&researcher.account));
        let entry = self.core.entry(Action::BraceletCreate, researcher, user, Some(bracelet_entity(&bracelet.id)));
        match self.core.users().add_bracelet(bracelet.clone(), self.core.audit(vec![entry])).await {
            Ok(()) => Ok(bracelet),
            Err(StoreError::Conflict(_)) => Err(PlatformError::Conflict {
                code: "duplicate_serial_number",
                message: "a bracelet with this serial number is registered",
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes model or firmware of a bracelet; answers it as it then is.
    pub async fn change_bracelet(
        &self,
        researcher: &Researcher,
        serial_number: &SerialNumber,
        change: BraceletChange,
    ) -> Result<Bracelet> {
        refuse(change.faults())?;
        if change == BraceletChange::default() {
            return Err(PlatformError::invalid("firmware_version", "or device_type is required"));
        }
        for _ in 0..TRIES {
            let mut bracelet = self.bracelet_access(researcher, serial_number).await?;
            bracelet.device_type = change.device_type.clone().set().unwrap_or(bracelet.device_type);
            bracelet.firmware_version = change.firmware_version.clone().over(bracelet.firmware_version);
            let mut entry = self.core.entry(Action::BraceletUpdate, researcher, bracelet_entity(&bracelet.id), None);
            entry.details = Some(
                json!({"device_type": bracelet.device_type, "firmware_version": bracelet.firmware_version}).to_string(),
            );
            // A bracelet that nobody wears is in the users database alone; of a worn one the health database shows the device.
            let completion = match &bracelet.worn_by {
                None => Completion::Here(self.core.audit(vec![entry])),
                Some(patient) => Completion::Enqueued(Box::new(
                    self.message(device_of(patient, &bracelet, self.core.now_ms()), entry),
                )),
            };
            // False when it was attached, detached or removed since it was read: then the other form of completion is needed.
            if self.core.users().change_bracelet(bracelet.clone(), completion).await? {
                if let Some(patient) = &bracelet.worn_by {
                    self.core.deliver_changes_of(patient).await?;
                }
                return Ok(bracelet);
            }
        }
        Err(PlatformError::Conflict { code: "bracelet_busy", message: "the bracelet is changing hands just now" })
    }

    /// Removes a bracelet that nobody wears.
    pub async fn remove_bracelet(&self, researcher: &Researcher, serial_number: &SerialNumber) -> Result<()> {
        let bracelet = self.bracelet_access(researcher, serial_number).await?;
        let entry = self.core.entry(Action::BraceletDelete, researcher, bracelet_entity(&bracelet.id), None);
        if self.core.users().remove_bracelet(&bracelet.id, self.core.audit(vec![entry])).await? {
            return Ok(());
        }
        Err(attached_conflict("a patient wears the bracelet"))
    }

    /// Puts a bracelet on a patient's wrist. Doing it again changes nothing.
    pub async fn attach_bracelet(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        serial_number: &SerialNumber,
    ) -> Result<()> {
        self.core.patient_access(researcher, patient).await?;
        let bracelet = self.bracelet_access(researcher, serial_number).await?;
        let mut entry = self.core.entry(Action::BraceletAttach, researcher, bracelet_entity(&bracelet.id), None);
        entry.details = Some(json!({ "patient": patient }).to_string());
        let now_ms = self.core.now_ms();
        let message = self.message(device_of(patient, &bracelet, now_ms), entry);
        match self
            .core
            .users()
            .attach_bracelet(&AttachmentId::new(self.core.new_record_id()), &bracelet.id, patient, now_ms, message)
            .await?
        {
            Attachment::Attached => self.core.deliver_changes_of(patient).await,
            Attachment::WornAlready => Ok(()),
            Attachment::WornByAnother => Err(attached_conflict("another patient wears the bracelet")),
        }
    }

    /// Takes a bracelet off a patient's wrist.
    pub async fn detach_bracelet(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        serial_number: &SerialNumber,
    ) -> Result<()> {
        self.core.patient_access(researcher, patient).await?;
        let (account, key_id) = (&researcher.account, researcher.key_id.as_ref());
        // Not by the right to the bracelet: anyone who has access to the patient may take it off.
        let found = self.core.users().bracelet(serial_number, account, key_id).await?;
        let found = found.map(|(bracelet, _)| bracelet).filter(|found| found.worn_by.as_ref() == Some(patient));
        let bracelet = found.ok_or(PlatformError::NotFound("bracelet"))?;
        let mut entry = self.core.entry(Action::BraceletDetach, researcher, bracelet_entity(&bracelet.id), None);
        entry.details = Some(json!({ "patient": patient }).to_string());
        let (uuid, serial_number) = (patient.clone(), bracelet.serial_number.clone());
        let message = self.message(HealthChange::RemoveDevice { uuid, serial_number }, entry);
        // Nothing is written where another call has detached it in between: that one has written the entry.
        if !self.core.users().detach_bracelet(&bracelet.id, patient, self.core.now_ms(), message).await? {
            return Err(PlatformError::NotFound("bracelet"));
        }
        self.core.deliver_changes_of(patient).await
    }

    /// Returns the bracelet, when the caller may act on it.
    async fn bracelet_access(&self, researcher: &Researcher, serial_number: &SerialNumber) -> Result<Bracelet> {
        let found = self.core.users().bracelet(serial_number, &researcher.account, researcher.key_id.as_ref()).await?;
        match found.ok_or(PlatformError::NotFound("bracelet"))? {
            (bracelet, true) => Ok(bracelet),
            (_, false) => Err(PlatformError::Forbidden("the caller has no access to this bracelet")),
        }
    }

    fn message(&self, change: HealthChange, entry: store::NewAuditEntry) -> HealthMessage {
        HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: self.core.now_ms() }
    }
}

fn device_of(patient: &PatientId, bracelet: &Bracelet, at_ms: i64) -> HealthChange {
    HealthChange::PutDevice {
        uuid: patient.clone(),
        serial_number: bracelet.serial_number.clone(),
        device_type: bracelet.device_type.clone(),
        firmware_version: bracelet.firmware_version.clone(),
        at_ms,
    }
}

fn attached_conflict(message: &'static str) -> PlatformError {
    PlatformError::Conflict { code: "bracelet_attached", message }
}

fn text_faults<const COUNT: usize>(texts: [(&str, Option<&str>); COUNT]) -> FieldFaults {
    let mut errors = FieldFaults::new();
    for (field, text) in texts {
        let Some(text) = text else { continue };
        let fits = (1..=LONGEST_TEXT).contains(&text.chars().count());
        // A blank that nobody sees would make a second bracelet of the same serial number.
        if !fits || text.trim_matches(is_blank) != text || text.chars().any(char::is_control) {
            note(&mut errors, field, "must have 1 to 100 characters, without blanks around");
        }
    }
    errors
}
