//! The health database: samples of uuids and what is derived from them.

mod afib;
mod ahead;
mod alarms;
mod around_damage;
mod bracelet_state;
pub(crate) mod changes;
pub(crate) mod chunk_counts;
mod chunks;
mod claims;
mod commit;
pub(crate) mod damage;
pub(crate) mod db;
mod derived;
mod devices;
pub(crate) mod due;
mod erasure;
pub(crate) mod exports;
mod failures;
mod hours;
mod identity;
mod inputs;
mod jobs;
mod latest;
mod messages;
mod news;
mod nodes;
mod oauth;
mod open_hours;
mod packed_slots;
pub(crate) mod patient_tables;
mod patients;
#[cfg(any(test, feature = "planned-failures"))]
mod planned_damage;
pub(crate) mod reader;
mod restored;
mod retention;
mod scrub;
mod sealed;
mod sessions;
mod settings;
mod signing_keys;
mod slots;
pub(crate) mod stored_chunk;
mod stored_derived;
mod sync;
mod tally;
mod unread_patients;
mod unverified;
mod verify;
mod zones;

pub use ahead::RowsAhead;
pub use alarms::Alarm;
pub use changes::HealthChange;
pub use claims::{Claim, DueRange};
pub use commit::{CommitOutcome, DerivationCommit, LatestChange};
pub use damage::DamagedObjects;
pub use db::HealthDb;
pub(crate) use db::MIGRATIONS;
pub use devices::{Device, DeviceReport};
pub use due::AHEAD_MS;
pub use erasure::ErasedPatient;
pub use exports::{ExportJob, ExportQueue, ExportState, ExportTurn, NewExport, folder as export_folder};
pub use failures::Failures;
pub use inputs::{DerivationInputs, DerivationStart, Dirty, InputRange};
pub use jobs::{DERIVE_KIND, EXPORT_KIND, FailingJobs, HeldJob, JobFailure, JobLease, NEVER_MS, NewJob, PutAside};
pub use messages::PendingEntries;
pub use nodes::NodeView;
pub use oauth::{AuthorizationCode, OauthRefreshToken};
pub use patients::{BodyAttribute, HealthPatient, Profile};
#[cfg(any(test, feature = "planned-failures"))]
pub use planned_damage::DamageTarget;
pub use retention::Retirement;
pub use scrub::{DamagedRowCount, ScrubFinding, ScrubState};
pub use sessions::{HealthSession, IntakeFacts};
pub use sync::{Counts, NamedSync, Sync, SyncOutcome};
pub use tally::{LocalQuarter, TallyRow};
pub use unverified::{NotePage, NotePosition, UnverifiedRows};
pub use verify::{DamageFinding, Walk, WalkPart, WalkPosition};

/// Every statement on this database, for the test that prepares each on both engines.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [
        afib::TEXTS,
        ahead::TEXTS,
        alarms::TEXTS,
        around_damage::TEXTS,
        bracelet_state::TEXTS,
        changes::TEXTS,
        chunk_counts::TEXTS,
        chunks::TEXTS,
        claims::TEXTS,
        commit::TEXTS,
        damage::TEXTS,
        db::TEXTS,
        derived::TEXTS,
        devices::TEXTS,
        due::TEXTS,
        erasure::TEXTS,
        exports::TEXTS,
        hours::TEXTS,
        identity::TEXTS,
        inputs::TEXTS,
        jobs::TEXTS,
        latest::TEXTS,
        news::TEXTS,
        nodes::TEXTS,
        oauth::TEXTS,
        open_hours::TEXTS,
        patient_tables::TEXTS,
        patients::TEXTS,
        planned_damage::TEXTS,
        restored::TEXTS,
        retention::TEXTS,
        scrub::TEXTS,
        sessions::TEXTS,
        settings::TEXTS,
        slots::TEXTS,
        sync::TEXTS[0],
        sync::TEXTS[1],
        tally::TEXTS,
        unread_patients::TEXTS,
        unverified::TEXTS,
        verify::TEXTS,
        zones::TEXTS,
        crate::segment::TEXTS,
        crate::segment::SEAL_TEXTS,
        crate::segment::CHECK_TEXTS,
        crate::segment::LAKE_TEXTS,
        crate::signing_key::TEXTS,
        &crate::events::all_texts(),
    ]
    .concat()
}
