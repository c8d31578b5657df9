//! Who derives a patient: a lease with a token that shows an owner whether it is still its own.
//!
//! A patient is due while a mark of theirs is ready. Claiming raises the token and holds the lease; a commit that
//! comes with an older token changes nothing. A worker that dies leaves a lease that runs out. A failed derivation is put off
//! by leaving the lease until the time to try again.

use boxed_futures::boxed_futures;
use vitals::zone::QUARTER_US;

use super::db::HealthDb;
use super::due;
use super::failures::Failures;
use crate::engine::{Param, Tx, Work};
use crate::error::Result;
use crate::ids::{NodeId, PatientId};
use crate::readers::or_zero;
use crate::texts::{record, sql};

// Failures since the last success come with the claim, so that nobody has to ask for them.
record! {
    failure_columns!(""), read_failures(columns) -> Failures {
        runs = "(SELECT failed_runs FROM job WHERE kind = 'derive' AND subject = patient.uuid)" by or_zero,
        panics = "(SELECT panics FROM job WHERE kind = 'derive' AND subject = patient.uuid)" by or_zero,
    }
}

record! {
    claim_columns!(""), read_claim(row) -> Claim {
        patient = "uuid", token = "fold_token", failures <- failure_columns!(read_failures),
    }
}

// For when failures cannot be read: they make a patient wait, which must not make everybody wait.
record! {
    no_failure_columns!(""), read_no_failures(columns) -> Failures { runs = "CAST(0 AS BIGINT)", panics = "CAST(0 AS BIGINT)" }
}

record! {
    uncounted_columns!(""), read_uncounted(row) -> Claim {
        patient = "uuid", token = "fold_token", failures <- no_failure_columns!(read_no_failures),
    }
}

record! {
    held_columns!(""), read_held(row) -> HeldPatient { uuid, fold_token }
}

record! {
    extent_columns!(""), read_extent(row) -> TypeExtent {
        data_type, first_us = "MIN(quarter_us)", last_quarter_us = "MAX(quarter_us)",
    }
}

/// The function keeps PostgreSQL from the index over that time, which leads to the rows of others.
macro_rules! claim_if_due {
    () => {
        "UPDATE patient SET fold_token = fold_token + 1, fold_lease_until_ms = $2, fold_node = $4
        WHERE uuid = $1 AND COALESCE(derive_ready_ms, 9223372036854775807) <= $3 AND fold_lease_until_ms <= $3"
    };
}

sql! {
    /// Those who wait longest. Nodes that claim at the same time take different patients and do not wait for each other.
    CLAIM_DUE = concat!("UPDATE patient SET fold_token = fold_token + 1, fold_lease_until_ms = $2, fold_node = $4
        WHERE uuid IN (SELECT uuid FROM patient WHERE derive_ready_ms <= $1 AND fold_lease_until_ms <= $1
            ORDER BY derive_ready_ms LIMIT $3 /*postgres FOR UPDATE SKIP LOCKED postgres*/)
        RETURNING ", claim_columns!());
    CLAIM = concat!("UPDATE patient SET fold_token = fold_token + 1, fold_lease_until_ms = $2, fold_node = $4
        WHERE uuid = $1 AND fold_lease_until_ms <= $3 RETURNING ", claim_columns!());
    /// Of one patient, where something is due; for when the rows of others cannot be read.
    CLAIM_IF_DUE = concat!(claim_if_due!(), " RETURNING ", claim_columns!());
    CLAIM_IF_DUE_UNCOUNTED = concat!(claim_if_due!(), " RETURNING ", uncounted_columns!());
    FIND_PATIENTS = "SELECT uuid FROM patient WHERE uuid > $1 ORDER BY uuid LIMIT $2";
    FIND_ARRIVALS = "SELECT arrivals FROM patient WHERE uuid = $1";
    FIND_FIRST_AND_LAST = concat!("SELECT ", extent_columns!(), " FROM tally WHERE patient = $1 GROUP BY data_type");
    HOLD_UNTIL = "UPDATE patient SET fold_lease_until_ms = $3 WHERE uuid = $1 AND fold_token = $2";
    /// Only while a node holds it: the end of a derivation leaves the token as it is.
    PROLONG = "UPDATE patient SET fold_lease_until_ms = $3
        WHERE uuid = $1 AND fold_token = $2 AND fold_node IS NOT NULL";
    FIND_HELD = concat!("SELECT ", held_columns!(), " FROM patient
        WHERE fold_node = $1 AND fold_lease_until_ms > $2 AND derive_ready_ms IS NOT NULL");
    COUNT_READY = "SELECT COUNT(*) FROM patient WHERE derive_ready_ms <= $1";
    FORGET_DUE = "DELETE FROM due WHERE (patient, arrival, data_type, first_us, ready_ms) =
        /*postgres ANY (VALUES postgres*/ (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT),
        CAST($4 AS BIGINT), CAST($5 AS BIGINT)) /*postgres ) postgres*/";
    MARK_DUE = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, arrival, data_type, first_us, ready_ms) DO UPDATE SET
        last_us = CASE WHEN excluded.last_us > due.last_us THEN excluded.last_us ELSE due.last_us END";
}

/// The right to derive a patient until the lease runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Patient.
    pub patient: PatientId,
    /// Raised by each claim: a smaller one than the stored one is of a claim that has ended.
    pub token: i64,
    /// Failures since the last success.
    pub failures: Failures,
}

