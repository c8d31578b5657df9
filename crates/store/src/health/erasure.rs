//! The end of a patient's data: rows first, then objects.
//!
//! One transaction removes all rows of the patient and leaves a mark, so that nothing comes back: a sync, a derivation and a
//! session need the patient's row, a sealing needs its chunks, and a late change finds the mark. It also notes in which
//! periods the patient may have objects. These are then deleted by looking into the folders of those periods, not by
//! the catalog, because a sealing that was killed leaves objects that no row names. One that is under way may still be
//! writing, so the folders are looked through once more later.
//!
//! Every step can be repeated, and a call that finds the work incomplete begins again.

use std::collections::{BTreeMap, BTreeSet};

use boxed_futures::boxed_futures;
use vitals::registry::DataType;

use super::db::HealthDb;
use super::patients::{self, KnownAs, Profile};
use super::{exports, messages, patient_tables};
use crate::engine::{Tx, Work};
use crate::error::{Result, StoreError};
use crate::ids::{PatientId, RecordId};
use crate::readers::{json, pair};
use crate::segment::name::patient_folders;
use crate::segment::period::SealedPeriod;
use crate::texts::{record, sql};

record! {
    mark_columns!(""), read_mark(row) -> ErasedPatient { erased_ms, counts by json }
}

sql! {
    MARK = concat!("SELECT ", mark_columns!(), " FROM erased_patient WHERE uuid = $1");
    ADD_MARK = "INSERT INTO erased_patient (uuid, counts, erased_ms) VALUES ($1, $2, $3)";
    SEALED_PERIODS = "SELECT DISTINCT data_type, period_start_us FROM segment WHERE patient = $1";
    TALLIED_DAYS = "SELECT DISTINCT data_type, quarter_us / 86400000000 FROM tally WHERE patient = $1";
    ADD_PERIOD = "INSERT INTO erased_period (patient, data_type, period_start_us, erased_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (patient, data_type, period_start_us) DO NOTHING";
    PERIODS = "SELECT data_type, period_start_us FROM erased_period WHERE patient = $1";
    PATIENTS_BEFORE = "SELECT DISTINCT patient FROM erased_period WHERE erased_ms < $1 LIMIT $2";
    FORGET_PERIODS = "DELETE FROM erased_period WHERE patient = $1";
    SAMPLES = "SELECT CAST(COALESCE(SUM(samples), 0) AS BIGINT) FROM tally WHERE patient = $1";
}

/// A mark that a patient was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedPatient {
    /// Time, ms.
    pub erased_ms: i64,
    /// What went from this database, by kind.
    pub counts: BTreeMap<String, u64>,
}

#[boxed_futures]
impl HealthDb {
    /// Erases a patient: notes them in the list of the erased, removes their rows, deletes their objects. Doing so
    /// again finishes what was begun.
    pub(crate) async fn erase_patient(&self, patient: &PatientId, at_ms: i64) -> Result<()> {
        // Before anything is gone: a backup from before knows them, the list does not depend on the databases.
        self.objects.note_erased(patient, at_ms).await?;
        // Rows before objects: a reader finds no row of an object that is gone, and a crash between leaves periods to
        // look through.
        self.erase_rows(patient, at_ms).await?;
        self.erase_objects(patient).await?;
        Ok(())
    }

    /// Removes every row of a patient and marks them as erased. What is already done is not done again.
    pub async fn erase_rows(&self, patient: &PatientId, at_ms: i64) -> Result<()> {
        let (owner, patient) = (patient, patient.clone());
        self.db
            .with_deadlines_of(Work::Deletion)
            .write_of(owner.into(), async move |tx| {
                tx.overwrite_deleted(true)?;
                let erased = erase_rows(tx, &patient, at_ms).await;
                tx.overwrite_deleted(false)?;
                erased
            })
            .await
    }

    /// Deletes the objects of an erased patient, archives and segments, also segments that no row names; answers how many
    /// there were.
    pub async fn erase_objects(&self, patient: &PatientId) -> Result<u64> {
        let owner = patient.clone();
        let periods = self.db.read(async move |tx| tx.query(PERIODS, &[&owner], pair::<i64, i64>).await);
        let mut folders = vec![exports::folder(patient)];
        for (data_type, start_us) in periods.await? {
            let Some(data_type) = DataType::from_number(data_type) else { continue };
            folders.extend(patient_folders(data_type, SealedPeriod::of(data_type, start_us), patient));
        }
        let mut deleted = 0;
        for folder in folders {
            for object in self.objects.listed(&folder).await? {
                self.objects.delete(&object.path).await?;
                deleted += 1;
            }
            self.objects.remove_empty_folder(&folder);
        }
        Ok(deleted)
    }

