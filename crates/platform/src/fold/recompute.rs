//! Everything that was ever derived of a patient, computed once more from his rows and compared with what is stored.
//!
//! On healthy data nothing differs: folds that follow single syncs and one fold of everything agree exactly. What does
//! differ is put right. What lies before the first row of its type is frozen: its rows were retired, and it stays.

use std::collections::BTreeMap;

use store::{
    AfHourRow, Claim, DueRange, FactsRow, FoldCommit, FoldOutcome, HealthDb, LatestChange, NewsRow, SlotRow,
    StoredSection, SummaryRow,
};
use vitals::af::{AfRecord, unpack_hour};
use vitals::block::Block;
use vitals::cells::{Day, window_of};
use vitals::news_timeline::NewsEntry;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalDay};

use super::derived::Derived;
use super::patient::{FoldInput, fold};
use super::source::{FoldSource, StoredPatient, VITAL_TYPES};
use super::subject_of;
use super::worker::commit_due;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// How long a recomputation may hold a patient; the fold of what he syncs meanwhile waits for it.
const LEASE_MS: i64 = 10 * 60_000;
/// How often a recomputation begins again because rows came or somebody else had the patient.
const TRIES: usize = 20;
/// Pause between two tries.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(250);
/// Patients that are listed at once.
const PATIENTS: i64 = 256;
const FIRST_DAY: LocalDay = LocalDay(i32::MIN / 2);
const LAST_DAY: LocalDay = LocalDay(i32::MAX / 2);

/// What a recomputation has looked at and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recomputed {
    /// Five-minute windows that were computed anew, each once for each type with rows in it.
    pub windows: u64,
    /// Derived values that differed and were put right: days of cells, sections, facts, NEWS entries, hours of
    /// atrial-fibrillation records, latest values.
    pub differences: u64,
}

/// Recomputes one patient, or all of them. Tells of each patient when he is done. Not found when there is no such
/// patient; a conflict when he is synced or folded so often that no quiet moment is found.
pub async fn recompute(
    platform: &Platform,
    patient: Option<&str>,
    mut done: impl FnMut(&str, Recomputed),
) -> Result<Recomputed> {
    let mut total = Recomputed::default();
    let mut add = |patient: &str, found: Recomputed| {
        total.windows += found.windows;
        total.differences += found.differences;
        done(patient, found);
    };
    if let Some(patient) = patient {
        platform.health.patient(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
        add(patient, recompute_patient(platform, patient).await?);
        return Ok(total);
    }
    let mut after = String::new();
    loop {
        let patients = platform.health.patients_after(&after, PATIENTS).await?;
        let Some(last) = patients.last() else { return Ok(total) };
        after.clone_from(last);
        for patient in &patients {
            add(patient, recompute_patient(platform, patient).await?);
        }
    }
}

async fn recompute_patient(platform: &Platform, patient: &str) -> Result<Recomputed> {
    for _ in 0..TRIES {
        if let Some(found) = try_recompute(platform, patient).await? {
            return Ok(found);
        }
        runtime::sleep(PAUSE).await;
    }
    Err(PlatformError::Conflict { code: "busy", message: "the patient is being synced all the time" })
}

/// `None` when somebody else has the patient, or when something came between.
async fn try_recompute(platform: &Platform, patient: &str) -> Result<Option<Recomputed>> {
    let health = &platform.health;
    let arrivals = health.arrivals(patient).await?;
    let now_ms = platform.now_ms();
    // Windows of waveforms that wait for their end are computed now: the recomputation takes what is there.
    for range in health.due_of(patient, i64::MAX).await? {
        let is_waveform = DataType::from_number(range.data_type).is_some_and(DataType::is_waveform);
        if is_waveform && range.ready_ms > now_ms {
            health.mark_due(patient, DueRange { ready_ms: now_ms, ..range }).await?;
        }
    }
    if !commit_due(platform, patient, now_ms, LEASE_MS).await? {
        return Ok(None);
    }
    let Some(claim) = health.claim_patient(patient, now_ms, LEASE_MS).await? else { return Ok(None) };
    let source = StoredPatient { health: health.clone(), patient: patient.to_owned() };
    let compared = compare(&source, claim.clone(), now_ms).await;
    let is_quiet = health.due_of(patient, now_ms).await?.is_empty() && health.arrivals(patient).await? == arrivals;
    let (repair, found) = match compared {
        Ok(compared) if is_quiet => compared,
        other => {
            health.hold_claim(claim, now_ms).await?;
            other?;
            return Ok(None);
        }
    };
    let outcomes = health.commit_folds(vec![repair]).await?;
    Ok((outcomes == [FoldOutcome::Committed]).then_some(found))
}

/// Derives everything anew and answers what has to change, with what was found.
async fn compare(source: &StoredPatient, claim: Claim, now_ms: i64) -> store::Result<(FoldCommit, Recomputed)> {
    let StoredPatient { health, patient } = source;
    let subject = || subject_of(health, patient);
    let mut due = health.everything_due(patient, now_ms).await?;
    due.retain(|range| DataType::from_number(range.data_type).is_some_and(|known| Day::TYPES.contains(&known)));
    if due.is_empty() {
        return Ok((FoldCommit::nothing(claim), Recomputed::default()));
    }
    let kept_from_us = health.retired(patient).await?;
    let stored = stored_of(health, patient).await?;
    let mut shadow = Shadow { rows: source, derived: Frozen::of(&due, &kept_from_us).part_of(&stored) };
    shadow.derived.due.clone_from(&due);
    while !shadow.derived.due.is_empty() {
        let input = FoldInput {
            claim: claim.clone(),
            due: shadow.derived.due.clone(),
            seen: shadow.derived.latest,
            subject: subject().await?,
            kept_from_us: kept_from_us.clone(),
            now_ms,
        };
        let mut commit = fold(&shadow, input).await?;
        // Marks for times to come stand in the store already.
        commit.due.retain(|range| range.ready_ms <= now_ms);
        shadow.derived.apply(commit);
    }
    let mut repair = FoldCommit::nothing(claim);
    let differences = differences(&stored, &shadow.derived, &mut repair);
    let windows = windows_with_rows(&shadow.derived);
    Ok((repair, Recomputed { windows, differences }))
}

/// Windows with rows, each once for each type.
fn windows_with_rows(derived: &Derived) -> u64 {
    let mut windows = 0;
    for ((_, data_type), cells) in &derived.slots {
        let mut day = Day::default();
        day.read(*data_type, cells);
        windows += day.cell_count() as u64;
    }
    windows
}

/// What lies before the first row of its type: it was derived from rows that are no more.
///
/// What is made of several types, such as the summary of a day, is frozen where any of them is retired. A fold still
/// brings a summary up to date where rows of another one are left, but not NEWS.
struct Frozen<'patient> {
    /// First row of each type that has any, µs.
    first_us: BTreeMap<DataType, i64>,
    /// From when on rows of a type are kept, µs, where some were retired.
    kept_from_us: &'patient BTreeMap<DataType, i64>,
}