/// A claim that a node asks for.
#[derive(Clone, Debug)]
pub(super) struct ClaimRequest {
    pub node: NodeId,
    pub now_ms: i64,
    pub until_ms: i64,
}

/// A patient that a node holds, and the token of its claim.
struct HeldPatient {
    uuid: PatientId,
    fold_token: i64,
}

/// The quarters of an hour in which rows of a type lie, µs.
struct TypeExtent {
    data_type: i64,
    first_us: i64,
    last_quarter_us: i64,
}

/// A range whose derived values are to be computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRange {
    /// Number of the sync that brought the rows.
    pub arrival: i64,
    /// Number of the data type.
    pub data_type: i64,
    /// First row, µs.
    pub first_us: i64,
    /// Last row, µs.
    pub last_us: i64,
    /// Time at which it may be derived, ms.
    pub ready_ms: i64,
}

#[boxed_futures]
impl HealthDb {
    /// Claims for a node up to `limit` patients who have something due and are claimed by no node, those that wait
    /// longest first.
    pub async fn claim_due(&self, node: &NodeId, now_ms: i64, lease_ms: i64, limit: usize) -> Result<Vec<Claim>> {
        let (until_ms, limit, node) = (now_ms.saturating_add(lease_ms), limit as i64, node.clone());
        self.db
            .write_single(async move |tx| tx.query(CLAIM_DUE, &[&now_ms, &until_ms, &limit, &node], read_claim).await)
            .await
    }

    /// Returns the patients that a node holds, without their failures.
    pub async fn claims_of(&self, node: &NodeId, now_ms: i64) -> Result<Vec<Claim>> {
        let node = node.clone();
        let held = self.db.read_single(async move |tx| tx.query(FIND_HELD, &[&node, &now_ms], read_held).await).await?;
        let claim = |HeldPatient { uuid, fold_token }| {
            // Its failures came with the claim, and are not asked for again.
            Claim { patient: uuid, token: fold_token, failures: Failures::default() }
        };
        Ok(held.into_iter().map(claim).collect())
    }

    /// Returns how many patients have something due, whether or not somebody derives them.
    pub async fn count_due(&self, now_ms: i64) -> Result<u64> {
        let count: Option<i64> =
            self.db.read(async move |tx| tx.query_opt(COUNT_READY, &[&now_ms], |row| row.get(0)).await).await?;
        Ok(count.unwrap_or(0).unsigned_abs())
    }

    /// Claims one patient for a node, whether something is due of them or not; `None` while somebody else has them, or when
    /// there is no such patient. Without a node the lease ends by time alone.
    pub async fn claim_patient(
        &self,
        patient: &PatientId,
        node: Option<&NodeId>,
        now_ms: i64,
        lease_ms: i64,
    ) -> Result<Option<Claim>> {
        let (owner, patient, node) = (patient, patient.clone(), node.cloned());
        let until_ms = now_ms.saturating_add(lease_ms);
        let work = async move |tx: &Tx<'_>| claim(tx, &patient, node.as_ref(), until_ms, now_ms).await;
        self.db.write_single_of(owner.into(), work).await
    }

    /// Up to `limit` patients whose uuids come after another, or the first ones, in their order.
    pub async fn patients_after(&self, after: Option<&PatientId>, limit: i64) -> Result<Vec<PatientId>> {
        let after = after.map_or("", PatientId::as_str).to_owned();
        self.db.read(async move |tx| tx.query(FIND_PATIENTS, &[&after, &limit], |row| row.get(0)).await).await
    }

    /// Returns how many syncs of a patient have arrived; 0 when there is no such patient.
    pub async fn arrivals(&self, patient: &PatientId) -> Result<i64> {
        let patient = patient.clone();
        let found =
            self.db.read(async move |tx| tx.query_opt(FIND_ARRIVALS, &[&patient], |row| row.get(0)).await).await?;
        Ok(found.unwrap_or(0))
    }

