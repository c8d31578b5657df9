//! Walking on behind a page that cannot be read.
//!
//! A walk goes by keys, and the keys in a page that cannot be read are not known. So places behind it are tried until one
//! can be read from: within the rows of one kind of a patient, then behind those, then behind the patient. What lies
//! between is one finding. A damaged page of a table, which its index leads to row by row, gives as many of them as it has
//! rows.

use boxed_futures::boxed_futures;
use vitals::registry::DataType;

use super::db::HealthDb;
use super::verify::{DamageFinding, Walk, WalkPart, WalkPosition};
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::segment::catalog::{SegmentRow, UnsealedPeriod, next_unsealed, segments_of};
use crate::texts::sql;

/// PostgreSQL reads a small table whole, with the page that cannot be read, unless it is kept from it.
pub(super) const BY_INDEX: &str = "SELECT 1/*postgres , set_config('enable_seqscan', 'off', true) postgres*/";

sql! {
    PATIENTS_AFTER = "SELECT uuid FROM patient WHERE uuid > $1 ORDER BY uuid LIMIT $2";
}

/// Numbers of data types and outputs are below.
const KINDS: i64 = 64;
/// Patients that are listed in one statement.
const LISTED_AT_ONCE: i64 = 64;
/// Behind all names.
const LAST_NAME: &str = "\u{10ffff}";
const LAST: i64 = i64::MAX;
const LAST_DIGITS: i64 = 0xffff_ffff;

#[boxed_futures]
impl HealthDb {
    /// Verifies up to `limit` rows of a table. Where a page cannot be read, that is a finding, and what lies behind it is
    /// verified next.
    pub async fn verify_part(&self, walk: Walk, behind: WalkPosition, limit: i64) -> Result<WalkPart> {
        let asked = behind.clone();
        match self.db.read(async move |tx: &Tx<'_>| walk.part(tx, &asked, limit).await).await {
            Err(error) if error.is_damage() => self.part_around_damage(walk, behind, limit).await,
            part => part,
        }
    }

