//! What a derivation of one patient starts from, in two statements: who the patient is and what is dirty, and then the
//! rows and derived values around it.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::derivation::{DerivedRow, Setting, day_of, keys_of_days};
use vitals::latest::LatestValues;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalDay};

use super::chunk_counts::{Counted, judge, quarters_of};
use super::claims::DueRange;
use super::db::HealthDb;
use super::patients::{Profile, check_profile};
use super::settings::check_setting;
use super::stored_chunk::{StoredChunk, check_found, chunk_columns};
use super::stored_derived::StoredDerived;
use super::sync::event::{TouchedRange, touched_ranges};
use super::{derived, latest, reader};
use crate::engine::{Columns, Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::sql;

/// Events of syncs that one derivation takes in.
// A patient whose phone was away for weeks comes back with thousands: memory and the length of one commit stay bounded,
// and the rest is taken in by the next derivation.
const MOST_EVENTS: i64 = 256;
/// Types that one statement asks for the rows of.
const MOST_TYPES: usize = 4;

/// Columns of a derived value at the places that a chunk's have: sum and bytes are the last two of both.
macro_rules! derived_as_chunk {
    () => {
        "output, key, version, 0, 0, 0, 0, sum, body"
    };
}

sql! {
    START = "SELECT CAST(0 AS BIGINT), arrivals, derived_through, derive_ready_ms, CAST(0 AS BIGINT),
            CAST(0 AS BIGINT), height, weight, birthday, gender, time_zone, latest,
            derivations, profile_sum FROM patient WHERE uuid = $1
        UNION ALL SELECT 1, valid_from_ms, 0, 0, 0, 0, CAST(NULL AS DOUBLE PRECISION), CAST(NULL AS DOUBLE PRECISION),
            name, body, CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT), sum
            FROM patient_setting WHERE patient = $1
        UNION ALL SELECT 2, data_type, before_us, 0, 0, 0, CAST(NULL AS DOUBLE PRECISION),
            CAST(NULL AS DOUBLE PRECISION), CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT),
            CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS BIGINT) FROM retired WHERE patient = $1
        UNION ALL SELECT 3, arrival, data_type, first_us, last_us, ready_ms, CAST(NULL AS DOUBLE PRECISION),
            CAST(NULL AS DOUBLE PRECISION), CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT),
            CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS BIGINT) FROM due WHERE patient = $1 AND ready_ms <= $2
        UNION ALL SELECT * FROM (SELECT 4, sequence, time_ms, 0, 0, 0, CAST(NULL AS DOUBLE PRECISION),
            CAST(NULL AS DOUBLE PRECISION), body, type, CAST(NULL AS TEXT), CAST(NULL AS TEXT),
            CAST(NULL AS TEXT), CAST(NULL AS BIGINT) FROM event
            WHERE patient = $1 AND sequence > (SELECT derived_through FROM patient WHERE uuid = $1)
            ORDER BY sequence LIMIT $3) AS undone";
    AROUND = concat!("SELECT CAST(-1 AS BIGINT), data_type, ", chunk_columns!(), " FROM chunk
            WHERE patient = $1 AND data_type IN ($6, $7, $8, $9) AND last_us >= $10 AND last_us <= $11 AND first_us <= $12
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived
            WHERE patient = $1 AND output IN (1, 2, 3, 6) AND key >= $2 AND key <= $3
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived
            WHERE patient = $1 AND output = 4 AND key >= $4 AND key <= $5
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived WHERE patient = $1 AND output = 5 AND key <= $5
            AND key >= COALESCE((SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 5 AND key < $4), $4)
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived WHERE patient = $1 AND output = 5 AND key > $5
            AND key = (SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 5)
        UNION ALL SELECT -3, (SELECT MIN(key) FROM derived WHERE patient = $1 AND output = 1),
            (SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 1), 0, 0, 0, 0, 0, CAST(NULL AS BYTEA)
        UNION ALL SELECT -4, data_type, CAST(COALESCE(SUM(chunks), 0) AS BIGINT), COUNT(*) - COUNT(chunks),
            0, 0, 0, 0, CAST(NULL AS BYTEA) FROM tally WHERE patient = $1 AND data_type IN ($6, $7, $8, $9)
            AND quarter_us >= $13 AND quarter_us < $14 GROUP BY data_type
        UNION ALL SELECT -5, data_type, COUNT(*), 0, 0, 0, 0, 0, CAST(NULL AS BYTEA) FROM chunk
            WHERE patient = $1 AND data_type IN ($6, $7, $8, $9) AND last_us >= $13 AND last_us < $14 GROUP BY data_type
        UNION ALL SELECT -2, data_type, 0, 0, 0, 0, 0, 0, CAST(NULL AS BYTEA) FROM segment
            WHERE patient = $1 AND data_type IN ($6, $7, $8, $9) AND last_us >= $10 AND first_us <= $12");
}

