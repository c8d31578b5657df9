//! Erasure: the end of a person in both databases and in the objects.
//!
//! The steps, each of which may be the last before a crash: the users database (the person goes, a message stays),
//! the list of the erased, the rows of the health database, the objects, the audit entry. Anyone who looks at old
//! intents takes the rest. What was deleted is overwritten where it lay, and the write-ahead logs are emptied before the
//! receipt is given; the files are rewritten some time later, because pages that rows were moved out of can keep copies. A
//! database server keeps dead rows, which are removed at the same time. The receipt names what is left until then.

use std::collections::BTreeMap;
use std::time::Duration;

use boxed_futures::boxed_futures;
use store::{
    AccountErasure, ActionCode, HealthChange, HealthMessage, NewAuditEntry, PatientErasure, PatientId, PatientState,
    Role, StoreError, User, UserId,
};

use crate::core::access::Researcher;
use crate::core::audit::{Action, Actor, patient_entity, user_entity};
use crate::core::error::{PlatformError, Result};
use crate::identity::login::LoginName;
use crate::identity::tokens::UsersCaller;
use crate::people::People;

/// Longest wait of an erasure for readers of the write-ahead logs.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);
/// Files are usually rewritten, and dead rows of a server removed, within this time of an erasure, ms: the job looks twice as often, so that one that runs late
/// keeps it too.
pub(crate) const REWRITTEN_WITHIN_MS: i64 = 3_600_000;

/// A place that can hold something of the erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The write-ahead log of a database file, which somebody reads.
    WriteAheadLogs,
    /// Unused parts of the pages of database files.
    DatabaseFiles,
    /// Dead rows of a database server.
    DatabaseServer,
    /// The write-ahead log of a database server, its archive, and parts of its pages that nothing uses.
    DatabaseServerLogs,
    /// Copies of the sealed files, which damaged ones are brought back from.
    ObjectCopies,
    /// Backups from before.
    Backups,
}

/// State of the write-ahead logs after an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logs {
    Empty,
    /// Somebody reads one, which is not empty.
    Read,
}

impl Place {
    /// Returns its name in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Place::WriteAheadLogs => "write_ahead_logs",
            Place::DatabaseFiles => "database_files",
            Place::DatabaseServer => "database_server",
            Place::DatabaseServerLogs => "database_server_logs",
            Place::ObjectCopies => "object_copies",
            Place::Backups => "backups",
        }
    }
}

/// Something that an erasure leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Place that holds it.
    pub place: Place,
    /// Time by which it is gone, ms; `None` where that is not in the hands of the service, or was to be and is not.
    pub until_ms: Option<i64>,
}

/// What an erasure has removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who was erased: a patient or an account.
    pub uuid: UserId,
    /// Time, ms.
    pub erased_ms: i64,
    /// How much went, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Remains elsewhere.
    pub remains: Vec<Remains>,
}

#[boxed_futures]
impl People {
    /// Erases a patient. A member who manages one of their groups may do this, and an administrator.
    pub async fn erase_patient(&self, researcher: &Researcher, patient: &PatientId) -> Result<Receipt> {
        self.require_right_to_erase(researcher, patient).await?;
        self.erase(patient, None, self.core.entry(Action::PatientDelete, researcher, patient_entity(patient), None))
            .await
    }

    /// Does the same with a voucher that nobody has used. A conflict where somebody has, who is not erased.
    pub async fn withdraw_voucher(&self, researcher: &Researcher, patient: &PatientId) -> Result<Receipt> {
        self.require_right_to_erase(researcher, patient).await?;
        let entry = self.core.entry(Action::PatientDelete, researcher, patient_entity(patient), None);
        match self.erase(patient, Some(PatientState::PreCreated), entry).await {
            Err(PlatformError::Store(StoreError::Conflict(_))) => {
                Err(PlatformError::Conflict { code: "voucher_used", message: "the voucher has been used" })
            }
            erased => erased,
        }
    }

    async fn require_right_to_erase(&self, researcher: &Researcher, patient: &PatientId) -> Result<()> {
        if researcher.role == Role::Admin && !researcher.key_scoped {
            // A patient that no group holds any more has no other who could do it.
            self.core.users().patient(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
            return Ok(());
        }
        self.core.patient_access(researcher, patient).await?;
        researcher.require_manager()
    }

    /// Erases a patient, on behalf of the operator. Returns the same receipt for one who was erased before.
    pub async fn erase_patient_as_operator(&self, patient: &PatientId) -> Result<Receipt> {
        let entry = self.core.entry_by(Action::PatientDelete, Actor::operator(), patient_entity(patient), None);
        match self.erase(patient, None, entry).await {
            // An earlier call may have broken off after its first commit; what it left is finished here.
            Err(PlatformError::Store(StoreError::Gone(_))) if self.core.users().erasure(patient).await?.is_some() => {
                self.core.complete_changes_of(patient).await?;
                self.receipt(patient, LONGEST_WAIT).await
            }
            erased => erased,
        }
    }

    /// Erases the caller, patient or account.
    pub async fn erase_self(&self, caller: &UsersCaller) -> Result<Receipt> {
        let entry = self.core.entry_by(Action::UserDelete, caller.actor(), user_entity(&caller.user.id()), None);
        let account = match &caller.user {
            User::Account(account, _) => account,
            User::Patient(patient) => return self.erase(patient, None, entry).await,
        };
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndSessionsOfActor { account: account.clone(), at_ms: now_ms };
        let message =
            HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: now_ms };
        let names = self.core.users().account(account).await?.map(|account| LoginName::Email(account.email).clean());
        let names = self.identity.forget_names(names);
        match self.core.users().erase_account(account, names, message.clone()).await? {
            AccountErasure::Erased(counts) => {
                self.core.deliver(message).await?;
                let remains = self.remains(self.empty_logs(LONGEST_WAIT).await, Some(now_ms + REWRITTEN_WITHIN_MS));
                Ok(Receipt { uuid: caller.user.id(), erased_ms: now_ms, counts, remains })
            }
            // Patients that nobody manages could be neither read nor erased by their study.
            AccountErasure::LastManager => {
                let message = "a group would have patients and nobody who manages it";
                Err(PlatformError::Conflict { code: "last_manager", message })
            }
        }
    }