    /// For each type that a patient has rows of: the ranges in which they lie, as if nothing was derived from them yet.
    pub async fn everything_due(&self, patient: &PatientId, now_ms: i64) -> Result<Vec<DueRange>> {
        const OF_NO_SYNC: i64 = 0;
        let patient = patient.clone();
        let found = self.db.read(async move |tx| tx.query(FIND_FIRST_AND_LAST, &[&patient], read_extent).await).await?;
        let due = |TypeExtent { data_type, first_us, last_quarter_us }| {
            let last_us = last_quarter_us + QUARTER_US - 1;
            DueRange { arrival: OF_NO_SYNC, data_type, first_us, last_us, ready_ms: now_ms }
        };
        Ok(found.into_iter().map(due).collect())
    }

    /// Prolongs the lease of a node until a time, unless the derivation has ended meanwhile.
    pub async fn prolong_claim(&self, claim: Claim, until_ms: i64) -> Result<()> {
        let params = async move |tx: &Tx<'_>| tx.execute(PROLONG, &[&claim.patient, &claim.token, &until_ms]).await;
        // The engine of a node waits for it, which others take for dead after three seconds of silence.
        self.db.with_deadlines_of(Work::Batch).write(params).await.map(drop)
    }

    /// Puts a derivation off until a time, or gives the patient back at once with a time past.
    pub async fn hold_claim(&self, claim: Claim, until_ms: i64) -> Result<()> {
        // With the token: a node that claimed since must not find its lease ended by the one that lost it.
        let owner = claim.patient.clone();
        let hold = async move |tx: &Tx<'_>| tx.execute(HOLD_UNTIL, &[&claim.patient, &claim.token, &until_ms]).await;
        self.db.write_of((&owner).into(), hold).await.map(drop)
    }

    /// Marks a range of a patient due, as when a setting that enters a formula has changed.
    pub async fn mark_due(&self, patient: &PatientId, range: DueRange) -> Result<()> {
        let (owner, patient) = (patient, patient.clone());
        self.db.write_of(owner.into(), async move |tx| mark(tx, &patient, &range).await).await
    }
}

/// Claims a patient for a node, or for nobody.
async fn claim(
    tx: &Tx<'_>,
    patient: &PatientId,
    node: Option<&NodeId>,
    until_ms: i64,
    now_ms: i64,
) -> Result<Option<Claim>> {
    tx.query_opt(CLAIM, &[&patient, &until_ms, &now_ms, &node], read_claim).await
}

/// Claims a patient who has something due; `None` where nothing is, or while somebody else has them.
pub(super) async fn claim_due_patient(
    tx: &Tx<'_>,
    patient: &PatientId,
    request: &ClaimRequest,
) -> Result<Option<Claim>> {
    let ClaimRequest { node, now_ms, until_ms } = request;
    tx.query_opt(CLAIM_IF_DUE, &[patient, until_ms, now_ms, node], read_claim).await
}

/// Does the same where failures cannot be read: the claim says that there were none.
pub(super) async fn claim_due_patient_uncounted(
    tx: &Tx<'_>,
    patient: &PatientId,
    request: &ClaimRequest,
) -> Result<Option<Claim>> {
    let ClaimRequest { node, now_ms, until_ms } = request;
    tx.query_opt(CLAIM_IF_DUE_UNCOUNTED, &[patient, until_ms, now_ms, node], read_uncounted).await
}

/// Marks a range and makes the patient ready for it.
pub(super) async fn mark(tx: &Tx<'_>, patient: &PatientId, range: &DueRange) -> Result<()> {
    put_all(tx, patient, std::slice::from_ref(range)).await?;
    due::lower_ready(tx, patient, range.ready_ms).await
}

/// Marks ranges; the caller says when the patient is ready.
pub(super) async fn put_all(tx: &Tx<'_>, patient: &PatientId, ranges: &[DueRange]) -> Result<()> {
    let rows = ranges.iter().map(|range| {
        let DueRange { arrival, data_type, first_us, last_us, ready_ms } = range;
        let row: [&dyn Param; 6] = [&patient, arrival, data_type, first_us, last_us, ready_ms];
        row
    });
    tx.put_rows(MARK_DUE, &rows.collect::<Vec<_>>()).await
}

/// Ends marks.
pub(super) async fn forget_all(tx: &Tx<'_>, patient: &PatientId, ranges: &[DueRange]) -> Result<()> {
    let rows = ranges.iter().map(|range| {
        let DueRange { arrival, data_type, first_us, ready_ms, .. } = range;
        let row: [&dyn Param; 5] = [&patient, arrival, data_type, first_us, ready_ms];
        row
    });
    tx.put_rows(FORGET_DUE, &rows.collect::<Vec<_>>()).await
}
