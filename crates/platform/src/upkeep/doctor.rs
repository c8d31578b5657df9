//! What an operator asks to know whether all is well: damage, what is missing, growth.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use store::segment::{SegmentRow, StoredAmount};
use store::{FailingJobs, GroupCode, ObjectFault, PatientId, PutAside, ScrubFinding};

use crate::core::error::Result;
use crate::upkeep::Upkeep;

/// Days over which growth is measured.
const RECENT_DAYS: i64 = 30;
const DAY_US: i64 = 86_400_000_000;

/// How much is stored of some patients, and how fast that grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Patients with samples.
    pub patients: u64,
    /// Bytes, compressed as they lie.
    pub bytes: u64,
    /// Samples.
    pub rows: u64,
    /// Bytes a day: of each patient what was measured in the last thirty days, over the days since the first of it.
    pub bytes_per_day: u64,
}

/// The storage of everybody and of each group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageReport {
    /// Of everybody, each once.
    pub all: Storage,
    /// By group. Who is in several groups counts in each.
    pub groups: BTreeMap<GroupCode, Storage>,
}

/// What a check of every segment has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Segments that were read.
    pub segments: u64,
    /// Their size.
    pub bytes: u64,
    /// Paths of segments that are not there.
    pub missing: Vec<String>,
    /// Paths of segments that are not what was written.
    pub damaged: Vec<String>,
    /// What of their list is damaged.
    pub unlisted: Vec<ScrubFinding>,
}

#[boxed_futures]
impl Upkeep {
    /// Background work that failed so often that it is left alone.
    pub async fn jobs_put_aside(&self) -> Result<Vec<PutAside>> {
        Ok(self.core.health().jobs_put_aside().await?)
    }

    /// Makes background work that was put aside ready again; returns how many jobs.
    pub async fn take_jobs_up(&self) -> Result<u64> {
        let taken_up = self.core.health().take_jobs_up(None, self.core.now_ms()).await?;
        self.core.wake_derivations();
        Ok(taken_up)
    }

    /// Returns how many jobs of each kind fail, those that were put aside included; kinds without any are left out.
    pub async fn failing_jobs(&self) -> Result<Vec<FailingJobs>> {
        Ok(self.core.health().failing_jobs().await?)
    }

    /// Returns how many jobs of each kind wait to be run, on all nodes.
    pub async fn due_jobs(&self) -> Result<Vec<(String, u64)>> {
        Ok(self.core.health().due_job_kinds(self.core.now_ms()).await?)
    }

    /// Returns how much is stored, and how fast it grows.
    pub async fn storage(&self) -> Result<StorageReport> {
        let now_us = self.core.now_ms() * 1000;
        let amounts = self.core.health().stored_amounts(now_us - RECENT_DAYS * DAY_US).await?;
        Ok(storage_report(&amounts, self.core.users().groups_of_patients().await?, now_us))
    }

    /// Reads every segment and compares it with what the catalog says. `progress` hears of each.
    pub async fn verify_segments(&self, mut progress: impl FnMut(u64)) -> Result<Verification> {
        let mut found = Verification::default();
        let mut behind = String::new();
        loop {
            let (rows, unlisted) = self.files_behind(&behind).await?;
            let are_all = !unlisted.is_empty();
            found.unlisted.extend(unlisted);
            if let Some(last) = rows.last() {
                behind.clone_from(&last.object.path);
            }
            for row in &rows {
                self.verify_segment(row, &mut found).await?;
                progress(found.segments);
            }
            // Around damage all files are listed at once.
            if are_all || rows.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn verify_segment(&self, row: &SegmentRow, found: &mut Verification) -> Result<()> {
        found.segments += 1;
        found.bytes += row.object.bytes;
        match self.check_file(row).await? {
            Some(ObjectFault::Missing) => found.missing.push(row.object.path.clone()),
            Some(ObjectFault::Damaged) => found.damaged.push(row.object.path.clone()),
            None => {}
        }
        Ok(())
    }
}

/// Adds up what is stored of each patient, and then of each group.
fn storage_report(amounts: &[StoredAmount], members: Vec<(GroupCode, PatientId)>, now_us: i64) -> StorageReport {
    let mut by_patient: BTreeMap<&PatientId, OfPatient> = BTreeMap::new();
    for amount in amounts {
        let patient = by_patient.entry(&amount.patient).or_default();
        patient.bytes += amount.bytes;
        patient.rows += amount.rows;
        patient.recent_bytes += amount.recent_bytes;
        patient.from_us = [patient.from_us, amount.recent_from_us].into_iter().flatten().min();
    }
    let mut report = StorageReport::default();
    for patient in by_patient.values() {
        patient.add_to(&mut report.all, now_us);
    }
    // A patient of several studies counts in each, so the groups add up to more than `all`.
    for (code, patient) in members {
        let group = report.groups.entry(code).or_default();
        if let Some(patient) = by_patient.get(&patient) {
            patient.add_to(group, now_us);
        }
    }
    report
}

/// What one patient has stored, and how much of it lately.
#[derive(Default)]
struct OfPatient {
    bytes: u64,
    rows: u64,
    recent_bytes: u64,
    from_us: Option<i64>,
}

impl OfPatient {
    fn add_to(&self, storage: &mut Storage, now_us: i64) {
        storage.patients += 1;
        storage.bytes += self.bytes;
        storage.rows += self.rows;
        // Who has sent for three days only would otherwise seem to send a tenth of what they do. A day that has just
        // begun counts whole.
        let days = self.from_us.map_or(RECENT_DAYS, |from_us| (now_us - from_us).div_euclid(DAY_US) + 1);
        storage.bytes_per_day += self.recent_bytes / days.clamp(1, RECENT_DAYS) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: i64 = 400 * DAY_US;

    fn amount(patient: &str, bytes: u64, recent_bytes: u64, recent_days: Option<i64>) -> StoredAmount {
        let recent_from_us = recent_days.map(|days| NOW_US - days * DAY_US);
        StoredAmount { patient: PatientId::new(patient), bytes, rows: bytes / 10, recent_bytes, recent_from_us }
    }

    #[test]
    fn growth_is_over_the_days_that_a_patient_has_sent_for_and_nobody_counts_twice() {
        let amounts = [
            amount("old", 90_000, 30_000, Some(29)),
            amount("new", 4_000, 4_000, Some(3)),
            amount("new", 1_000, 1_000, Some(0)),
            amount("gone", 7_000, 0, None),
        ];
        let member = |code: &str, patient: &str| (GroupCode::new(code), PatientId::new(patient));
        let members = vec![member("A", "old"), member("A", "new"), member("B", "new"), member("C", "nothing sent")];
        let report = storage_report(&amounts, members, NOW_US);
        let storage = |patients, bytes, bytes_per_day| Storage { patients, bytes, rows: bytes / 10, bytes_per_day };
        assert_eq!(report.all, storage(3, 102_000, 1_000 + 1_250));
        let groups = [("A", storage(2, 95_000, 2_250)), ("B", storage(1, 5_000, 1_250)), ("C", Storage::default())];
        assert_eq!(report.groups, groups.map(|(code, group)| (GroupCode::new(code), group)).into());
    }
}
