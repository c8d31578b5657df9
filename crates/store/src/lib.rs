//! Where everything is kept: two databases on two engines, chunks and segments.
//!
//! This crate holds the only SQL of the project. It knows nothing of HTTP and has no access rules: a caller that may
//! not do something must not call it.
//!
//! The two databases never meet in a statement: [`UsersDb`] knows who people are, [`HealthDb`] knows samples of
//! uuids.

mod audit_entry;
mod audit_key;
pub mod backup;
mod checksum;
pub mod columnar;
#[cfg(test)]
mod contract;
mod damage;
pub mod engine;
mod error;
pub mod events;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod ids;
mod names;
mod objects;
mod payload;
#[cfg(test)]
mod random_blocks;
mod readers;
mod refresh;
mod security_event;
mod security_event_type;
pub mod segment;
mod signing_key;
mod text_column;
mod texts;
mod user;
mod users;

pub use audit_entry::{Entity, NewAuditEntry};
pub use audit_key::AuditKey;
pub use damage::DamagedRows;
#[cfg(feature = "planned-failures")]
pub use engine::FailureMoment;
pub use engine::{
    Address, BUCKETS_US, DamagedLog, DamagedPage, DatabaseFiles, DbCounts, DurationCounts, EngineCheck, Limits,
    OperationCounts, PagesPart, PoolCounts, SchemaState, listen_for_wake_ups,
};
pub use error::{Result, StoreError};
pub use events::{EventType, NewEvent};
#[cfg(feature = "planned-failures")]
pub use health::DamageTarget;
pub use health::{
    AHEAD_MS, Alarm, AuthorizationCode, BodyAttribute, Claim, CommitOutcome, Counts, DERIVE_KIND, DamageFinding,
    DamagedObjects, DamagedRowCount, DerivationCommit, DerivationInputs, DerivationStart, Device, DeviceReport, Dirty,
    DueRange, EXPORT_KIND, ErasedPatient, ExportJob, ExportQueue, ExportState, ExportTurn, FailingJobs, Failures,
    HealthChange, HealthDb, HealthPatient, HealthSession, HeldJob, InputRange, IntakeFacts, JobFailure, JobLease,
    LatestChange, LocalQuarter, NEVER_MS, NamedSync, NewExport, NewJob, NodeView, NotePage, NotePosition,
    OauthRefreshToken, PendingEntries, Profile, PutAside, RowsAhead, ScrubFinding, ScrubState, Sync, SyncOutcome,
    TallyRow, UnverifiedRows, Walk, WalkPart, WalkPosition,
};
pub use health::{Retirement, export_folder};
pub use ids::{
    AccountId, AfRecordId, ApiKeyId, AttachmentId, AuditEntryId, AuditKeyId, BraceletId, ClientId, ConsentId, EntityId,
    ExportId, FamilyId, GroupCode, GroupId, HcpCode, HoldId, JobSubject, LogEpoch, MessageId, NodeId, PatientId,
    PortalSessionId, RecordId, SerialNumber, SessionId, SigningKeyId, StoreId, SyncId, UserId, VoucherCode,
};
pub use names::{
    ActionCode, ActorRole, ExportStage, Gender, JobKind, ObjectFault, PatientState, Role, ScrubStage, SealState,
    SealedBy, SettingName, UserRole,
};
pub use objects::{
    ByteRange, CHECKPOINTS, Digest, LARGEST_CHECKPOINT, ListedObject, ObjectRead, Objects, S3Address, STORE_ID, Upload,
    checkpoint_path, number_of_checkpoint,
};
pub use refresh::{Refreshed, Successor};
pub use security_event::NewSecurityEvent;
pub use security_event_type::SecurityEventType;
pub use signing_key::SigningKey;
pub use user::User;
pub use users::{
    Account, AccountErasure, Activation, ApiKey, Attachment, Audit, AuditEnd, AuditEntry, AuditQuery, AuditReader,
    AuditVerdict, Bracelet, Completion, Consent, EffectiveSettings, Erasure, ErasureCounts, Group, GroupAccess,
    GroupDeletion, GroupSetting, HealthMessage, KeyHolder, KnownEntry, Member, MemberRemoval, NameHashes, NewPassword,
    NewPatientPassword, OauthClient, Patient, PatientAccess, PatientDetachment, PatientErasure, PendingHealthMessage,
    PersonChange, PortalHolder, PortalSession, RetiredAuditKey, RoleChange, Seal, SecurityEvent, SecurityPage,
    SecurityQuery, Session, SessionHolder, SettingsOfGroup, StoreIdentity, StudyAttachment, ToOverwrite, Totp,
    TotpConfirmation, UsedFactor, UsersDb,
};
