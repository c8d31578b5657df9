//! Derivations around patients whose rows cannot be read.
//!
//! A statement that claims many patients, or ends the leases of many, fails as a whole where one of their rows lies in a page
//! that cannot be read. Then they are asked for by the index over their uuids, a list at a time, and one by one where a list
//! meets the page. An index over what is due would lead back to the page, and what is due is not in another table alone.

use std::collections::BTreeSet;

use boxed_futures::boxed_futures;

use super::around_damage::BY_INDEX;
use super::claims::{Claim, ClaimRequest, claim_due_patient, claim_due_patient_uncounted};
use super::db::HealthDb;
use super::jobs::{self, DERIVE_KIND, JobFailure};
use super::verify::DamageFinding;
use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::ids::{NodeId, PatientId};
use crate::readers::pair;
use crate::texts::{LIST_LENGTH, list_of_64, sql, with_more};

sql! {
    /// The time goes with who is ready, so that those who wait longest are claimed first. The function keeps
    /// PostgreSQL from the index over that time, which leads to the rows of everybody.
    READY = concat!("SELECT uuid, derive_ready_ms FROM patient WHERE uuid IN (", list_of_64!(), ")
        AND COALESCE(derive_ready_ms, 9223372036854775807) <= $65 AND fold_lease_until_ms <= $65");
    /// The time is that of the lease, and not needed.
    LATE = concat!("SELECT uuid, fold_lease_until_ms FROM patient WHERE uuid IN (", list_of_64!(), ")
        AND fold_lease_until_ms <> $65 AND fold_node IS NOT NULL AND fold_node NOT IN (SELECT id FROM node)");
    MARKED = "SELECT DISTINCT patient FROM due";
    /// A step of the index for each patient, who have thousands of rows there.
    MEASURED = "WITH RECURSIVE measured (patient) AS (SELECT MIN(patient) FROM tally UNION ALL
        SELECT (SELECT MIN(t.patient) FROM tally t WHERE t.patient > measured.patient) FROM measured
        WHERE measured.patient IS NOT NULL)
        SELECT patient FROM measured WHERE patient IS NOT NULL";
    OTHER_VERSION = "SELECT derivations FROM patient WHERE uuid = $1 AND derivations <> $2";
    /// A row that somebody holds is left for the next look.
    FREE_LATE = "UPDATE patient SET fold_node = NULL, fold_lease_until_ms = 0 WHERE uuid IN
        (SELECT uuid FROM patient WHERE uuid = $1 AND fold_node IS NOT NULL AND fold_node NOT IN (SELECT id FROM node)
        /*postgres FOR UPDATE SKIP LOCKED postgres*/)";
}

/// Patients that a statement found, each with a time, and those whose rows cannot be read.
type FoundAround = (Vec<(PatientId, i64)>, Vec<DamageFinding>);

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
        let (mut ready, unread) = self.found_around_damage(READY, now_ms).await?;
        ready.sort_by_key(|(_, ready_ms)| *ready_ms);
        let request = ClaimRequest { node: node.clone(), now_ms, until_ms: now_ms.saturating_add(lease_ms) };
        // Who was put aside has a name there already.
        let (aside, has_failures) = match self.jobs_put_aside().await {
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "failures of derivations cannot be read; patients are derived as if there were none");
                (Vec::new(), false)
            }
            aside => (aside?, true),
        };
        let is_aside = |patient: &PatientId| {
            aside.iter().any(|job| job.kind == DERIVE_KIND.name() && job.subject.as_str() == patient.as_str())
        };
        let mut unread: Vec<DamageFinding> = unread.into_iter().filter(|found| !is_aside(&found.patient)).collect();
        ready.retain(|(patient, _)| !is_aside(patient));
        let mut claims = Vec::new();
        for (patient, _) in ready {
            if claims.len() == limit {
                break;
            }
            let (asked, request) = (patient.clone(), request.clone());
            let claim = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                if has_failures {
                    claim_due_patient(tx, &asked, &request).await
                } else {
                    claim_due_patient_uncounted(tx, &asked, &request).await
                }
            };
            match self.db.write_of((&patient).into(), claim).await {
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
        const NO_LEASE_MS: i64 = -1;
        let (late, _) = self.found_around_damage(LATE, NO_LEASE_MS).await?;
        let mut ended = 0;
        for (patient, _) in late {
            let asked = patient.clone();
            let free = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                tx.execute(FREE_LATE, &[&asked]).await
            };
            match self.db.write_of((&patient).into(), free).await {
                Err(error) if error.is_damage() => {
                    tracing::warn!(%patient, %error, "the lease of a patient whose row cannot be written was left");
                }
                lease => ended += lease?,
            }
        }
        Ok(ended)
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

    /// Asks for all patients by a text that takes a list of them and a time.
    async fn found_around_damage(&self, text: &'static str, time_ms: i64) -> Result<FoundAround> {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for list in self.all_known_patients().await?.chunks(LIST_LENGTH) {
            match self.found_in(text, list, time_ms).await {
                Ok(of_list) => found.extend(of_list),
                Err(error) if error.is_damage() => {
                    for patient in list {
                        match self.found_in(text, std::slice::from_ref(patient), time_ms).await {
                            Ok(of_patient) => found.extend(of_patient),
                            Err(error) if error.is_damage() => {
                                unread.push(DamageFinding { patient: patient.clone(), error });
                            }
                            Err(error) => return Err(error),
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok((found, unread))
    }

    /// Returns the patients who are listed, and those who are named where something can be due of them: PostgreSQL lists nobody
    /// whose row it cannot read.
    async fn all_known_patients(&self) -> Result<Vec<PatientId>> {
        let mut known: BTreeSet<PatientId> = self.all_readable_patients("").await?.into_iter().collect();
        for text in [MARKED, MEASURED] {
            match self.db.read_single(async move |tx| tx.query(text, &[], |row| row.get(0)).await).await {
                Err(error) if error.is_damage() => {
                    tracing::warn!(%error, "some patients whose rows cannot be read stay without a name");
                }
                named => known.extend(named?),
            }
        }
        Ok(known.into_iter().collect())
    }

    /// Asks for up to [`LIST_LENGTH`] patients.
    async fn found_in(
        &self,
        text: &'static str,
        patients: &[PatientId],
        time_ms: i64,
    ) -> Result<Vec<(PatientId, i64)>> {
        let patients = patients.to_vec();
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            // The last one again, up to the length of the list.
            let padded = (0..LIST_LENGTH).map(|at| &patients[at.min(patients.len() - 1)] as &dyn Param);
            let list: Vec<&dyn Param> = padded.collect();
            tx.query(text, &with_more(&list, &[&time_ms]), pair).await
        };
        self.db.read(read).await
    }
}
