//! Exports as work items: asked for, claimed with a lease, finished once.
//!
//! A job is a row from the moment it is asked for. Its audit entry belongs to the other database, so it goes there as a
//! message; only when the entry is written is there a background job that writes the archive ([`super::jobs`]). Each try
//! begins by making what an earlier one had written a dead object. Only the holder of the job's last token can finish it,
//! so however many nodes have tried, there is one archive.

use boxed_futures::boxed_futures;
use serde_json::json;

use super::db::HealthDb;
use crate::audit_entry::NewAuditEntry;
use crate::engine::{Param, Row, Tx};
use crate::error::Result;
use crate::events::{self, EventType, NewEvent};
use crate::health::jobs::{self, JobLease};
use crate::health::messages;
use crate::ids::{AccountId, ExportId, PatientId};
use crate::names::ExportStage;
use crate::readers::{count, pair};
use crate::texts::{record, sql};

/// An export as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportJob {
    /// Record identifier, 24 hex digits.
    pub id: ExportId,
    /// Whose data.
    pub patient: PatientId,
    /// The account that asked for it.
    pub actor: AccountId,
    /// What was asked for, JSON.
    pub request: String,
    /// Time, ms.
    pub created_ms: i64,
    /// How far it is.
    pub state: ExportState,
}

/// How far an export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportState {
    /// It waits, or is being written.
    InProgress,
    /// The archive is there.
    Done {
        /// Its path in the object store.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// It was given up.
    Failed {
        /// Reason, for the account that asked.
        error: String,
    },
}

/// An export to begin.
#[derive(Clone, Debug)]
pub struct NewExport {
    /// Record identifier, 24 hex digits.
    pub id: ExportId,
    /// Whose data.
    pub patient: PatientId,
    /// The account that asks.
    pub actor: AccountId,
    /// What is asked for, JSON.
    pub request: String,
    /// The audit entry that is enqueued for it.
    pub entry: NewAuditEntry,
    /// The time, ms.
    pub now_ms: i64,
    /// Milliseconds between two exports of a patient where nothing else is set.
    pub interval_ms: i64,
}

/// Exports that wait or are being written, on all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportQueue {
    /// Number of them.
    pub exports: u64,
    /// Time at which the oldest of them was asked for, ms; absent where there is none.
    pub oldest_ms: Option<i64>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportTurn {
    /// It is noted.
    Begun,
    /// The last one was begun too short a time ago.
    TooSoon {
        /// Milliseconds until the next may be asked for.
        wait_ms: i64,
        /// Milliseconds between two exports of this patient.
        interval_ms: i64,
    },
    /// There is no such patient.
    UnknownPatient,
}

/// Returns the folder of all archives of a patient.
pub fn folder(patient: &PatientId) -> String {
    format!("exports/patient={patient}")
}

/// The row that holds the default of all patients.
const EVERYBODY: &str = "";

/// A row of an export.
struct StoredJob {
    id: ExportId,
    patient: PatientId,
    actor: AccountId,
    request: String,
    created_ms: i64,
    state: ExportStage,
    error: Option<String>,
    path: Option<String>,
    bytes: Option<i64>,
}

record! {
    job_columns!(""), read_stored(row) -> StoredJob {
        id, patient, actor, request, created_ms, state, error, path, bytes,
    }
}

/// How often archives of a patient are written.
#[derive(Default)]
struct ExportLimit {
    interval_s: Option<i64>,
    /// Time at which the last one was asked for, ms.
    last_ms: Option<i64>,
}

record! {
    limit_columns!(""), read_limit(row) -> ExportLimit { interval_s, last_ms }
}

record! {
    queue_columns!(""), read_queue(row) -> ExportQueue {
        exports = "COUNT(*)" by count, oldest_ms = "MIN(created_ms)",
    }
}

