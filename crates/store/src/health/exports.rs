//! Exports as work items: asked for, claimed with a lease, finished once.
//!
//! A job is a row from the moment it is asked for. Its audit entry belongs to the other database, so it goes there as a
//! message; only when the entry is written is the job work. A worker holds a job by a token and a lease that he
//! prolongs; when he dies, the lease runs out and another takes the job over with the next token, and what the first
//! had written becomes a dead object. Only the holder of the last token can finish a job, so however many workers have
//! tried, there is one archive.

use serde_json::json;

use crate::audit_entry::NewAuditEntry;
use crate::engine::{Param, Row, Tx};
use crate::error::Result;
use crate::events::{self, EventType, NewEvent};
use crate::health::{HealthDb, messages};
use crate::texts::sql;

/// An export as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportJob {
    /// Record identifier, 24 hex digits.
    pub id: String,
    /// Whose data.
    pub patient: String,
    /// The account that asked for it.
    pub actor: String,
    /// What was asked for, JSON.
    pub request: String,
    /// When, ms.
    pub created_ms: i64,
    /// How far it is.
    pub state: ExportState,
    /// How often it has been tried.
    pub attempts: i64,
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
        /// Why, for whoever asked.
        error: String,
    },
}

/// An export to begin.
#[derive(Clone, Debug)]
pub struct NewExport {
    /// Record identifier, 24 hex digits.
    pub id: String,
    /// Whose data.
    pub patient: String,
    /// The account that asks.
    pub actor: String,
    /// What is asked for, JSON.
    pub request: String,
    /// The audit entry that is owed for it.
    pub entry: NewAuditEntry,
    /// The time, ms.
    pub now_ms: i64,
    /// Milliseconds between two exports of a patient where nothing else is set.
    pub interval_ms: i64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportTurn {
    /// It is noted.
    Begun,
    /// The one before is too fresh; ms to wait.
    TooSoon {
        /// Milliseconds until the next may be asked for.
        wait_ms: i64,
    },
    /// There is no such patient.
    UnknownPatient,
}

/// A job that a worker holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportClaim {
    /// The job.
    pub job: ExportJob,
    /// Tells whether the claim still stands.
    pub token: i64,
}

/// The folder of all archives of a patient.
pub fn folder(patient: &str) -> String {
    format!("exports/patient={patient}")
}

/// The row that holds the default of all patients.
const EVERYBODY: &str = "";

sql! {
    /// Requests for one patient follow each other, and an erasure of his comes before or after.
    HOLD_PATIENT = "UPDATE patient SET arrivals = arrivals WHERE uuid = $1";
    FIND_LIMIT = "SELECT interval_s, last_ms FROM export_limit WHERE patient = $1";
    NOTE_TURN = "INSERT INTO export_limit (patient, last_ms) VALUES ($1, $2)
        ON CONFLICT (patient) DO UPDATE SET last_ms = excluded.last_ms";
    SET_LIMIT = "INSERT INTO export_limit (patient, interval_s) VALUES ($1, $2)
        ON CONFLICT (patient) DO UPDATE SET interval_s = excluded.interval_s";
    ADD = "INSERT INTO export_job (id, patient, actor, request, created_ms, state, token, lease_until_ms, attempts)
        VALUES ($1, $2, $3, $4, $5, 'in_progress', 0, 0, 0)";
    FIND = "SELECT id, patient, actor, request, created_ms, state, error, path, bytes, attempts
        FROM export_job WHERE id = $1";
    READY = "SELECT id FROM export_job WHERE state = 'in_progress' AND is_audited AND lease_until_ms <= $1
        ORDER BY lease_until_ms, created_ms, id LIMIT 8";
    CLAIM = "UPDATE export_job SET token = token + 1, lease_until_ms = $2, attempts = attempts + 1
        WHERE id = $1 AND state = 'in_progress' AND lease_until_ms <= $3 RETURNING token";
    PATH_OF = "SELECT path FROM export_job WHERE id = $1";
    SET_PATH = "UPDATE export_job SET path = $3 WHERE id = $1 AND token = $2 AND state = 'in_progress'";
    HOLD = "UPDATE export_job SET lease_until_ms = $3 WHERE id = $1 AND token = $2 AND state = 'in_progress'";
    FINISH = "UPDATE export_job SET state = 'done', bytes = $3, finished_ms = $4
        WHERE id = $1 AND token = $2 AND state = 'in_progress'";
    GIVE_UP = "UPDATE export_job SET state = 'failed', error = $3, finished_ms = $4
        WHERE id = $1 AND token = $2 AND state = 'in_progress'";
    FINISHED_BEFORE = "SELECT id FROM export_job WHERE finished_ms < $1 ORDER BY finished_ms LIMIT 100";
    REMOVE = "DELETE FROM export_job WHERE id = $1 AND state <> 'in_progress'";
    ADD_DEAD = "INSERT INTO dead_object (path, dead_since_ms) VALUES ($1, $2) ON CONFLICT (path) DO NOTHING";
}