    async fn erase(
        &self,
        patient: &PatientId,
        in_state: Option<PatientState>,
        entry: NewAuditEntry,
    ) -> Result<Receipt> {
        let at_ms = self.core.now_ms();
        let change = HealthChange::ErasePatient { uuid: patient.clone(), at_ms };
        let message = HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: at_ms };
        // Before they go: logins that failed while the names were nobody's are known by hashes of them.
        let names = self.core.users().patient(patient).await?.map(|patient| {
            let email = patient.email.map(LoginName::Email);
            email.into_iter().chain([LoginName::Code(patient.voucher_code.to_string())]).map(|name| name.clean())
        });
        let names = self.identity.forget_names(names.into_iter().flatten());
        self.core.users().erase_patient(patient, PatientErasure { names, in_state }, at_ms, message).await?;
        // With the entry: who may read the receipt again follows from it.
        self.core.complete_changes_of(patient).await?;
        self.receipt(patient, LONGEST_WAIT).await
    }

    /// Returns the receipt of an erasure again, with what is left of it now, to the account that has erased and to an
    /// administrator. Not found for everyone else.
    pub async fn erasure(&self, researcher: &Researcher, patient: &PatientId) -> Result<Receipt> {
        researcher.require_manager()?;
        let is_admin = researcher.role == Role::Admin && !researcher.key_scoped;
        let erased_by = self.core.users().actor_of(ActionCode::new(Action::PatientDelete.code()), patient).await?;
        // The groups that held the patient are not known any more.
        if !is_admin && erased_by != Some(UserId::from(&researcher.account)) {
            return Err(PlatformError::NotFound("patient"));
        }
        self.receipt(patient, Duration::ZERO).await
    }

    /// Empties the write-ahead logs of database files, in which deleted rows are still; waits while somebody reads them.
    async fn empty_logs(&self, longest_wait: Duration) -> Logs {
        let begun = runtime::Instant::now();
        loop {
            let emptied = match (self.core.users().empty_log().await, self.core.health().empty_log().await) {
                (Ok(users), Ok(health)) => users && health,
                (Err(error), _) | (_, Err(error)) => {
                    // The erasure is done; the receipt says what is left of it.
                    tracing::warn!(%error, "a write-ahead log could not be emptied after an erasure");
                    false
                }
            };
            if emptied {
                return Logs::Empty;
            }
            if begun.elapsed() >= longest_wait {
                return Logs::Read;
            }
            runtime::sleep(PAUSE).await;
        }
    }

    /// Returns what an erasure leaves with logs in a state, in files until a time, ms, where one is known.
    fn remains(&self, logs: Logs, until_ms: Option<i64>) -> Vec<Remains> {
        let are_files = [self.core.users().is_file(), self.core.health().is_file()];
        let mut remains = Vec::new();
        if logs == Logs::Read {
            remains.push(Remains { place: Place::WriteAheadLogs, until_ms });
        }
        if are_files.contains(&true) {
            remains.push(Remains { place: Place::DatabaseFiles, until_ms });
        }
        if are_files.contains(&false) {
            remains.push(Remains { place: Place::DatabaseServer, until_ms });
            // The server does not report when it has written over them.
            remains.push(Remains { place: Place::DatabaseServerLogs, until_ms: None });
        }
        remains.push(Remains { place: Place::Backups, until_ms: None });
        remains
    }

    /// Returns what went from both databases.
    async fn receipt(&self, patient: &PatientId, longest_wait: Duration) -> Result<Receipt> {
        let erasure = self.core.users().erasure(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
        let is_rewritten = erasure.overwritten_ms.is_some();
        let logs = if is_rewritten { Logs::Empty } else { self.empty_logs(longest_wait).await };
        // Rewriting fails while somebody reads a file, and is tried again an hour later: a time that is over is none.
        let until_ms = Some(erasure.erased_ms + REWRITTEN_WITHIN_MS).filter(|until_ms| *until_ms > self.core.now_ms());
        let mut remains = self.remains(logs, until_ms);
        remains.retain(|left| !is_rewritten || !matches!(left.place, Place::DatabaseFiles | Place::DatabaseServer));
        if self.core.settings().object_copies.is_some() {
            // Not erased there: they are those of backups, which would lack files that they list.
            remains.push(Remains { place: Place::ObjectCopies, until_ms: None });
        }
        let mark = self.core.health().erased_patient(patient).await?;
        let mut counts = erasure.counts;
        // The mark outlives the data, so that a repeated call answers the same receipt.
        counts.extend(mark.map(|mark| mark.counts).unwrap_or_default());
        Ok(Receipt { uuid: UserId::from(&erasure.patient), erased_ms: erasure.erased_ms, counts, remains })
    }
}