/// Who a patient is for the formulas, and what is dirty.
#[derive(Clone, Debug, Default)]
pub struct DerivationStart {
    /// Attributes of the body.
    pub profile: Profile,
    /// Every value of every setting.
    pub settings: Vec<Setting>,
    /// From when on rows of a type are still there, µs.
    pub kept_from_us: BTreeMap<DataType, i64>,
    /// Latest values.
    pub latest: LatestValues,
    /// What is dirty.
    pub dirty: Dirty,
    /// Versions of the derivations that have computed what is stored.
    pub versions: String,
}

/// Ranges of a patient whose derived values are to be computed again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dirty {
    /// Ranges that are ready, by the time of the rows.
    pub ready: Vec<DueRange>,
    /// Ranges of the events that were read which are ready later.
    pub later: Vec<DueRange>,
    /// The number of the last event whose ranges were taken in before.
    pub from: i64,
    /// The number of the last event whose ranges are among these.
    pub through: i64,
    /// When the patient was said to be ready, ms.
    pub(super) ready_ms: Option<i64>,
    /// What these events touched.
    pub(super) touched: Vec<(i64, TouchedRange)>,
}

#[boxed_futures]
impl HealthDb {
    /// What a derivation of a patient starts from; `None` when there is no such patient.
    pub async fn derivation_start(&self, patient: &PatientId, now_ms: i64) -> Result<Option<DerivationStart>> {
        let patient = patient.clone();
        let started = self.db.look_up(async move |tx| start(tx, &patient, now_ms).await).await?;
        started.map(|(start, damage)| damage.map_or(Ok(start), Err)).transpose()
    }

    /// What is dirty of a patient, also where latest values are damaged; `None` when there is no such patient.
    pub async fn dirty_of(&self, patient: &PatientId, now_ms: i64) -> Result<Option<Dirty>> {
        let patient = patient.clone();
        let started = self.db.look_up(async move |tx| start(tx, &patient, now_ms).await).await?;
        Ok(started.map(|(start, _)| start.dirty))
    }

    /// Rows and derived values around dirty ranges, in one snapshot.
    pub async fn derivation_inputs(&self, patient: &PatientId, wanted: InputRange) -> Result<DerivationInputs> {
        let patient = patient.clone();
        // A live sync's are few, and the trip to a blocking thread would cost more than they do.
        if wanted.types.is_empty() {
            return self.db.read_single(async move |tx| inputs(tx, &patient, &wanted).await).await;
        }
        self.db.look_up(async move |tx| inputs(tx, &patient, &wanted).await).await
    }
}

/// What a derivation starts from, and the error of the latest values where they are damaged.
async fn start(tx: &Tx<'_>, patient: &PatientId, now_ms: i64) -> Result<Option<(DerivationStart, Option<StoreError>)>> {
    let (mut start, mut damage) = (DerivationStart::default(), None);
    let (mut is_there, mut events) = (false, Vec::new());
    // By position: the parts of a UNION share the places of their columns, whose meaning is another one in each part, so
    // a list of names could only be that of one part. Each arm has the order of its own SELECT.
    let read = |row: &Row<'_>| {
        match row.get::<i64>(0)? {
            0 => {
                is_there = true;
                start.dirty.from = row.get(2)?;
                start.dirty.ready_ms = row.get(3)?;
                start.profile = Profile {
                    height: row.get(6)?,
                    weight: row.get(7)?,
                    birthday: row.get(8)?,
                    gender: row.get(9)?,
                    time_zone: row.get(10)?,
                    ..Profile::default()
                };
                check_profile(patient, &start.profile, row.get(13)?)?;
                match latest::parse(patient, row.get::<Option<String>>(11)?.as_deref()) {
                    Ok(latest) => start.latest = latest,
                    Err(error) => damage = Some(error),
                }
                start.versions = row.get::<Option<String>>(12)?.unwrap_or_default();
            }
            1 => {
                let setting = Setting { name: row.get(8)?, valid_from_ms: row.get(1)?, body: row.get(9)? };
                check_setting(patient, &setting, row.get(13)?)?;
                start.settings.push(setting);
            }
            2 => {
                if let Some(data_type) = DataType::from_number(row.get(1)?) {
                    start.kept_from_us.insert(data_type, row.get(2)?);
                }
            }
            3 => start.dirty.ready.push(DueRange {
                arrival: row.get(1)?,
                data_type: row.get(2)?,
                first_us: row.get(3)?,
                last_us: row.get(4)?,
                ready_ms: row.get(5)?,
            }),
            _ => events.push((row.get::<i64>(1)?, row.get::<i64>(2)?, row.get::<String>(8)?, row.get::<String>(9)?)),
        }
        Ok(())
    };
    // One statement of many parts, because each question of its own would be a round trip on PostgreSQL, and the parts
    // would not be of one moment.
    tx.query(START, &[&patient, &now_ms, &MOST_EVENTS], read).await?;
    start.dirty.through = start.dirty.from;
    for (sequence, time_ms, body, event_type) in events {
        start.dirty.take_event(sequence, time_ms, &body, &event_type, now_ms)?;
    }
    start.dirty.ready.sort_by_key(|range| (range.first_us, range.data_type, range.arrival));
    Ok(is_there.then_some((start, damage)))
}