impl HealthDb {
    /// Notes an export when it is the patient's turn. When this answers `Begun`, the job is durable; the entry that it
    /// owes has to be written before anybody works on it.
    pub async fn begin_export(&self, new: NewExport) -> Result<ExportTurn> {
        self.db.write(async move |tx| begin(tx, &new).await).await
    }

    /// Sets how many seconds lie between two exports of a patient, or of every patient for whom nothing else is set.
    pub async fn set_export_interval(&self, patient: Option<&str>, interval_s: i64) -> Result<()> {
        let patient = patient.unwrap_or(EVERYBODY).to_owned();
        self.db.write(async move |tx| tx.execute(SET_LIMIT, &[&patient, &interval_s]).await.map(drop)).await
    }

    /// The export with this identifier.
    pub async fn export(&self, id: &str) -> Result<Option<ExportJob>> {
        let id = id.to_owned();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&id], read_job).await).await
    }

    /// Claims the job that has waited longest, if there is one. What an earlier try has written is dead from now on.
    pub async fn claim_export(&self, now_ms: i64, lease_ms: i64) -> Result<Option<ExportClaim>> {
        let waiting: Vec<String> =
            self.db.read(async move |tx| tx.query(READY, &[&now_ms], |row| row.get(0)).await).await?;
        if waiting.is_empty() {
            return Ok(None);
        }
        self.db.write(async move |tx| claim(tx, &waiting, now_ms, now_ms + lease_ms).await).await
    }

    /// Says where a job will be written, before it is. False when another worker has taken it over.
    pub async fn place_export(&self, claim: &ExportClaim, path: &str) -> Result<bool> {
        let (id, token, path) = (claim.job.id.clone(), claim.token, path.to_owned());
        self.db.write(async move |tx| Ok(tx.execute(SET_PATH, &[&id, &token, &path]).await? == 1)).await
    }

    /// Prolongs the lease of a job, or puts it off until a time. False when another worker has taken it over.
    pub async fn hold_export(&self, claim: &ExportClaim, until_ms: i64) -> Result<bool> {
        let (id, token) = (claim.job.id.clone(), claim.token);
        self.db.write(async move |tx| Ok(tx.execute(HOLD, &[&id, &token, &until_ms]).await? == 1)).await
    }

    /// Finishes a job whose archive is durable. False when another worker has taken it over, or the patient is gone:
    /// then the archive is nobody's and should be deleted.
    pub async fn finish_export(&self, claim: &ExportClaim, bytes: u64, now_ms: i64) -> Result<bool> {
        let (job, token, bytes) = (claim.job.clone(), claim.token, bytes as i64);
        self.db
            .write(async move |tx| {
                let is_held = tx.execute(FINISH, &[&job.id, &token, &bytes, &now_ms]).await? == 1;
                if is_held {
                    append_finished(tx, &job, "done", now_ms).await?;
                }
                Ok(is_held)
            })
            .await
    }

    /// Gives a job up.
    pub async fn give_export_up(&self, claim: &ExportClaim, error: &str, now_ms: i64) -> Result<bool> {
        let (job, token, error) = (claim.job.clone(), claim.token, error.to_owned());
        self.db
            .write(async move |tx| {
                let is_held = tx.execute(GIVE_UP, &[&job.id, &token, &error, &now_ms]).await? == 1;
                if is_held {
                    bury_path(tx, &job.id, now_ms).await?;
                    append_finished(tx, &job, "failed", now_ms).await?;
                }
                Ok(is_held)
            })
            .await
    }

    /// Forgets exports that were finished before a time; their archives are dead objects then. Answers how many.
    pub async fn forget_exports(&self, finished_before_ms: i64, now_ms: i64) -> Result<usize> {
        let read =
            self.db.read(async move |tx| tx.query(FINISHED_BEFORE, &[&finished_before_ms], |row| row.get(0)).await);
        let ids: Vec<String> = read.await?;
        if ids.is_empty() {
            return Ok(0);
        }
        self.db
            .write(async move |tx| {
                for id in &ids {
                    bury_path(tx, id, now_ms).await?;
                    tx.put(REMOVE, &[id]).await?;
                }
                Ok(ids.len())
            })
            .await
    }
}

