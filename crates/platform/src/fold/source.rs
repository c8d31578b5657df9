//! What a fold reads of one patient.
//!
//! A trait, so that the tests can fold plain blocks from memory and compare any order of syncs with one fold of
//! everything, and so that a recomputation can lay derived values beside those that are stored.

use std::future::Future;

use store::{AfHourRow, FactsRow, HealthDb, SlotRow, StoredSection};
use vitals::block::Block;
use vitals::news_timeline::NewsEntry;
use vitals::registry::DataType;
use vitals::zone::LocalDay;

/// The types of rows that latest values and NEWS come from.
pub(crate) const VITAL_TYPES: [DataType; 2] = [DataType::Activity, DataType::Tests];

/// What is stored of one patient.
pub(crate) trait FoldSource: Sync {
    /// Rows in a range of time, µs, both ends included; one block a channel.
    fn rows(
        &self,
        data_type: DataType,
        from_us: i64,
        to_us: i64,
    ) -> impl Future<Output = store::Result<Vec<Block>>> + Send;

    /// Cells of local days, first and last included.
    fn slots(&self, first: LocalDay, last: LocalDay) -> impl Future<Output = store::Result<Vec<SlotRow>>> + Send;

    /// The same, of the types that vital signs come from.
    fn vital_slots(&self, first: LocalDay, last: LocalDay) -> impl Future<Output = store::Result<Vec<SlotRow>>> + Send;

    /// Cells of vital signs of some whole days before a local day, the latest day first; nothing when there is none.
    fn slots_before(&self, day: LocalDay) -> impl Future<Output = store::Result<Vec<SlotRow>>> + Send;

    /// Cells of vital signs of some whole days after a local day, the first day first; nothing when there is none.
    fn slots_after(&self, day: LocalDay) -> impl Future<Output = store::Result<Vec<SlotRow>>> + Send;

    /// Sections of local days, first and last included.
    fn sections(
        &self,
        first: LocalDay,
        last: LocalDay,
    ) -> impl Future<Output = store::Result<Vec<StoredSection>>> + Send;

    /// Facts of local days, first and last included.
    fn facts(&self, first: LocalDay, last: LocalDay) -> impl Future<Output = store::Result<Vec<FactsRow>>> + Send;

    /// Atrial-fibrillation records of the hours that begin in a range, ms, both ends included.
    fn af_hours(&self, from_ms: i64, to_ms: i64) -> impl Future<Output = store::Result<Vec<AfHourRow>>> + Send;

    /// NEWS entries from a time to another, ms, both ends included, in the order of time.
    fn news_between(&self, from_ms: i64, to_ms: i64) -> impl Future<Output = store::Result<Vec<NewsEntry>>> + Send;

    /// The last NEWS entry before a time, ms.
    fn news_before(&self, time_ms: i64) -> impl Future<Output = store::Result<Option<NewsEntry>>> + Send;
}

/// A patient in the health database.
#[derive(Clone, Debug)]
pub(crate) struct StoredPatient {
    pub health: HealthDb,
    pub patient: String,
}

/// Rows of cells that one look backward or forward reads. More than there are vital types, so that it holds whole days.
const LOOK_ROWS: i64 = 12;

/// The days of which no row is missing: the last one may have been cut by the limit.
fn whole_days(mut rows: Vec<SlotRow>) -> Vec<SlotRow> {
    if rows.len() as i64 == LOOK_ROWS {
        let cut = rows.last().map(|row| row.day);
        rows.retain(|row| Some(row.day) != cut);
    }
    rows
}

impl FoldSource for StoredPatient {
    async fn rows(&self, data_type: DataType, from_us: i64, to_us: i64) -> store::Result<Vec<Block>> {
        self.health.rows(&self.patient, data_type, from_us, to_us).await
    }

    async fn slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        self.health.slots(&self.patient, first, last).await
    }

    async fn vital_slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        self.health.slots_of_types(&self.patient, first, last, VITAL_TYPES).await
    }

    async fn slots_before(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(whole_days(self.health.slots_before(&self.patient, day, VITAL_TYPES, LOOK_ROWS).await?))
    }

    async fn slots_after(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(whole_days(self.health.slots_after(&self.patient, day, VITAL_TYPES, LOOK_ROWS).await?))
    }

    async fn sections(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<StoredSection>> {
        self.health.stored_sections(&self.patient, first, last).await
    }

    async fn facts(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<FactsRow>> {
        self.health.facts(&self.patient, first, last).await
    }

    async fn af_hours(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<AfHourRow>> {
        self.health.af_hours(&self.patient, from_ms, to_ms).await
    }

    async fn news_between(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<NewsEntry>> {
        self.health.news_between(&self.patient, from_ms, to_ms).await
    }

    async fn news_before(&self, time_ms: i64) -> store::Result<Option<NewsEntry>> {
        self.health.news_before(&self.patient, time_ms).await
    }
}