impl<'patient> Frozen<'patient> {
    fn of(due: &[DueRange], kept_from_us: &'patient BTreeMap<DataType, i64>) -> Self {
        let first = |range: &DueRange| Some((DataType::from_number(range.data_type)?, range.first_us));
        Frozen { first_us: due.iter().filter_map(first).collect(), kept_from_us }
    }

    /// The first row of some types, µs; the end of time without any.
    fn first_of(&self, types: &[DataType]) -> i64 {
        types.iter().filter_map(|data_type| self.first_us.get(data_type)).copied().min().unwrap_or(i64::MAX)
    }

    /// From when on what is made of all these types can be made anew, µs.
    fn whole_from(&self, types: &[DataType]) -> i64 {
        let kept_from = types.iter().filter_map(|data_type| self.kept_from_us.get(data_type)).copied().max();
        self.first_of(types).max(kept_from.unwrap_or(i64::MIN))
    }

    fn part_of(&self, stored: &Derived) -> Derived {
        let mut kept = stored.clone();
        for ((_, data_type), cells) in &mut kept.slots {
            let mut day = Day::default();
            day.read(*data_type, cells);
            day.keep_before(window_of(self.first_of(&[*data_type])));
            *cells = day.pack(*data_type);
        }
        kept.slots.retain(|_, cells| !cells.is_empty());
        // A local day may begin so long before the UTC day of its date, and end so long after it.
        let mut first_day = LocalDay(self.first_of(Day::TYPES).div_euclid(DAY_US) as i32 - 1);
        if let Some(kept_from_us) = self.kept_from_us.values().max() {
            first_day = first_day.max(LocalDay(kept_from_us.div_euclid(DAY_US) as i32 + 2));
        }
        kept.summaries.retain(|(day, _), _| *day < first_day);
        kept.facts.retain(|day, _| *day < first_day);
        let first_beat_ms = self.first_of(&[DataType::RrInterval]).div_euclid(1000);
        kept.af_hours.retain(|hour_ms, _| *hour_ms < vitals::af::hour_of(first_beat_ms));
        let first_vital_ms = self.whole_from(&VITAL_TYPES).div_euclid(1000);
        kept.news.retain(|time_ms, _| *time_ms < first_vital_ms);
        kept.latest.retain(|timed| timed.timestamp_ms < first_vital_ms);
        kept
    }
}