sql! {
    /// Requests for one patient follow each other, and their erasure comes before or after.
    HOLD_PATIENT = "UPDATE patient SET arrivals = arrivals WHERE uuid = $1";
    FIND_LIMIT = concat!("SELECT ", limit_columns!(), " FROM export_limit WHERE patient = $1");
    NOTE_TURN = "INSERT INTO export_limit (patient, last_ms) VALUES ($1, $2)
        ON CONFLICT (patient) DO UPDATE SET last_ms = excluded.last_ms";
    SET_LIMIT = "INSERT INTO export_limit (patient, interval_s) VALUES ($1, $2)
        ON CONFLICT (patient) DO UPDATE SET interval_s = excluded.interval_s";
    ADD = "INSERT INTO export_job (id, patient, actor, request, created_ms, state)
        VALUES ($1, $2, $3, $4, $5, 'in_progress')";
    FIND = concat!("SELECT ", job_columns!(), " FROM export_job WHERE id = $1");
    /// Looks through all exports: they are kept for days.
    LIST = concat!("SELECT ", job_columns!(), " FROM export_job WHERE actor = $1
        AND (CAST($2 AS TEXT) IS NULL OR patient = $2) ORDER BY created_ms DESC, id DESC");
    PATH_OF = "SELECT path FROM export_job WHERE id = $1";
    SET_PATH = "UPDATE export_job SET path = $2 WHERE id = $1 AND state = 'in_progress'";
    FINISH = "UPDATE export_job SET state = 'done', bytes = $2, finished_ms = $3
        WHERE id = $1 AND state = 'in_progress' RETURNING patient";
    GIVE_UP = "UPDATE export_job SET state = 'failed', error = $2, finished_ms = $3
        WHERE id = $1 AND state = 'in_progress' RETURNING patient";
    IN_PROGRESS = concat!("SELECT ", queue_columns!(), " FROM export_job WHERE state = 'in_progress'");
    FINISHED_BEFORE = "SELECT id, patient FROM export_job WHERE finished_ms < $1 ORDER BY finished_ms LIMIT $2";
    FIND_FINISHED = "SELECT 1 FROM export_job WHERE id = $1 AND state <> 'in_progress'";
    REMOVE = "DELETE FROM export_job WHERE id = $1 AND state <> 'in_progress'";
    ADD_DEAD = "INSERT INTO dead_object (path, dead_since_ms) VALUES ($1, $2) ON CONFLICT (path) DO NOTHING";
}

#[boxed_futures]
impl HealthDb {
    /// Notes an export when it is the patient's turn. When this answers `Begun`, the job is durable; the entry that it
    /// enqueues has to be written before anybody works on it.
    pub async fn begin_export(&self, new: NewExport) -> Result<ExportTurn> {
        let owner = new.patient.clone();
        self.db.write_of((&owner).into(), async move |tx| begin(tx, &new).await).await
    }

    /// Sets how many seconds lie between two exports of a patient, or of every patient without a setting of their own.
    pub async fn set_export_interval(&self, patient: Option<&PatientId>, interval_s: i64) -> Result<()> {
        let patient = patient.map_or(EVERYBODY, PatientId::as_str).to_owned();
        self.db.write(async move |tx| tx.execute(SET_LIMIT, &[&patient, &interval_s]).await.map(drop)).await
    }

    /// Returns the export with this identifier.
    pub async fn export(&self, id: &ExportId) -> Result<Option<ExportJob>> {
        let id = id.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&id], read_job).await).await
    }

    /// Returns the exports that an account has asked for and that are kept, of all patients or of one, newest first.
    pub async fn exports_of(&self, actor: &AccountId, patient: Option<&PatientId>) -> Result<Vec<ExportJob>> {
        let (actor, patient) = (actor.clone(), patient.cloned());
        self.db.read(async move |tx| tx.query(LIST, &[&actor, &patient], read_job).await).await
    }

    /// Begins a try of a job: what an earlier one has written is dead from now on. `None` when another node has taken
    /// the job over, or it is gone.
    pub async fn try_export(&self, lease: &JobLease, now_ms: i64) -> Result<Option<ExportJob>> {
        let lease = lease.clone();
        self.db
            .write(async move |tx| {
                if !jobs::confirm(tx, &lease).await? {
                    return Ok(None);
                }
                bury_path(tx, &export_of(&lease), now_ms).await?;
                tx.put(SET_PATH, &[&lease.subject, &None::<String>]).await?;
                tx.query_opt(FIND, &[&lease.subject], read_job).await
            })
            .await
    }

    /// Says where a job will be written, before it is. False when another node has taken it over.
    pub async fn place_export(&self, lease: &JobLease, path: &str) -> Result<bool> {
        let (lease, path) = (lease.clone(), path.to_owned());
        self.db
            .write(async move |tx| {
                // Confirmed in the same transaction: a node that has lost the job would otherwise name its own object
                // over that of the next one.
                let is_held = jobs::confirm(tx, &lease).await?;
                Ok(is_held && tx.execute(SET_PATH, &[&lease.subject, &path]).await? == 1)
            })
            .await
    }

    /// Finishes a job whose archive is durable. False when another node has taken it over, or the patient is gone:
    /// then the archive is nobody's and should be deleted.
    pub async fn finish_export(&self, lease: &JobLease, bytes: u64, now_ms: i64) -> Result<bool> {
        let (lease, bytes) = (lease.clone(), bytes as i64);
        self.db
            .write(async move |tx| {
                if !jobs::finish(tx, &lease).await? {
                    return Ok(false);
                }
                let ended = tx.query_opt(FINISH, &[&lease.subject, &bytes, &now_ms], |row| row.get(0)).await?;
                let Some(patient) = ended else { return Ok(false) };
                append_finished(tx, &patient, &export_of(&lease), ExportStage::Done, now_ms).await?;
                Ok(true)
            })
            .await
    }

    /// Gives a job up.
    pub async fn give_export_up(&self, lease: &JobLease, error: &str, now_ms: i64) -> Result<bool> {
        let (lease, error) = (lease.clone(), error.to_owned());
        self.db
            .write(async move |tx| {
                if !jobs::finish(tx, &lease).await? {
                    return Ok(false);
                }
                let export = export_of(&lease);
                let ended = tx.query_opt(GIVE_UP, &[&export, &error, &now_ms], |row| row.get(0)).await?;
                let Some(patient) = ended else { return Ok(false) };
                bury_path(tx, &export, now_ms).await?;
                append_finished(tx, &patient, &export, ExportStage::Failed, now_ms).await?;
                Ok(true)
            })
            .await
    }

    /// Returns how many exports are in progress, and since when.
    pub async fn export_queue(&self) -> Result<ExportQueue> {
        let found = self.db.read_single(async move |tx| tx.query_opt(IN_PROGRESS, &[], read_queue).await).await?;
        Ok(found.unwrap_or_default())
    }

    /// Exports that were finished before a time, at most `limit`.
    pub async fn exports_finished_before(
        &self,
        finished_before_ms: i64,
        limit: i64,
    ) -> Result<Vec<(ExportId, PatientId)>> {
        self.db.read_single(async move |tx| tx.query(FINISHED_BEFORE, &[&finished_before_ms, &limit], pair).await).await
    }

    /// Forgets an export that is finished; its archive is a dead object then. Doing so again changes nothing.
    pub async fn forget_export(&self, id: &ExportId, now_ms: i64) -> Result<()> {
        let id = id.clone();
        self.db
            .write(async move |tx| {
                // One that is in progress has a writer, whose object would be left behind.
                if tx.query_opt(FIND_FINISHED, &[&id], |_| Ok(())).await?.is_some() {
                    bury_path(tx, &id, now_ms).await?;
                    tx.put(REMOVE, &[&id]).await?;
                }
                Ok(())
            })
            .await
    }
}

