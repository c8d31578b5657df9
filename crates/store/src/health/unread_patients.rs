//! Derivations around patients whose rows cannot be read.
//!
//! A statement that claims many patients, or ends the leases of many, fails as a whole where one of their rows lies in a page
//! that cannot be read. Then each is asked for by itself. Who they are is read from the table of due marks, because everybody
//! who can be claimed has one there, and because an index over patients leads back to the damaged page.

use boxed_futures::boxed_futures;

use super::around_damage::BY_INDEX;
use super::claims::{Claim, ClaimRequest, claim_due_patient};
use super::db::HealthDb;
use super::jobs::{self, JobFailure};
use super::verify::DamageFinding;
use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::ids::{NodeId, PatientId};
use crate::texts::sql;

sql! {
    /// Without those who were put aside: they would use up the limit, and who is among them because of a page is claimed as
    /// everybody is once that can be read.
    READY = "SELECT patient FROM due WHERE ready_ms <= $1
        AND patient NOT IN (SELECT subject FROM job WHERE kind = 'derive' AND put_aside IS NOT NULL)
        GROUP BY patient ORDER BY MIN(ready_ms), patient LIMIT $2";
    MARKED = "SELECT patient FROM due GROUP BY patient ORDER BY patient";
    OTHER_VERSION = "SELECT derivations FROM patient WHERE uuid = $1 AND derivations <> $2";
    IS_LATE = "SELECT COUNT(*) FROM patient WHERE uuid = $1 AND fold_node IS NOT NULL
        AND fold_node NOT IN (SELECT id FROM node)";
    /// A row that somebody holds is left for the next look.
    FREE_LATE = "UPDATE patient SET fold_node = NULL, fold_lease_until_ms = 0 WHERE uuid IN
        (SELECT uuid FROM patient WHERE uuid = $1 AND fold_node IS NOT NULL AND fold_node NOT IN (SELECT id FROM node)
        /*postgres FOR UPDATE SKIP LOCKED postgres*/)";
}

/// Patients that one claim asks for. The engine waits for the answers, one after the other.
const MOST_ASKED: i64 = 1_024;

#[boxed_futures]
impl HealthDb {
    /// Claims patients as [`HealthDb::claim_due`] does, each by itself; also those whose rows cannot be read, who are not
    /// claimed.
    pub async fn claim_around_damage(
        &self,
        node: &NodeId,
        now_ms: i64,
        lease_ms: i64,
        limit: usize,
    ) -> Result<(Vec<Claim>, Vec<DamageFinding>)> {
        let ready = self.marked_patients(READY, &[now_ms, MOST_ASKED]).await?;
        let request = ClaimRequest { node: node.clone(), now_ms, until_ms: now_ms.saturating_add(lease_ms) };
        let (mut claims, mut unread) = (Vec::new(), Vec::new());
        for patient in ready {
            if claims.len() == limit {
                break;
            }
            let (asked, request) = (patient.clone(), request.clone());
            let claim = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                claim_due_patient(tx, &asked, &request).await
            };
            match self.db.write_of(patient.as_str(), claim).await {
                Ok(claim) => claims.extend(claim),
                Err(error) if error.is_damage() => unread.push(DamageFinding { patient, error }),
                // What was claimed already has no other way to the caller. Why this one failed says the next claim.
                Err(_) if !claims.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok((claims, unread))
    }

    /// Notes that the derivation of a patient cannot even begin; the patient's own row stays as it is.
    pub async fn note_unread_patient(&self, patient: &PatientId, failure: JobFailure) -> Result<()> {
        let patient = patient.clone();
        self.db.write(async move |tx| jobs::note_failed_derivation(tx, &patient, &failure).await).await
    }

    /// Ends late leases of patients one by one; answers how many. Leases of those who cannot be read stay: nobody can derive
    /// them either.
    pub(super) async fn end_late_leases_around_damage(&self) -> Result<u64> {
        let mut ended = 0;
        for patient in self.marked_patients(MARKED, &[]).await? {
            match self.end_late_lease(&patient).await {
                Err(error) if error.is_damage() => {
                    tracing::warn!(%patient, %error, "the lease of a patient whose row cannot be read was left");
                }
                lease => ended += lease?,
            }
        }
        Ok(ended)
    }

    async fn end_late_lease(&self, patient: &PatientId) -> Result<u64> {
        let asked = patient.clone();
        let is_late = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            tx.query_opt(IS_LATE, &[&asked], |row| row.get::<i64>(0)).await
        };
        // Read before it is written, since a write keeps all others waiting and hardly any lease is late.
        if self.db.read(is_late).await?.unwrap_or(0) == 0 {
            return Ok(0);
        }
        let asked = patient.clone();
        let free = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            tx.execute(FREE_LATE, &[&asked]).await
        };
        self.db.write_of(patient.as_str(), free).await
    }

    /// Returns the patients behind another one whose derived values other versions of the derivations have computed, with
    /// these versions, or why a patient cannot be read; all at once, for when the list cannot be read as a whole.
    pub async fn other_versions_around_damage(
        &self,
        versions: &str,
        after: Option<&PatientId>,
    ) -> Result<Vec<(PatientId, Result<String>)>> {
        let mut found = Vec::new();
        for patient in self.all_readable_patients(after.map_or("", PatientId::as_str)).await? {
            let (asked, versions) = (patient.clone(), versions.to_owned());
            let read = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                tx.query_opt(OTHER_VERSION, &[&asked, &versions], |row| row.get::<String>(0)).await
            };
            match self.db.read(read).await {
                Ok(stored) => found.extend(stored.map(|stored| (patient, Ok(stored)))),
                Err(error) if error.is_damage() => found.push((patient, Err(error))),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    async fn marked_patients(&self, text: &'static str, params: &[i64]) -> Result<Vec<PatientId>> {
        let params = params.to_vec();
        let read = async move |tx: &Tx<'_>| {
            let params: Vec<&dyn Param> = params.iter().map(|number| number as &dyn Param).collect();
            tx.query(text, &params, |row| row.get(0)).await
        };
        self.db.read_single(read).await
    }
}
