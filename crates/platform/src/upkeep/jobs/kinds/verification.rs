//! Counts and derives rows that arrived while stored rows at their time were damaged.

use std::collections::BTreeSet;
use std::time::Duration;

use runtime::HashMap;
use store::{JobKind, JobSubject, NotePosition, PatientId, StoreError, UnverifiedRows};
use vitals::registry::DataType;

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Notes that are looked up at once.
const BATCH: i64 = 512;
/// Patients after whose failures a run ends, one after the other: then it is the store and not the patients.
const PATIENTS_IN_A_ROW: usize = 8;

/// Looks whether damaged periods with later rows can be read again.
pub(crate) struct VerifyRows;

impl Job for VerifyRows {
    const SPEC: Spec = Spec::new(JobKind::new("verify_rows"), Turn::Every(Duration::from_mins(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(VerifyRows)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let health = run.upkeep.core.health();
        let mut found = Found::default();
        let mut behind = Some(NotePosition::default());
        while let Some(position) = behind {
            let page = health.unverified_rows(position, BATCH).await?;
            for unverified in &page.notes {
                if found.is_hopeless(unverified) {
                    continue;
                }
                // Each is a transaction of its own, so the work can end between any two.
                run.work.check()?;
                found.look_at(&run, unverified).await?;
            }
            behind = page.next;
        }
        // After all others: a patient whose row is held must not end the run for those behind.
        found.first_error.map_or(Ok(Ended::Done), |error| Err(error.into()))
    }
}

/// What a run has found.
#[derive(Default)]
struct Found {
    /// Stretches of time that cannot be read, µs. Hundreds of syncs can wait for one file.
    unreadable: HashMap<(PatientId, DataType), Vec<(i64, i64)>>,
    /// Patients whose rows could not be written, and the first reason. A row that is held is waited for, and not once
    /// for each note.
    failed: BTreeSet<PatientId>,
    first_error: Option<StoreError>,
    failed_in_a_row: usize,
}

impl Found {
    /// Returns whether this run knows already that nothing comes of a note.
    fn is_hopeless(&self, note: &UnverifiedRows) -> bool {
        if self.failed.contains(&note.patient) {
            return true;
        }
        let stretches = self.unreadable.get(&(note.patient.clone(), note.data_type));
        stretches.is_some_and(|stretches| stretches.iter().any(|stretch| note.touches(*stretch)))
    }

    async fn look_at(&mut self, run: &Run, unverified: &UnverifiedRows) -> Result<()> {
        let core = &run.upkeep.core;
        match core.health().verify_rows(unverified, core.now_ms()).await {
            // Rows that did not count before do now.
            Ok(true) => core.wake_derivations(),
            // A sync came in between, or rows before these are not compared yet: the next run does it.
            Ok(false) => {}
            // What is still damaged waits, and the others go on.
            Err(StoreError::DamagedRows(rows)) => {
                let of_type = (unverified.patient.clone(), unverified.data_type);
                self.unreadable.entry(of_type).or_default().push((rows.first_us, rows.last_us));
            }
            Err(error) if error.is_damage() => {}
            Err(error) => return self.note_failure(unverified, error),
        }
        self.failed_in_a_row = 0;
        Ok(())
    }

    fn note_failure(&mut self, unverified: &UnverifiedRows, error: StoreError) -> Result<()> {
        self.failed.insert(unverified.patient.clone());
        self.failed_in_a_row += 1;
        if self.failed_in_a_row > PATIENTS_IN_A_ROW {
            return Err(error.into());
        }
        tracing::warn!(patient = %unverified.patient, %error, "rows that were not compared could not be looked at");
        self.first_error.get_or_insert(error);
        Ok(())
    }
}
