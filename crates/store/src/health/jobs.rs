//! Background work as rows: enqueued, claimed under a lease, finished once.
//!
//! A claim raises the token of a row and moves `ready_ms` to the end of the lease, so one column says when a row may be
//! claimed, whether it waits for its time, is leased, or waits after a failure. A lease ends early when the node that
//! holds it has died ([`super::nodes`]). Whatever ends a run names the token, so of two nodes that both believe that
//! they hold the work only the last one to claim it changes anything.

use boxed_futures::boxed_futures;

use super::claims::Claim;
use super::db::HealthDb;
use super::failures::Failures;
use crate::engine::row::Columns;
use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::ids::{JobSubject, NodeId, PatientId};
use crate::names::JobKind;
use crate::readers::{count, pair};
use crate::texts::{record, sql};

/// What a claim says of a job.
struct Claimed {
    subject: JobSubject,
    patient: Option<PatientId>,
    token: i64,
    failures: Failures,
}

record! {
    failure_columns!(""), read_failures(columns) -> Failures { runs = "failed_runs", panics }
}

record! {
    claim_columns!(""), read_claimed(columns) -> Claimed {
        subject, patient, token, failures <- failure_columns!(read_failures),
    }
}

record! {
    aside_columns!(""), read_put_aside(row) -> PutAside {
        kind, subject, failures <- failure_columns!(read_failures), error = "COALESCE(error, '')",
        failed_ms = "COALESCE(failed_ms, 0)", version = "put_aside",
    }
}

record! {
    failing_columns!(""), read_failing(row) -> FailingJobs {
        kind, failing = "COUNT(*)" by count, put_aside = "COUNT(put_aside)" by count,
    }
}

record! {
    held_columns!(""), read_held(row) -> HeldJob { kind, subject, token }
}

sql! {
    ENQUEUE = "INSERT INTO job (kind, subject, patient, ready_ms, token, failed_runs, panics)
        VALUES ($1, $2, $3, $4, 0, 0, 0) ON CONFLICT (kind, subject) DO NOTHING";
    /// A row that is there keeps its time, unless that lies further ahead than one period: the period was longer once,
    /// or the clock was wrong.
    SCHEDULE = "INSERT INTO job (kind, subject, ready_ms, token, failed_runs, panics) VALUES ($1, '', $2, 0, 0, 0)
        ON CONFLICT (kind, subject) DO UPDATE SET ready_ms = $3 
        WHERE job.ready_ms > $3 AND job.node IS NULL AND job.put_aside IS NULL";
    DUE_KINDS = "SELECT kind, COUNT(*) FROM job WHERE ready_ms <= $1 GROUP BY kind";
    /// The condition on `ready_ms` is repeated outside: of two nodes that have found the same rows, the second one to
    /// get at a row looks at it again and leaves it.
    CLAIM = concat!("UPDATE job SET token = token + 1, node = $2, ready_ms = $4
        WHERE kind = $1 AND ready_ms <= $3 AND subject IN
            (SELECT subject FROM job WHERE kind = $1 AND ready_ms <= $3 ORDER BY ready_ms, subject LIMIT $5)
        RETURNING ", claim_columns!());
    PROLONG = concat!("UPDATE job SET ready_ms = $2 WHERE node = $1 RETURNING ", held_columns!());
    /// Holds the row until the transaction ends, so that nobody claims it meanwhile.
    CONFIRM = "UPDATE job SET token = token WHERE kind = $1 AND subject = $2 AND token = $3";
    FINISH = "DELETE FROM job WHERE kind = $1 AND subject = $2 AND token = $3";
    MOVE_ON = "UPDATE job SET ready_ms = $4, node = NULL, failed_runs = 0, panics = 0, error = NULL, failed_ms = NULL,
        put_aside = NULL WHERE kind = $1 AND subject = $2 AND token = $3";
    GIVE_BACK = "UPDATE job SET ready_ms = $4, node = NULL WHERE kind = $1 AND subject = $2 AND token = $3";
    FAIL = "UPDATE job SET ready_ms = $4, node = NULL, failed_runs = $5, panics = $6, error = $7, failed_ms = $8,
        put_aside = $9 WHERE kind = $1 AND subject = $2 AND token = $3";
    /// The patient is not ready before, either, so that nobody looks in vain. Only while a node holds the patient: a commit has
    /// ended the lease and left the token as it is.
    HOLD_PATIENT = "UPDATE patient SET fold_lease_until_ms = $3, fold_node = NULL,
        derive_ready_ms = CASE WHEN derive_ready_ms < $3 THEN $3 ELSE derive_ready_ms END
        WHERE uuid = $1 AND fold_token = $2 AND fold_node IS NOT NULL";
    NOTE_FAILURE = "INSERT INTO job (kind, subject, patient, ready_ms, token, failed_runs, panics, error, failed_ms,
        put_aside) VALUES ($1, $2, $2, $3, 0, $4, $5, $6, $7, $8)
        ON CONFLICT (kind, subject) DO UPDATE SET failed_runs = excluded.failed_runs, panics = excluded.panics,
        error = excluded.error, failed_ms = excluded.failed_ms, put_aside = excluded.put_aside";
    FORGET_FAILURE = "DELETE FROM job WHERE kind = $1 AND subject = $2";
    /// A patient whose lease has ended and who has nothing ready was derived, whatever answer the node got.
    FORGET_FAILURE_OF_DERIVED = "DELETE FROM job WHERE kind = $1 AND subject = $2 AND EXISTS (SELECT 1 FROM patient
        WHERE uuid = $2 AND fold_token = $3 AND fold_node IS NULL
        AND (derive_ready_ms IS NULL OR derive_ready_ms > $4))";
    COUNT_OF_KIND = "SELECT COUNT(*) FROM job WHERE kind = $1";
    COUNT_FAILING = concat!("SELECT ", failing_columns!(), " FROM job WHERE failed_runs > 0 GROUP BY kind
        ORDER BY kind");
    /// Whether the index can be read by which what is due is found, and into which each claim is written.
    PROBE_READY = "SELECT MIN(ready_ms) FROM job";
    LIST_PUT_ASIDE = concat!("SELECT ", aside_columns!(), " FROM job
        WHERE put_aside IS NOT NULL ORDER BY kind, subject");
    TAKE_UP = "UPDATE job SET ready_ms = $3, failed_runs = 0, panics = 0, put_aside = NULL
        WHERE kind = $1 AND subject = $2";
    TAKE_UP_PATIENT = "UPDATE patient SET fold_lease_until_ms = 0, derive_ready_ms = $2
        WHERE uuid = $1 AND fold_node IS NULL";
}

/// Later than any job is ready: work that waits for a person or a newer version.
// The end of the year 9999: it sorts behind all times, and JSON and calendars can still write it.
pub const NEVER_MS: i64 = 253_402_300_799_000;

/// The kind under which failures of derivations are noted.
pub const DERIVE_KIND: JobKind = JobKind::new("derive");

/// The kind of jobs that write archives.
pub const EXPORT_KIND: JobKind = JobKind::new("export");

/// Work that a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLease {
    /// Kind of work.
    pub kind: JobKind,
    /// What of it, unique within the kind.
    pub subject: JobSubject,
    /// Whose data it touches.
    pub patient: Option<PatientId>,
    /// Number of the claim: a later claim has a greater one.
    pub token: i64,
    /// Failures since the last success.
    pub failures: Failures,
}

