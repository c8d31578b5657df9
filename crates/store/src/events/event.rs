//! What an event is: its type, its time and its data.

use serde_json::{Value, json};

use crate::error::{Result, StoreError};
use crate::ids::GroupCode;

macro_rules! event_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Type of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventType {
            $($(#[$doc])* $variant,)*
            /// A type that a newer program has written.
            Unknown,
        }

        impl EventType {
            /// Name as stored, without the prefix of the interface.
            pub fn name(self) -> &'static str {
                match self {
                    $(EventType::$variant => $name,)*
                    EventType::Unknown => "unknown",
                }
            }

            /// Returns the type of this name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => EventType::$variant,)*
                    _ => EventType::Unknown,
                }
            }
        }
    };
}

event_types! {
    /// A sync stored at least one row.
    SyncStored = "sync.stored";
    /// A sync stored nothing new. Not shown to clients.
    SyncRepeated = "sync.repeated";
    /// A damaged period can be read again, and rows that came for it meanwhile are merged with it.
    RowsVerified = "rows.verified";
    /// Latest values changed and nothing else, as when a time comes that a sample was ahead of. Not shown to clients.
    LatestChanged = "latest.changed";
    /// Sections or slots of a local day changed.
    DayUpdated = "day.updated";
    /// The newest NEWS entry or its band changed.
    NewsScored = "news.scored";
    /// The state of a bracelet changed.
    DeviceChanged = "device.changed";
    /// A patient redeemed the voucher.
    PatientActivated = "patient.activated";
    /// A patient joined a study.
    PatientAttached = "patient.attached";
    /// A patient left a study.
    PatientDetached = "patient.detached";
    /// A patient was erased.
    PatientErased = "patient.erased";
    /// A sealed file of the patient was found missing or damaged, or rows were found damaged.
    DataDamaged = "data.damaged";
    /// A file or rows that were missing or damaged are whole again.
    DataRestored = "data.restored";
    /// An export is done or has failed.
    ExportFinished = "export.finished";
}

impl EventType {
    /// Types that clients are shown, by name. The others are for the service itself.
    pub const SHOWN: [EventType; 9] = [
        EventType::DayUpdated,
        EventType::DeviceChanged,
        EventType::ExportFinished,
        EventType::NewsScored,
        EventType::PatientActivated,
        EventType::PatientAttached,
        EventType::PatientDetached,
        EventType::PatientErased,
        EventType::SyncStored,
    ];
}

/// Event to append.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Type.
    pub event_type: EventType,
    /// Time at which it happened, ms since 1970.
    pub time_ms: i64,
    /// Data of the type, without any personal datum: no name, e-mail, serial number or free text.
    pub body: Value,
}

impl NewEvent {
    /// Event that says all by its type.
    pub(crate) fn without_data(event_type: EventType, time_ms: i64) -> Self {
        NewEvent { event_type, time_ms, body: json!({}) }
    }

    /// Event of a patient and a group. A reader of another group does not learn of it.
    pub(crate) fn of_group(event_type: EventType, group_code: &GroupCode, time_ms: i64) -> Self {
        NewEvent { event_type, time_ms, body: json!({ "group": group_code }) }
    }

    /// Returns the body as it is stored.
    pub(crate) fn body_text(&self) -> Result<String> {
        serde_json::to_string(&self.body).map_err(|error| StoreError::Database(format!("event body: {error}")))
    }
}
