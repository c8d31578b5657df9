//! What a derivation of one patient starts from, in two statements: who the patient is and what is dirty, and then the
//! rows and derived values around it.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::derivation::{DerivedRow, Output, Setting, day_of};
use vitals::measured::Measured;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalDay};

use super::chunk_counts::{Counted, judge, quarters_of};
use super::claims::DueRange;
use super::db::HealthDb;
use super::patients::{Profile, check_profile};
use super::settings::check_setting;
use super::stored_chunk::{StoredChunk, check_found, chunk_columns, read_chunk};
use super::stored_derived::checked;
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
/// Outputs that one statement asks for, besides NEWS entries.
const MOST_OUTPUTS: usize = 7;
/// Types that one statement asks for the rows of, and waveforms besides them.
const MOST_TYPES: usize = 8;
/// In the place of an output or a type that is not wanted.
const NONE: i64 = -1;

/// Columns of a derived value at the places that a chunk's have: sum and bytes are the last two of both.
macro_rules! derived_as_chunk {
    () => {
        "output, key, version, 0, 0, 0, 0, sum, body"
    };
}

/// A part of a statement that asks for an output from a key to another one, by the names of its parameters.
macro_rules! of_output {
    ($output:literal, $from:literal, $to:literal) => {
        concat!(
            " UNION ALL SELECT ",
            derived_as_chunk!(),
            " FROM derived WHERE patient = $1 AND output = ",
            $output,
            " AND key >= ",
            $from,
            " AND key <= ",
            $to
        )
    };
}

/// Parameters of types that are no waveforms.
macro_rules! small_types {
    () => {
        "$32, $33, $34, $35, $36, $37, $38, $39"
    };
}