async fn begin(tx: &Tx<'_>, new: &NewExport) -> Result<ExportTurn> {
    if tx.execute(HOLD_PATIENT, &[&new.patient]).await? == 0 {
        return Ok(ExportTurn::UnknownPatient);
    }
    let read = |row: &Row<'_>| Ok((row.get::<Option<i64>>(0)?, row.get::<Option<i64>>(1)?));
    let (own_s, last_ms) = tx.query_opt(FIND_LIMIT, &[&new.patient], read).await?.unwrap_or_default();
    let (default_s, _) = tx.query_opt(FIND_LIMIT, &[&EVERYBODY], read).await?.unwrap_or_default();
    let interval_ms = own_s.or(default_s).map_or(new.interval_ms, |seconds| seconds * 1000);
    // A clock that stands behind that of the node before does not make anyone wait for longer than the interval.
    let wait_ms = last_ms.map_or(0, |last_ms| (last_ms + interval_ms - new.now_ms).min(interval_ms));
    if wait_ms > 0 {
        return Ok(ExportTurn::TooSoon { wait_ms });
    }
    tx.put(NOTE_TURN, &[&new.patient, &new.now_ms]).await?;
    let params: [&dyn Param; 5] = [&new.id, &new.patient, &new.actor, &new.request, &new.now_ms];
    tx.put(ADD, &params).await?;
    messages::enqueue(tx, &new.patient, &new.entry, Some(&new.id), new.now_ms).await?;
    Ok(ExportTurn::Begun)
}

async fn claim(tx: &Tx<'_>, waiting: &[String], now_ms: i64, until_ms: i64) -> Result<Option<ExportClaim>> {
    for id in waiting {
        let token = tx.query_opt(CLAIM, &[id, &until_ms, &now_ms], |row| row.get::<i64>(0)).await?;
        let Some(token) = token else { continue };
        bury_path(tx, id, now_ms).await?;
        tx.put(SET_PATH, &[id, &token, &None::<String>]).await?;
        return Ok(tx.query_opt(FIND, &[id], read_job).await?.map(|job| ExportClaim { job, token }));
    }
    Ok(None)
}

async fn append_finished(tx: &Tx<'_>, job: &ExportJob, state: &str, now_ms: i64) -> Result<()> {
    let body = json!({ "export": job.id, "state": state });
    events::append(tx, &job.patient, &[NewEvent { event_type: EventType::ExportFinished, time_ms: now_ms, body }]).await
}

/// Makes what a job has written, or was about to write, a dead object.
async fn bury_path(tx: &Tx<'_>, id: &str, now_ms: i64) -> Result<()> {
    let path = tx.query_opt(PATH_OF, &[&id], |row| row.get::<Option<String>>(0)).await?.flatten();
    match path {
        Some(path) => tx.execute(ADD_DEAD, &[&path, &now_ms]).await.map(drop),
        None => Ok(()),
    }
}

fn read_job(row: &Row<'_>) -> Result<ExportJob> {
    let state: String = row.get(5)?;
    let state = match state.as_str() {
        "done" => ExportState::Done {
            path: row.get::<Option<String>>(7)?.unwrap_or_default(),
            bytes: row.get::<Option<i64>>(8)?.unwrap_or(0) as u64,
        },
        "failed" => ExportState::Failed { error: row.get::<Option<String>>(6)?.unwrap_or_default() },
        _ => ExportState::InProgress,
    };
    Ok(ExportJob {
        id: row.get(0)?,
        patient: row.get(1)?,
        actor: row.get(2)?,
        request: row.get(3)?,
        created_ms: row.get(4)?,
        state,
        attempts: row.get(9)?,
    })
}
