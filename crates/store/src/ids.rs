//! Identifiers. Each kind is a type of its own, so that one cannot be passed where another is meant.
//!
//! An identifier is the text by which something is found; whether anything is found by it only the store says. So any text
//! may be one: what a client sends is looked up as it is, and is not found if nothing has that identifier.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text_column::{TextColumn, UnknownName, text_column};

macro_rules! ids {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
            #[serde(transparent)]
            pub struct $name(Arc<str>);

            impl $name {
                /// Returns the identifier that reads like this.
                pub fn new(text: impl Into<Arc<str>>) -> Self {
                    $name(text.into())
                }

                /// Returns how it reads.
                #[must_use]
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str(&self.0)
                }
            }

            impl TextColumn for $name {
                fn column_text(&self) -> &str {
                    &self.0
                }

                fn of_column_text(text: &str) -> Result<Self, UnknownName> {
                    Ok($name::new(text))
                }
            }

            text_column!($name);
        )+
    };
}

ids! {
    /// A patient, in both databases: a UUID of version 4.
    PatientId;
    /// An account of a researcher, a practitioner or an administrator: a UUID of version 4.
    AccountId;
    /// Somebody who logs in or acts: a patient, an account, or `system` in the audit log.
    UserId;
    /// The record of a patient or an account: 24 hex digits.
    RecordId;
    /// What a patient activates an account with: eight letters or digits.
    VoucherCode;
    /// A study, as its address names it: five capitals.
    GroupCode;
    /// A study's record: ten letters or digits.
    GroupId;
    /// A study, as practitioners know it.
    HcpCode;
    /// A key of the integration API, without its secret.
    ApiKeyId;
    /// A key that signs tokens; it is the `kid` in their header.
    SigningKeyId;
    /// A key that signs checkpoints of the audit log: hex digits that follow from it.
    AuditKeyId;
    /// A client of OAuth 2.0.
    ClientId;
    /// What a patient has agreed to with a client of OAuth 2.0.
    ConsentId;
    /// A session on either cloud; it is the `jti` of its token.
    SessionId;
    /// The first session of those that were refreshed from one another.
    FamilyId;
    /// A session of a page.
    PortalSessionId;
    /// A sync, as the app names it: a UUID.
    SyncId;
    /// The time of a log of events from one restore to the next.
    LogEpoch;
    /// An export: 24 hex digits.
    ExportId;
    /// A bracelet in a study's inventory: 24 hex digits.
    BraceletId;
    /// The serial number that is printed on a bracelet.
    SerialNumber;
    /// A time during which somebody wore a bracelet: 24 hex digits.
    AttachmentId;
    /// A record of atrial fibrillation: 24 hex digits that follow from patient and time.
    AfRecordId;
    /// A message between the databases: 24 hex digits.
    MessageId;
    /// Somebody who keeps dead objects from being deleted.
    HoldId;
    /// An entry of the audit log: 24 hex digits.
    AuditEntryId;
    /// What an entry of the audit log is about: a patient, an account, a study or a bracelet.
    EntityId;
    /// What of its kind a job works on: a patient, an export, an erased patient, the path of an object, or a type of a
    /// patient's samples with a time. Empty for a kind that runs by itself.
    JobSubject;
    /// One life of a process in the table of nodes.
    NodeId;
    /// A store: both databases and the objects that belong together. 32 hex digits.
    StoreId;
}

/// Identifiers that may be where several kinds of things can.
macro_rules! wider {
    ($($wide:ident: $($narrow:ident)+;)+) => {
        $($(
            impl From<&$narrow> for $wide {
                fn from(narrow: &$narrow) -> Self {
                    $wide(Arc::clone(&narrow.0))
                }
            }
        )+)+
    };
}

wider! {
    UserId: PatientId AccountId;
    EntityId: PatientId AccountId UserId GroupId BraceletId;
    JobSubject: PatientId ExportId;
}

impl JobSubject {
    /// Returns the subject of a kind that runs by itself.
    #[must_use]
    pub fn none() -> Self {
        JobSubject::new("")
    }

    /// Returns the patient that it is for a kind that works on patients.
    #[must_use]
    pub fn to_patient(&self) -> PatientId {
        PatientId(Arc::clone(&self.0))
    }

    /// Returns the export that it is for a kind that works on exports.
    #[must_use]
    pub fn to_export(&self) -> ExportId {
        ExportId(Arc::clone(&self.0))
    }
}

impl SessionId {
    /// Returns the family that begins with this session.
    #[must_use]
    pub fn begins(&self) -> FamilyId {
        FamilyId(self.0.clone())
    }
}

impl FamilyId {
    /// Returns the session that the family began with.
    #[must_use]
    pub fn first(&self) -> SessionId {
        SessionId(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_reads_as_it_was_given_also_as_json() {
        let patient = PatientId::new("1b0e");
        assert_eq!((patient.as_str(), patient.to_string().as_str()), ("1b0e", "1b0e"));
        assert_eq!(serde_json::to_string(&patient).unwrap(), "\"1b0e\"");
        assert_eq!(serde_json::from_str::<PatientId>("\"1b0e\"").unwrap(), patient);
    }
}