/// A lease that a node still holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldJob {
    /// Kind of work.
    pub kind: String,
    /// What of it.
    pub subject: JobSubject,
    /// Number of the claim.
    pub token: i64,
}

/// How a run failed, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// Failures, this one included.
    pub failures: Failures,
    /// What failed, without anything of a person.
    pub error: String,
    /// Time at which it failed, ms.
    pub failed_ms: i64,
    /// Time at which it may be tried again, ms.
    pub retry_ms: i64,
    /// The version of the program that gives the work up, where it does.
    pub put_aside: Option<String>,
}

/// How many jobs of a kind fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingJobs {
    /// Kind of work.
    pub kind: String,
    /// Jobs whose last run failed, those that were put aside included.
    pub failing: u64,
    /// Jobs that were put aside.
    pub put_aside: u64,
}

/// A job that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAside {
    /// Kind of work.
    pub kind: String,
    /// What of it.
    pub subject: JobSubject,
    /// Failures since the last success.
    pub failures: Failures,
    /// What failed last.
    pub error: String,
    /// Time, ms.
    pub failed_ms: i64,
    /// The version of the program that put it aside.
    pub version: String,
}

/// A job to be enqueued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// What of the kind.
    pub subject: JobSubject,
    /// Whose data it touches.
    pub patient: Option<PatientId>,
}

#[boxed_futures]
impl HealthDb {
    /// Adds jobs of a kind that may be claimed from now on. One that is there already, also one that fails or is
    /// running, stays as it is. Returns how many were added.
    pub async fn enqueue_jobs(&self, kind: JobKind, jobs: Vec<NewJob>, now_ms: i64) -> Result<u64> {
        if jobs.is_empty() {
            return Ok(0);
        }
        self.db
            .write(async move |tx| {
                let mut added = 0;
                for job in &jobs {
                    // One by one, since a statement of several rows does not say which of them were there already.
                    added += tx.execute(ENQUEUE, &[&kind.name(), &job.subject, &job.patient, &now_ms]).await?;
                }
                Ok(added)
            })
            .await
    }