/// Everything that is stored of a patient.
async fn stored_of(health: &HealthDb, patient: &str) -> store::Result<Derived> {
    let mut stored = Derived { latest: health.stored_latest(patient).await?, ..Derived::default() };
    for row in health.slots(patient, FIRST_DAY, LAST_DAY).await? {
        stored.slots.insert((row.day, row.data_type), row.cells);
    }
    for row in health.summaries(patient, FIRST_DAY, LAST_DAY).await? {
        stored.summaries.extend(row.body.map(|body| ((row.day, row.section), body)));
    }
    for row in health.facts(patient, FIRST_DAY, LAST_DAY).await? {
        stored.facts.insert(row.day, row.facts);
    }
    for row in health.af_hours(patient, i64::MIN, i64::MAX).await? {
        stored.af_hours.insert(row.hour_ms, row.records);
    }
    for entry in health.news_between(patient, i64::MIN, i64::MAX).await? {
        stored.news.insert(entry.time_ms, entry);
    }
    Ok(stored)
}

/// Counts what differs, and writes down what puts it right.
fn differences(stored: &Derived, computed: &Derived, repair: &mut FoldCommit) -> u64 {
    for ((day, data_type), cells) in changes(&stored.slots, &computed.slots, |one, other| one == other) {
        repair.slots.push(SlotRow { day, data_type, cells: cells.unwrap_or_default() });
    }
    for ((day, section), body) in changes(&stored.summaries, &computed.summaries, |one, other| one == other) {
        repair.summaries.push(SummaryRow { day, section, body });
    }
    for (day, facts) in changes(&stored.facts, &computed.facts, |one, other| one == other) {
        repair.facts.push(FactsRow { day, facts: facts.unwrap_or_default() });
    }
    for (hour_ms, records) in changes(&stored.af_hours, &computed.af_hours, |one, other| same_records(one, other)) {
        repair.af_hours.push(AfHourRow { hour_ms, records: records.unwrap_or_default() });
    }
    for (time_ms, entry) in changes(&stored.news, &computed.news, |one, other| one == other) {
        repair.news.push(NewsRow { time_ms, entry });
    }
    let lists = [repair.slots.len(), repair.summaries.len(), repair.facts.len(), repair.af_hours.len()];
    let mut differences = lists.iter().sum::<usize>() + repair.news.len();
    if stored.latest != computed.latest {
        repair.latest = Some(LatestChange { seen: stored.latest, computed: computed.latest });
        differences += 1;
    }
    differences as u64
}

/// The same records: when the service learned of them is not derived from rows.
fn same_records(one: &[u8], other: &[u8]) -> bool {
    let records = |bytes: &[u8]| -> Option<Vec<AfRecord>> {
        Some(unpack_hour(bytes)?.into_iter().map(|stored| stored.record).collect())
    };
    records(one).is_some_and(|one| Some(one) == records(other))
}

/// What has to be put in place of what is stored; nothing for what has to go.
fn changes<Key: Ord + Copy, Value: Clone>(
    stored: &BTreeMap<Key, Value>,
    computed: &BTreeMap<Key, Value>,
    is_same: impl Fn(&Value, &Value) -> bool,
) -> Vec<(Key, Option<Value>)> {
    let gone = stored.keys().filter(|key| !computed.contains_key(*key)).map(|key| (*key, None));
    let is_new = |(key, value): &(&Key, &Value)| stored.get(*key).is_none_or(|known| !is_same(known, value));
    let new = computed.iter().filter(is_new).map(|(key, value)| (*key, Some(value.clone())));
    gone.chain(new).collect()
}

/// Rows as they are stored, and beside them what is derived from them anew.
struct Shadow<'patient> {
    rows: &'patient StoredPatient,
    derived: Derived,
}

impl FoldSource for Shadow<'_> {
    async fn rows(&self, data_type: DataType, from_us: i64, to_us: i64) -> store::Result<Vec<Block>> {
        self.rows.rows(data_type, from_us, to_us).await
    }

    async fn slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(self.derived.slots(first, last))
    }

    async fn vital_slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(self.derived.vital_slots(first, last))
    }

    async fn slots_before(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(self.derived.slots_before(day))
    }

    async fn slots_after(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        Ok(self.derived.slots_after(day))
    }

    async fn sections(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<StoredSection>> {
        Ok(self.derived.sections(first, last))
    }

    async fn facts(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<FactsRow>> {
        Ok(self.derived.facts(first, last))
    }

    async fn af_hours(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<AfHourRow>> {
        Ok(self.derived.af_hours(from_ms, to_ms))
    }

    async fn news_between(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<NewsEntry>> {
        Ok(self.derived.news_between(from_ms, to_ms))
    }

    async fn news_before(&self, time_ms: i64) -> store::Result<Option<NewsEntry>> {
        Ok(self.derived.news_before(time_ms))
    }
}