/// Parameters of all types.
macro_rules! wanted_types {
    () => {
        concat!(small_types!(), ", $40, $41, $42, $43, $44, $45, $46, $47")
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
    AROUND = concat!("SELECT CAST(-1 AS BIGINT), ", chunk_columns!(), " FROM chunk
            WHERE patient = $1 AND data_type IN (", wanted_types!(), ") AND last_us >= $25 AND last_us <= $26
            AND first_us <= $27 AND (data_type IN (", small_types!(), ") OR last_us >= $30 AND first_us <= $31)",
        of_output!("$4", "$5", "$6"), of_output!("$7", "$8", "$9"), of_output!("$10", "$11", "$12"),
        of_output!("$13", "$14", "$15"), of_output!("$16", "$17", "$18"), of_output!("$19", "$20", "$21"),
        of_output!("$22", "$23", "$24"), "
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived WHERE patient = $1 AND output = 5 AND key <= $3
            AND key >= COALESCE((SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 5 AND key < $2), $2)
        UNION ALL SELECT ", derived_as_chunk!(), " FROM derived WHERE patient = $1 AND output = 5 AND key > $3
            AND key = (SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 5)
        UNION ALL SELECT -3, (SELECT MIN(key) FROM derived WHERE patient = $1 AND output = 1),
            (SELECT MAX(key) FROM derived WHERE patient = $1 AND output = 1), 0, 0, 0, 0, 0, CAST(NULL AS BYTEA)
        UNION ALL SELECT -4, data_type, CAST(COALESCE(SUM(chunks), 0) AS BIGINT), COUNT(*) - COUNT(chunks),
            0, 0, 0, 0, CAST(NULL AS BYTEA) FROM tally WHERE patient = $1 AND data_type IN (", wanted_types!(), ")
            AND quarter_us >= $28 AND quarter_us < $29 GROUP BY data_type
        UNION ALL SELECT -5, data_type, COUNT(*), 0, 0, 0, 0, 0, CAST(NULL AS BYTEA) FROM chunk
            WHERE patient = $1 AND data_type IN (", wanted_types!(), ") AND last_us >= $28 AND last_us < $29
            GROUP BY data_type
        UNION ALL SELECT -2, data_type, 0, 0, 0, 0, 0, 0, CAST(NULL AS BYTEA) FROM segment
            WHERE patient = $1 AND data_type IN (", wanted_types!(), ") AND last_us >= $25 AND first_us <= $27
        UNION ALL SELECT -2, data_type, 0, 0, 0, 0, 0, 0, CAST(NULL AS BYTEA) FROM unverified
            WHERE patient = $1 AND data_type IN (", wanted_types!(), ") AND last_us >= $28 AND first_us < $29");
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
    pub latest: Measured,
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
    /// Returns what is due of a patient, by the time of the rows.
    pub async fn due_of(&self, patient: &PatientId, now_ms: i64) -> Result<Vec<DueRange>> {
        Ok(self.dirty_of(patient, now_ms).await?.map(|dirty| dirty.ready).unwrap_or_default())
    }

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
        // A live sync's rows are few, and the trip to a blocking thread would cost more than they do. Waveforms are many.
        if wanted.types.is_empty() || wanted.types.iter().any(|data_type| data_type.is_waveform()) {
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
    /// Outputs other than NEWS, each with its first and last key; at most [`InputRange::MOST_OUTPUTS`].
    pub outputs: BTreeMap<Output, (i64, i64)>,
    /// First and last time of NEWS entries, ms; the last entry before them and the newest of all are read too.
    pub news_ms: (i64, i64),
    /// Types whose rows are read; at most [`InputRange::MOST_TYPES`], and as many waveforms.
    pub types: Vec<DataType>,
    /// First and last time of the rows, µs.
    pub rows_us: (i64, i64),
    /// First and last time of rows of waveforms, µs, within those.
    pub waveforms_us: (i64, i64),
}

impl InputRange {
    /// Outputs that can be asked for.
    pub const MOST_OUTPUTS: usize = MOST_OUTPUTS;
    /// Types that can be asked for, waveforms or others.
    pub const MOST_TYPES: usize = MOST_TYPES;

    /// Returns the first and last time of the rows of a type, µs.
    pub fn rows_of(&self, data_type: DataType) -> (i64, i64) {
        if data_type.is_waveform() { self.waveforms_us } else { self.rows_us }
    }

    /// Returns the waveforms among the types, or the others.
    fn types_that(&self, are_waveforms: impl Fn(DataType) -> bool) -> [i64; MOST_TYPES] {
        let mut types = self.types.iter().filter(|data_type| are_waveforms(**data_type));
        std::array::from_fn(|_| types.next().map_or(NONE, |data_type| data_type.number()))
    }

    /// Returns output, first and last key of what is wanted, as the statement takes them.
    fn keys(&self) -> [i64; 3 * MOST_OUTPUTS] {
        let wanted = self.outputs.iter().flat_map(|(output, (first, last))| [output.number(), *first, *last]);
        let mut keys = wanted.chain(std::iter::repeat(NONE));
        std::array::from_fn(|_| keys.next().unwrap_or(NONE))
    }
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
    let (from_us, to_us) = wanted.rows_us;
    // A chunk lies within one UTC day, so this bounds the part of the index that is read.
    let latest_end_us = to_us.saturating_add(DAY_US);
    let (first_quarter_us, end_quarter_us) = quarters_of(from_us, to_us);
    let keys = wanted.keys();
    let (types, waveforms) =
        (wanted.types_that(|data_type| !data_type.is_waveform()), wanted.types_that(DataType::is_waveform));
    let mut params: Vec<&dyn Param> = vec![&patient, &wanted.news_ms.0, &wanted.news_ms.1];
    params.extend(keys.iter().map(|key| key as &dyn Param));
    let times: [&dyn Param; 7] = [
        &from_us,
        &latest_end_us,
        &to_us,
        &first_quarter_us,
        &end_quarter_us,
        &wanted.waveforms_us.0,
        &wanted.waveforms_us.1,
    ];
    params.extend(times);
    params.extend(types.iter().chain(&waveforms).map(|number| number as &dyn Param));
    let mut counted: BTreeMap<i64, Counted> = BTreeMap::new();
    let mut inputs = DerivationInputs::default();
    let mut chunks: BTreeMap<i64, Vec<StoredChunk>> = BTreeMap::new();
    let mut by_themselves = Vec::new();
    // By position, as in `start`.
    let read = |row: &Row<'_>| {
        match row.get::<i64>(0)? {
            -1 => {
                let chunk = read_chunk(&mut Columns::after(row, 1))?;
                chunks.entry(chunk.type_number()).or_default().push(chunk);
            }
            -2 => by_themselves.push(row.get::<i64>(1)?),
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
    // Rows of a sealed period lie in an object, which is not read within a statement, and rows that are not compared yet may
    // be none to read; the caller asks for such types by `rows`.
    for data_type in wanted.types.iter().filter(|data_type| !by_themselves.contains(&data_type.number())) {
        let (from_us, to_us) = wanted.rows_of(*data_type);
        judge(*data_type, wanted.rows_us, counted.get(&data_type.number()).copied().unwrap_or_default())?;
        let mut of_type = chunks.remove(&data_type.number()).unwrap_or_default();
        // Rows of a UNION come in no order, and later arrivals lie over earlier ones.
        of_type.sort_by_key(|chunk| chunk.key().arrival);
        check_found(*data_type, &of_type, (from_us, to_us))?;
        let blocks = of_type.iter().map(|chunk| chunk.rows(patient));
        inputs.rows.insert(*data_type, reader::merge(blocks.collect::<Result<_>>()?, from_us, to_us));
    }
    Ok(inputs)
}

/// A row of an output that this version knows.
fn derived_row(patient: &PatientId, output: i64, row: &Row<'_>) -> Result<Option<DerivedRow>> {
    let found = checked(patient, [output, row.get(1)?, row.get(2)?], row.get(7)?, row.get(8)?)?;
    found.map(derived::decoded).transpose()
}