    /// Adds the rows of kinds that run by themselves, each with its period in ms; the first run is at once.
    pub async fn schedule_jobs(&self, kinds: Vec<(JobKind, i64)>, now_ms: i64) -> Result<()> {
        self.db
            .write(async move |tx| {
                for (kind, period_ms) in &kinds {
                    // Every node does so at its start, and only the first finds no row.
                    tx.put(SCHEDULE, &[&kind.name(), &now_ms, &(now_ms + period_ms)]).await?;
                }
                Ok(())
            })
            .await
    }

    /// Returns the kinds that have jobs to be claimed, with how many.
    pub async fn due_job_kinds(&self, now_ms: i64) -> Result<Vec<(String, u64)>> {
        let due: Vec<(String, i64)> =
            self.db.read_single(async move |tx| tx.query(DUE_KINDS, &[&now_ms], pair).await).await?;
        Ok(due.into_iter().map(|(kind, jobs)| (kind, jobs as u64)).collect())
    }

    /// Claims up to `limit` jobs of a kind for a node until a time, those that wait longest first.
    pub async fn claim_jobs(
        &self,
        kind: JobKind,
        node: &NodeId,
        now_ms: i64,
        until_ms: i64,
        limit: usize,
    ) -> Result<Vec<JobLease>> {
        let (node, limit) = (node.clone(), limit as i64);
        self.db
            .write_single(async move |tx| {
                tx.query(CLAIM, &[&kind.name(), &node, &now_ms, &until_ms, &limit], |row| {
                    let Claimed { subject, patient, token, failures } = read_claimed(&mut Columns::of(row))?;
                    Ok(JobLease { kind, subject, patient, token, failures })
                })
                .await
            })
            .await
    }

    /// Prolongs every lease of a node. Returns what it still holds.
    pub async fn prolong_jobs(&self, node: &NodeId, until_ms: i64) -> Result<Vec<HeldJob>> {
        let node = node.clone();
        self.db.write_single(async move |tx| tx.query(PROLONG, &[&node, &until_ms], read_held).await).await
    }

    /// Removes a job that is done. False when it was claimed again or is gone.
    pub async fn finish_job(&self, lease: &JobLease) -> Result<bool> {
        let lease = lease.clone();
        self.db.write_single(async move |tx| finish(tx, &lease).await).await
    }

    /// Notes the success of a job that runs again at a time. False when it was claimed again or is gone.
    pub async fn move_job_on(&self, lease: &JobLease, ready_ms: i64) -> Result<bool> {
        self.end_run(MOVE_ON, lease, ready_ms).await
    }

    /// Gives a job back that was neither done nor failed. False when it was claimed again or is gone.
    pub async fn give_job_back(&self, lease: &JobLease, ready_ms: i64) -> Result<bool> {
        self.end_run(GIVE_BACK, lease, ready_ms).await
    }

    async fn end_run(&self, text: &'static str, lease: &JobLease, ready_ms: i64) -> Result<bool> {
        let lease = lease.clone();
        self.db
            .write_single(async move |tx| {
                Ok(tx.execute(text, &[&lease.kind.name(), &lease.subject, &lease.token, &ready_ms]).await? == 1)
            })
            .await
    }

    /// Notes that a run of a job has failed. False when it was claimed again or is gone.
    pub async fn fail_job(&self, lease: &JobLease, failure: JobFailure) -> Result<bool> {
        let lease = lease.clone();
        self.db
            .write_single(async move |tx| {
                let JobFailure { failures, error, failed_ms, retry_ms, put_aside } = &failure;
                let JobLease { kind, subject, token, .. } = &lease;
                let Failures { runs, panics } = failures;
                let ended = tx
                    .execute(FAIL, &[&kind.name(), subject, token, retry_ms, runs, panics, error, failed_ms, put_aside])
                    .await?;
                Ok(ended == 1)
            })
            .await
    }

    /// Notes that the derivation of a patient has failed; the lease stays until it may be tried again. False, and nothing
    /// is noted, when the lease has ended: another node has claimed the patient since, or the commit is durable and its
    /// answer was lost, in which case failures before it are forgotten.
    pub async fn fail_derivation(&self, claim: &Claim, failure: JobFailure) -> Result<bool> {
        let (owner, claim) = (&claim.patient, claim.clone());
        self.db
            .write_of(owner.into(), async move |tx| {
                let JobFailure { failed_ms, retry_ms, .. } = &failure;
                // The patient's row first: it knows whether the lease still holds.
                if tx.execute(HOLD_PATIENT, &[&claim.patient, &claim.token, retry_ms]).await? == 0 {
                    let derived: [&dyn Param; 4] = [&DERIVE_KIND.name(), &claim.patient, &claim.token, failed_ms];
                    tx.put(FORGET_FAILURE_OF_DERIVED, &derived).await?;
                    return Ok(false);
                }
                note_failed_derivation(tx, &claim.patient, &failure).await?;
                Ok(true)
            })
            .await
    }