    /// Returns the sealed files behind a path where the list of their paths cannot be read: those of each patient and type,
    /// in the order of their paths, and for which of them even that is not possible.
    pub async fn segments_around_damage(&self, behind: &str) -> Result<(Vec<SegmentRow>, Vec<DamageFinding>)> {
        let (mut rows, mut findings) = (Vec::new(), Vec::new());
        for patient in self.all_readable_patients("").await? {
            for data_type in DataType::ALL {
                match self.segments_by_index(&patient, data_type).await {
                    Ok(found) => rows.extend(found.into_iter().filter(|row| row.object.path.as_str() > behind)),
                    Err(error) if error.is_damage() => {
                        let reason = format!("the catalog of sealed files: {error}");
                        let error = StoreError::damaged_rows(data_type.name(), (0, 0), &reason);
                        findings.push(DamageFinding { patient: patient.clone(), error });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        rows.sort_by(|one, other| one.object.path.cmp(&other.object.path));
        Ok((rows, findings))
    }

    /// Periods that had ended at a time and have chunks, oldest first, at most `limit`; of each patient and type
    /// only the oldest. A period that was sealed before is among them when later data have come for it.
    pub async fn unsealed_periods(&self, ended_by_us: i64, limit: i64) -> Result<Vec<UnsealedPeriod>> {
        match self.unsealed_at_once(ended_by_us, limit).await {
            Err(error) if error.is_damage() => self.unsealed_around_damage(ended_by_us, limit).await,
            found => found,
        }
    }

    /// Returns up to `limit` periods that had ended at a time and have chunks, where the list of chunks cannot be read as a
    /// whole: of each patient and type the oldest. What of them cannot be read is left out, and no reason to seal nothing.
    async fn unsealed_around_damage(&self, ended_by_us: i64, limit: i64) -> Result<Vec<UnsealedPeriod>> {
        let mut periods = Vec::new();
        for patient in self.all_readable_patients("").await? {
            periods.extend(self.unsealed_by_index(&patient, ended_by_us).await?);
        }
        periods.sort_by_key(|unsealed| unsealed.period.start_us);
        periods.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(periods)
    }

    async fn unsealed_by_index(&self, patient: &PatientId, ended_by_us: i64) -> Result<Vec<UnsealedPeriod>> {
        let mut periods = Vec::new();
        for data_type in DataType::ALL {
            let asked = patient.clone();
            let read = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                next_unsealed(tx, &asked, data_type, (i64::MIN, ended_by_us)).await
            };
            match self.db.read(read).await {
                Ok(period) => periods.extend(period),
                Err(error) if error.is_damage() => {
                    let data_type = data_type.name();
                    tracing::error!(%patient, data_type, %error, "what is to be sealed could not be found out");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(periods)
    }

    async fn segments_by_index(&self, patient: &PatientId, data_type: DataType) -> Result<Vec<SegmentRow>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            segments_of(tx, &patient, data_type).await
        };
        self.db.read(read).await
    }

    /// Verifies rows one by one up to what cannot be read, and looks for the place behind it.
    async fn part_around_damage(&self, walk: Walk, mut behind: WalkPosition, limit: i64) -> Result<WalkPart> {
        let mut part = WalkPart::default();
        // One by one: the rows before the damage lie in pages that can be read.
        for _ in 0..limit {
            match self.part_by_index(walk, &behind, 1).await {
                Ok(one) => {
                    part.rows += one.rows;
                    part.bytes += one.bytes;
                    part.findings.extend(one.findings);
                    match one.next {
                        Some(next) => behind = next,
                        None => return Ok(part),
                    }
                }
                Err(error) if error.is_damage() => {
                    part.next = self.first_readable(walk, &behind).await?;
                    part.findings.push(unread(walk, &behind, part.next.as_ref(), &error));
                    return Ok(part);
                }
                Err(error) => return Err(error),
            }
        }
        part.next = Some(behind);
        Ok(part)
    }

    async fn part_by_index(&self, walk: Walk, behind: &WalkPosition, limit: i64) -> Result<WalkPart> {
        let behind = behind.clone();
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            walk.part(tx, &behind, limit).await
        };
        self.db.read(read).await
    }

    /// Returns whether the next row behind a place can be read, or there is none.
    async fn is_readable(&self, walk: Walk, behind: &WalkPosition) -> Result<bool> {
        match self.part_by_index(walk, behind, 1).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_damage() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns a place behind this one from which rows can be read, the first that is found; `None` where there is none.
    async fn first_readable(&self, walk: Walk, behind: &WalkPosition) -> Result<Option<WalkPosition>> {
        // The nearest first: what is passed over is not verified.
        let mut patients = vec![behind.patient.clone()];
        patients.extend(self.readable_patients_after(&behind.patient).await?);
        for patient in patients {
            let begin = if patient == behind.patient { behind.clone() } else { begin_of(patient) };
            if self.is_readable(walk, &begin.behind_patient()).await? {
                return self.within_patient(walk, begin).await.map(Some);
            }
        }
        self.by_first_digits(walk, &behind.patient).await
    }

    /// All patients behind one but those who cannot be listed: PostgreSQL looks at their rows.
    pub(super) async fn all_readable_patients(&self, behind: &str) -> Result<Vec<PatientId>> {
        let (mut all, mut behind, mut limit) = (Vec::new(), behind.to_owned(), LISTED_AT_ONCE);
        loop {
            match self.listed_patients_after(&behind, limit).await {
                Ok(patients) => {
                    let Some(last) = patients.last() else { return Ok(all) };
                    behind.clone_from(last);
                    all.extend(patients.into_iter().map(PatientId::new));
                }
                // One by one up to the one that cannot be read.
                Err(error) if error.is_damage() && limit > 1 => limit = 1,
                Err(error) if error.is_damage() => {
                    let next = self.by_first_digits(Walk::Patients, &behind).await?;
                    let Some(next) = next.filter(|next| next.patient > behind) else { return Ok(all) };
                    (behind, limit) = (next.patient, LISTED_AT_ONCE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Patients behind one; none where the list cannot be read either.
    async fn readable_patients_after(&self, patient: &str) -> Result<Vec<String>> {
        match self.listed_patients_after(patient, LISTED_AT_ONCE).await {
            Err(error) if error.is_damage() => Ok(Vec::new()),
            patients => patients,
        }
    }

    async fn listed_patients_after(&self, patient: &str, limit: i64) -> Result<Vec<String>> {
        let patient = patient.to_owned();
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            tx.query(PATIENTS_AFTER, &[&patient, &limit], |row| row.get::<String>(0)).await
        };
        self.db.read(read).await
    }

    /// Returns the first readable place within the rows of a patient, behind all of which there is one.
    async fn within_patient(&self, walk: Walk, begin: WalkPosition) -> Result<WalkPosition> {
        if matches!(walk, Walk::Settings | Walk::Patients) {
            return Ok(begin.behind_patient());
        }
        for kind in begin.numbers[0]..KINDS {
            let first = if kind == begin.numbers[0] { begin.numbers[1] } else { 0 };
            if !self.is_readable(walk, &begin.at(kind, LAST)).await? {
                continue;
            }
            let line = Line::Numbers(begin.clone(), kind);
            return self.first_on(walk, &line, first).await;
        }
        Ok(begin.behind_patient())
    }

    /// Looks for a place by the first eight digits of uuids.
    async fn by_first_digits(&self, walk: Walk, patient: &str) -> Result<Option<WalkPosition>> {
        let first = patient.get(..8).and_then(|digits| i64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        if first >= LAST_DIGITS || !self.is_readable(walk, &Line::Digits.at(LAST_DIGITS)).await? {
            return Ok(None);
        }
        self.first_on(walk, &Line::Digits, first + 1).await.map(Some)
    }

    /// Returns a place from one on from which can be read, with one just before it from which cannot. From the last one can.
    async fn first_on(&self, walk: Walk, line: &Line, first: i64) -> Result<WalkPosition> {
        let (mut unread, mut step) = (first, 0_i64);
        let mut read = loop {
            let number = first.saturating_add(step);
            if number == LAST || self.is_readable(walk, &line.at(number)).await? {
                break number;
            }
            unread = number;
            step = step.saturating_mul(2).max(1);
        };
        // Steps that double pass over few rows only after many that cannot be read; now back to the nearest.
        while read.saturating_sub(unread) > 1 {
            let middle = unread + read.saturating_sub(unread) / 2;
            if self.is_readable(walk, &line.at(middle)).await? { read = middle } else { unread = middle }
        }
        Ok(line.at(read))
    }
}

/// Places that differ in one number.
enum Line {
    /// The rows of one kind of a patient.
    Numbers(WalkPosition, i64),
    /// Patients by the first eight digits of their uuids.
    Digits,
}

impl Line {
    fn at(&self, number: i64) -> WalkPosition {
        match self {
            Line::Numbers(begin, kind) => begin.at(*kind, number),
            Line::Digits => begin_of(format!("{:08x}", number.min(LAST_DIGITS))),
        }
    }
}

fn begin_of(patient: String) -> WalkPosition {
    WalkPosition { patient, ..WalkPosition::default() }
}

impl WalkPosition {
    /// Behind everything of the patient.
    fn behind_patient(&self) -> Self {
        WalkPosition { patient: self.patient.clone(), name: LAST_NAME.to_owned(), numbers: [LAST; 5] }
    }

    /// Behind everything of the patient up to a number of a kind.
    fn at(&self, kind: i64, number: i64) -> Self {
        let numbers = [kind, number, LAST, LAST, LAST];
        WalkPosition { patient: self.patient.clone(), name: String::new(), numbers }
    }
}

/// Returns what is said of rows that cannot be read.
fn unread(walk: Walk, behind: &WalkPosition, next: Option<&WalkPosition>, error: &StoreError) -> DamageFinding {
    let place = |at: &WalkPosition| format!("{} {:?}", at.patient, at.numbers);
    let end = next.map_or_else(|| "the end".to_owned(), place);
    let reason = format!("rows behind {} up to {end} cannot be read: {error}", place(behind));
    let times_us = match (walk, next) {
        (Walk::Chunks, Some(next)) if next.patient == behind.patient => (behind.numbers[1], next.numbers[1]),
        _ => (0, 0),
    };
    let error = StoreError::damaged_rows(walk.name(), times_us, &reason);
    DamageFinding { patient: PatientId::new(behind.patient.as_str()), error }
}