impl Dirty {
    fn take_event(&mut self, sequence: i64, time_ms: i64, body: &str, event_type: &str, now_ms: i64) -> Result<()> {
        // Also past events of other types: the next derivation begins behind them.
        self.through = self.through.max(sequence);
        if event_type != crate::events::EventType::SyncStored.name() {
            return Ok(());
        }
        for range in touched_ranges(body)? {
            self.touched.push((time_ms, range));
            for due in range.due(sequence, time_ms) {
                if due.ready_ms <= now_ms { self.ready.push(due) } else { self.later.push(due) }
            }
        }
        Ok(())
    }
}

/// What is asked for around dirty ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRange {
    /// First and last local day of everything that is derived of days.
    pub days: (LocalDay, LocalDay),
    /// First and last time of AF records and NEWS entries, ms; the last entry before it is read too.
    pub times_ms: (i64, i64),
    /// Types whose rows are read, at most four.
    pub types: Vec<DataType>,
    /// First and last time of the rows, µs.
    pub rows_us: (i64, i64),
}

impl InputRange {
    /// Types that can be asked for.
    pub const MOST_TYPES: usize = MOST_TYPES;
}

/// Rows and derived values of a patient, as they were at one moment.
#[derive(Clone, Debug, Default)]
pub struct DerivationInputs {
    /// Derived values of the days and times; of NEWS also the last entry before and the newest of all.
    pub derived: Vec<DerivedRow>,
    /// The first and the last day that has slots.
    pub days_with_slots: Option<(LocalDay, LocalDay)>,
    /// Rows by type, merged; a type of which something is sealed in the range is left out.
    pub rows: BTreeMap<DataType, Vec<Block>>,
}

async fn inputs(tx: &Tx<'_>, patient: &PatientId, wanted: &InputRange) -> Result<DerivationInputs> {
    const NO_TYPE: i64 = -1;
    let (first_key, last_key) = keys_of_days(wanted.days.0, wanted.days.1);
    let types: [i64; MOST_TYPES] =
        std::array::from_fn(|at| wanted.types.get(at).map_or(NO_TYPE, |data_type| data_type.number()));
    let [one, two, three, four] = &types;
    let (from_us, to_us) = wanted.rows_us;
    // A chunk lies within one UTC day, so this bounds the part of the index that is read.
    let latest_end_us = to_us.saturating_add(DAY_US);
    let (first_quarter_us, end_quarter_us) = quarters_of(from_us, to_us);
    let params: [&dyn Param; 14] = [
        &patient,
        &first_key,
        &last_key,
        &wanted.times_ms.0,
        &wanted.times_ms.1,
        one,
        two,
        three,
        four,
        &from_us,
        &latest_end_us,
        &to_us,
        &first_quarter_us,
        &end_quarter_us,
    ];
    let mut counted: BTreeMap<i64, Counted> = BTreeMap::new();
    let mut inputs = DerivationInputs::default();
    let (mut chunks, mut sealed) = (Vec::new(), Vec::new());
    // By position, as in `start`.
    let read = |row: &Row<'_>| {
        match row.get::<i64>(0)? {
            // Of a type that this version does not know nothing is wanted.
            -1 => {
                if let Some(data_type) = DataType::from_number(row.get(1)?) {
                    chunks.push(StoredChunk::read(data_type, &mut Columns::after(row, 2))?);
                }
            }
            -2 => sealed.push(row.get::<i64>(1)?),
            -4 => {
                let of_type = counted.entry(row.get(1)?).or_default();
                (of_type.expected, of_type.unknown) = (row.get(2)?, row.get(3)?);
            }
            -5 => counted.entry(row.get(1)?).or_default().found = row.get(2)?,
            -3 => {
                let keys: (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
                inputs.days_with_slots = keys.0.zip(keys.1).map(|(first, last)| (day_of(first).0, day_of(last).0));
            }
            output => inputs.derived.extend(derived_row(patient, output, row)?),
        }
        Ok(())
    };
    tx.query(AROUND, &params, read).await?;
    chunks.sort_by_key(|chunk| chunk.key.arrival);
    // Rows of a sealed period lie in an object, which is not read within a statement; the caller reads such types by
    // `rows`.
    for data_type in wanted.types.iter().filter(|data_type| !sealed.contains(&data_type.number())) {
        judge(*data_type, wanted.rows_us, counted.get(&data_type.number()).copied().unwrap_or_default())?;
        let of_type: Vec<&StoredChunk> = chunks.iter().filter(|chunk| chunk.data_type == *data_type).collect();
        check_found(*data_type, &of_type, wanted.rows_us)?;
        let blocks = of_type.into_iter().map(|chunk| chunk.rows(patient));
        inputs.rows.insert(*data_type, reader::merge(blocks.collect::<Result<_>>()?, from_us, to_us));
    }
    Ok(inputs)
}

/// A row of an output that this version knows.
fn derived_row(patient: &PatientId, output: i64, row: &Row<'_>) -> Result<Option<DerivedRow>> {
    let stored = StoredDerived::checked(patient, [output, row.get(1)?, row.get(2)?], row.get(7)?, row.get(8)?)?;
    derived::of_known_output(stored).map(derived::decoded).transpose()
}