/// Returns the export that a job writes.
fn export_of(lease: &JobLease) -> ExportId {
    lease.subject.to_export()
}

async fn begin(tx: &Tx<'_>, new: &NewExport) -> Result<ExportTurn> {
    // Before the limit is read: two requests at once would both find that it is the patient's turn.
    if tx.execute(HOLD_PATIENT, &[&new.patient]).await? == 0 {
        return Ok(ExportTurn::UnknownPatient);
    }
    let own = tx.query_opt(FIND_LIMIT, &[&new.patient], read_limit).await?.unwrap_or_default();
    let default = tx.query_opt(FIND_LIMIT, &[&EVERYBODY], read_limit).await?.unwrap_or_default();
    let last_ms = own.last_ms;
    let interval_ms = own.interval_s.or(default.interval_s).map_or(new.interval_ms, |seconds| seconds * 1000);
    // A clock that is behind that of the node before does not make anyone wait for longer than the interval.
    let wait_ms = last_ms.map_or(0, |last_ms| (last_ms + interval_ms - new.now_ms).min(interval_ms));
    if wait_ms > 0 {
        return Ok(ExportTurn::TooSoon { wait_ms, interval_ms });
    }
    tx.put(NOTE_TURN, &[&new.patient, &new.now_ms]).await?;
    let params: [&dyn Param; 5] = [&new.id, &new.patient, &new.actor, &new.request, &new.now_ms];
    tx.put(ADD, &params).await?;
    // In the same transaction, so that no archive is ever written without an entry that says who asked for it.
    messages::enqueue(tx, &new.patient, &new.entry, Some(&new.id), new.now_ms).await?;
    Ok(ExportTurn::Begun)
}

async fn append_finished(
    tx: &Tx<'_>,
    patient: &PatientId,
    export: &ExportId,
    state: ExportStage,
    now_ms: i64,
) -> Result<()> {
    let body = json!({ "export": export, "state": state });
    events::append(tx, patient, &[NewEvent { event_type: EventType::ExportFinished, time_ms: now_ms, body }]).await
}

/// Makes what a job has written, or was about to write, a dead object.
async fn bury_path(tx: &Tx<'_>, id: &ExportId, now_ms: i64) -> Result<()> {
    let path = tx.query_opt(PATH_OF, &[&id], |row| row.get::<Option<String>>(0)).await?.flatten();
    match path {
        Some(path) => tx.execute(ADD_DEAD, &[&path, &now_ms]).await.map(drop),
        None => Ok(()),
    }
}

fn read_job(row: &Row<'_>) -> Result<ExportJob> {
    let StoredJob { id, patient, actor, request, created_ms, state, error, path, bytes } = read_stored(row)?;
    let state = match state {
        ExportStage::Done => {
            ExportState::Done { path: path.unwrap_or_default(), bytes: bytes.unwrap_or_default() as u64 }
        }
        ExportStage::Failed => ExportState::Failed { error: error.unwrap_or_default() },
        ExportStage::InProgress => ExportState::InProgress,
    };
    Ok(ExportJob { id, patient, actor, request, created_ms, state })
}