    /// Forgets the failures of a patient whose derivation has succeeded.
    pub async fn forget_derivation_failures(&self, patient: &PatientId) -> Result<()> {
        let patient = patient.clone();
        self.db
            .write_single(async move |tx| tx.execute(FORGET_FAILURE, &[&DERIVE_KIND.name(), &patient]).await.map(drop))
            .await
    }

    /// Returns how many jobs of a kind there are, in whatever state.
    pub async fn count_jobs(&self, kind: JobKind) -> Result<u64> {
        let count =
            self.db.read_single(async move |tx| tx.query_opt(COUNT_OF_KIND, &[&kind.name()], |row| row.get(0)).await);
        Ok(count.await?.unwrap_or(0_i64) as u64)
    }

    /// Returns how many jobs fail, by kind; kinds without any are left out.
    pub async fn failing_jobs(&self) -> Result<Vec<FailingJobs>> {
        // Asked by what watches over the node, also while all connections wait for something.
        let count = async |tx: &Tx<'_>| {
            tx.query_opt(PROBE_READY, &[], |row| row.get::<Option<i64>>(0)).await?;
            tx.query(COUNT_FAILING, &[], read_failing).await
        };
        self.db.probe(count).await
    }

    /// Jobs that were put aside.
    pub async fn jobs_put_aside(&self) -> Result<Vec<PutAside>> {
        self.db.read_single(async |tx| tx.query(LIST_PUT_ASIDE, &[], read_put_aside).await).await
    }

    /// Makes jobs that were put aside ready again, except for those that a version of the program has put aside.
    /// Returns how many.
    pub async fn take_jobs_up(&self, except_version: Option<&str>, now_ms: i64) -> Result<u64> {
        let mut aside = self.jobs_put_aside().await?;
        aside.retain(|job| except_version != Some(job.version.as_str()));
        let mut taken_up = 0;
        for job in aside {
            let (kind, subject) = (job.kind.clone(), job.subject.clone());
            // One by one: a patient whose row cannot be read stays aside, and nobody else does.
            match self.db.write(async move |tx| take_up(tx, &job, now_ms).await).await {
                Ok(()) => taken_up += 1,
                Err(error) if error.is_damage() => {
                    tracing::error!(kind, %subject, %error, "a job that was put aside could not be taken up");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(taken_up)
    }
}

async fn take_up(tx: &Tx<'_>, PutAside { kind, subject, .. }: &PutAside, now_ms: i64) -> Result<()> {
    if kind != DERIVE_KIND.name() {
        return tx.put(TAKE_UP, &[kind, subject, &now_ms]).await;
    }
    // The row of a derivation is nothing but its failures; the work itself is due by the patient's row.
    tx.put(FORGET_FAILURE, &[kind, subject]).await?;
    tx.put(TAKE_UP_PATIENT, &[subject, &now_ms]).await
}

/// Notes a failure of a patient's derivation, and nothing on the patient's row.
pub(super) async fn note_failed_derivation(tx: &Tx<'_>, patient: &PatientId, failure: &JobFailure) -> Result<()> {
    let JobFailure { failures: Failures { runs, panics }, error, failed_ms, put_aside, .. } = failure;
    let params: [&dyn Param; 8] = [&DERIVE_KIND.name(), patient, &NEVER_MS, runs, panics, error, failed_ms, put_aside];
    tx.put(NOTE_FAILURE, &params).await
}

/// Adds a job in the transaction of what makes it necessary.
pub(super) async fn enqueue(
    tx: &Tx<'_>,
    kind: JobKind,
    subject: JobSubject,
    patient: Option<&PatientId>,
    now_ms: i64,
) -> Result<()> {
    tx.put(ENQUEUE, &[&kind.name(), &subject, &patient, &now_ms]).await
}

/// Returns whether the lease still holds; nobody claims the job until the transaction ends.
pub(super) async fn confirm(tx: &Tx<'_>, lease: &JobLease) -> Result<bool> {
    Ok(tx.execute(CONFIRM, &[&lease.kind.name(), &lease.subject, &lease.token]).await? == 1)
}

/// Removes a job in the transaction that completes its work. False when the lease is lost: then nothing may be
/// completed.
pub(super) async fn finish(tx: &Tx<'_>, lease: &JobLease) -> Result<bool> {
    Ok(tx.execute(FINISH, &[&lease.kind.name(), &lease.subject, &lease.token]).await? == 1)
}