    /// Returns the mark of an erased patient.
    pub async fn erased_patient(&self, patient: &PatientId) -> Result<Option<ErasedPatient>> {
        let patient = patient.clone();
        self.db.read(async move |tx| find_mark(tx, &patient).await).await
    }

    /// Patients who were erased before a time and whose folders are to be looked through once more, at most `limit`.
    pub async fn erased_before(&self, before_ms: i64, limit: i64) -> Result<Vec<PatientId>> {
        let read = async move |tx: &Tx<'_>| tx.query(PATIENTS_BEFORE, &[&before_ms, &limit], |row| row.get(0)).await;
        self.db.read_single(read).await
    }

    /// Looks once more through the folders of an erased patient; returns how many objects had come since.
    pub async fn check_erasure(&self, patient: &PatientId) -> Result<u64> {
        // Folders first and the note of them last, so that a crash between leaves something to look through.
        let found = self.erase_objects(patient).await?;
        let patient = patient.clone();
        self.db.write(async move |tx| tx.execute(FORGET_PERIODS, &[&patient]).await).await?;
        Ok(found)
    }

    /// Empties the write-ahead log; see [`crate::UsersDb::empty_log`].
    pub async fn empty_log(&self) -> Result<bool> {
        self.db.empty_log().await
    }

    /// Returns whether the database is a file of ours.
    pub fn is_file(&self) -> bool {
        self.db.is_file()
    }

    /// Rewrites the database file without what was deleted; see [`crate::UsersDb::overwrite_deleted`].
    pub async fn overwrite_deleted(&self) -> Result<()> {
        self.db.rewrite().await
    }
}

async fn find_mark(tx: &Tx<'_>, patient: &PatientId) -> Result<Option<ErasedPatient>> {
    tx.query_opt(MARK, &[&patient], read_mark).await
}

async fn erase_rows(tx: &Tx<'_>, patient: &PatientId, at_ms: i64) -> Result<()> {
    // Holds their row, also when there is none yet: a change that would add it waits, and then finds the mark.
    let unknown =
        KnownAs { record_id: &RecordId::new(""), customer_code: None, profile: &Profile::default(), removed: &[] };
    patients::put(tx, patient, unknown, at_ms).await?;
    // A second erasure would count nothing; the receipt is that of the first.
    if find_mark(tx, patient).await?.is_some() {
        return Ok(());
    }
    for (data_type, period) in periods_with_objects(tx, patient).await? {
        tx.put(ADD_PERIOD, &[&patient, &data_type.number(), &period.start_us, &at_ms]).await?;
    }
    // Archives have no period; this one is of no type, so that they are looked for again in any case.
    tx.execute(ADD_PERIOD, &[&patient, &0_i64, &0_i64, &at_ms]).await?;
    // Entries that are still to be delivered survive the erasure, without what describes the person.
    messages::drop_details(tx, patient).await?;
    // From the tally, before it goes: counting the rows themselves would open every chunk and segment.
    let samples = tx.query_opt(SAMPLES, &[&patient], |row| row.get::<i64>(0)).await?.unwrap_or(0);
    let mut counts = BTreeMap::from([("samples", samples as u64)]);
    for (kind, delete) in patient_tables::DELETE {
        let deleted = tx.execute(delete, &[&patient]).await?;
        if !kind.is_empty() {
            *counts.entry(kind).or_default() += deleted;
        }
    }
    let counts = serde_json::to_string(&counts).map_err(|error| StoreError::Damaged(error.to_string()))?;
    tx.execute(ADD_MARK, &[&patient, &counts, &at_ms]).await.map(drop)
}

/// Returns the periods in which anything of a patient was or could have been sealed.
async fn periods_with_objects(tx: &Tx<'_>, patient: &PatientId) -> Result<BTreeSet<(DataType, SealedPeriod)>> {
    let sealed: Vec<(i64, i64)> = tx.query(SEALED_PERIODS, &[&patient], pair).await?;
    let tallied: Vec<(i64, i64)> = tx.query(TALLIED_DAYS, &[&patient], pair).await?;
    let days = tallied.into_iter().map(|(data_type, day)| (data_type, day * vitals::zone::DAY_US));
    let periods = sealed.into_iter().chain(days).filter_map(|(data_type, time_us)| {
        let data_type = DataType::from_number(data_type)?;
        Some((data_type, SealedPeriod::of(data_type, time_us)))
    });
    Ok(periods.collect())
}
