//! Verifying what is stored without answering any of it, a part at a time: for what looks for damage before readers do.
//!
//! Each walk goes through a table in the order of its key and answers where it has come to, so that it can be slowed down,
//! broken off and taken up again. A row that is damaged is a finding and does not end the walk.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};

use super::db::HealthDb;
use super::latest;
use super::patients::{self, WalkedPatient};
use super::settings::{read_stored, setting_columns};
use super::stored_chunk::{ChunkKey, chunk_columns, read_chunk};
use super::stored_derived::{check, derived_columns, read_columns};
use crate::engine::{Columns, Param, Row, Tx};
use crate::error::{Result, StoreError, of_rows};
use crate::ids::PatientId;
use crate::segment::catalog::SegmentRow;
use crate::segment::verify;
use crate::texts::sql;

sql! {
    CHUNKS_AFTER = concat!("SELECT patient, ", chunk_columns!(), " FROM chunk
        WHERE (patient, data_type, last_us, channel, arrival, first_us) > ($1, $2, $3, $4, $5, $6)
        ORDER BY patient, data_type, last_us, channel, arrival, first_us LIMIT $7");
    DERIVED_AFTER = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE (patient, output, key) > ($1, $2, $3) ORDER BY patient, output, key LIMIT $4");
    SETTINGS_AFTER = concat!("SELECT patient, ", setting_columns!(), " FROM patient_setting
        WHERE (patient, name, valid_from_ms) > ($1, $2, $3) ORDER BY patient, name, valid_from_ms LIMIT $4");
}

/// Where a walk goes on: behind this key of a patient. The beginning is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkPosition {
    pub(super) patient: String,
    pub(super) name: String,
    pub(super) numbers: [i64; 5],
}

/// A table that is walked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Rows that are not sealed.
    Chunks,
    /// What was derived.
    Derived,
    /// Settings that enter formulas.
    Settings,
    /// Profiles and latest values.
    Patients,
}

/// A row that is not what was stored, or several of one patient.
#[derive(Debug)]
pub struct DamageFinding {
    /// Whose row it is, or behind whose rows it lies.
    pub patient: PatientId,
    /// What is wrong with it; [`StoreError::is_damage`] holds.
    pub error: StoreError,
}

/// What a part of a walk came to.
#[derive(Debug, Default)]
pub struct WalkPart {
    /// Rows that were looked at.
    pub rows: u64,
    /// Bytes of their content.
    pub bytes: u64,
    /// Rows that are damaged.
    pub findings: Vec<DamageFinding>,
    /// Where to go on; `None` at the end.
    pub next: Option<WalkPosition>,
}

/// One row of a walk: where it is, how long its content is, and whether it is sound.
struct Looked {
    patient: PatientId,
    position: WalkPosition,
    bytes: u64,
    verdict: Result<()>,
}

impl WalkPart {
    fn of(rows: Vec<Looked>, limit: i64) -> Result<WalkPart> {
        let mut part = WalkPart { rows: rows.len() as u64, ..WalkPart::default() };
        // Fewer than were asked for are the last ones.
        if rows.len() as i64 == limit {
            part.next = rows.last().map(|last| last.position.clone());
        }
        for row in rows {
            part.bytes += row.bytes;
            match row.verdict {
                Ok(()) => {}
                Err(error) if error.is_damage() => {
                    part.findings.push(DamageFinding { patient: row.patient, error });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(part)
    }
}

#[boxed_futures]
impl HealthDb {
    /// Verifies a row of the catalog, and reads its file whole.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when either is not what was sealed, or the file is not there.
    pub async fn verify_sealed_file(&self, segment: &SegmentRow) -> Result<()> {
        let SegmentRow { data_type, object, .. } = segment.clone().checked()?;
        let compared = verify::compare(&self.objects, &object).await;
        of_rows(compared, data_type.name(), (object.first_us, object.last_us))
    }
}

impl Walk {
    /// Returns the name of what lies in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Walk::Chunks => "chunks",
            Walk::Derived => "derived",
            Walk::Settings => "settings",
            Walk::Patients => "patients",
        }
    }

    /// Verifies up to `limit` rows behind a key.
    pub(super) async fn part(self, tx: &Tx<'_>, behind: &WalkPosition, limit: i64) -> Result<WalkPart> {
        let WalkPosition { patient, name, numbers } = behind;
        let rows = match self {
            Walk::Chunks => {
                let [data_type, last_us, channel, arrival, first_us] = numbers;
                let params: [&dyn Param; 7] = [patient, data_type, last_us, channel, arrival, first_us, &limit];
                tx.query(CHUNKS_AFTER, &params, look_at_chunk).await?
            }
            Walk::Derived => {
                let [output, key, ..] = numbers;
                tx.query(DERIVED_AFTER, &[patient, output, key, &limit], look_at_derived).await?
            }
            Walk::Settings => {
                let [valid_from_ms, ..] = numbers;
                tx.query(SETTINGS_AFTER, &[patient, name, valid_from_ms, &limit], look_at_setting).await?
            }
            Walk::Patients => patients::after(tx, patient, limit).await?.into_iter().map(look_at_patient).collect(),
        };
        WalkPart::of(rows, limit)
    }
}

fn look_at_chunk(row: &Row<'_>) -> Result<Looked> {
    let mut columns = Columns::of(row);
    let patient: PatientId = columns.take()?;
    let found = read_chunk(&mut columns)?;
    let ChunkKey { channel, first_us, last_us, arrival } = found.key();
    let position = WalkPosition {
        patient: patient.to_string(),
        numbers: [found.type_number(), last_us, channel.0, arrival, first_us],
        ..WalkPosition::default()
    };
    let (bytes, verdict) = (found.payload_bytes() as u64, found.rows(&patient).map(drop));
    Ok(Looked { patient, position, bytes, verdict })
}

fn look_at_derived(row: &Row<'_>) -> Result<Looked> {
    let mut columns = Columns::of(row);
    let patient: PatientId = columns.take()?;
    let (output, key, version, sum, body) = read_columns(&mut columns)?;
    let numbers = [output, key, 0, 0, 0];
    let position = WalkPosition { patient: patient.to_string(), numbers, ..WalkPosition::default() };
    let (bytes, verdict) = (body.len() as u64, check(&patient, [output, key, version], sum, &body));
    Ok(Looked { patient, position, bytes, verdict })
}

fn look_at_setting(row: &Row<'_>) -> Result<Looked> {
    let mut columns = Columns::of(row);
    let patient: PatientId = columns.take()?;
    let found = read_stored(&mut columns)?;
    let numbers = [found.valid_from_ms, 0, 0, 0, 0];
    let position = WalkPosition { patient: patient.to_string(), name: found.name.clone(), numbers };
    let setting = found.checked(&patient);
    let bytes = setting.as_ref().map_or(0, |setting| setting.body.len() as u64);
    Ok(Looked { patient, position, bytes, verdict: setting.map(drop) })
}

fn look_at_patient(found: WalkedPatient) -> Looked {
    let WalkedPatient { uuid, profile, latest } = found;
    let position = WalkPosition { patient: uuid.to_string(), ..WalkPosition::default() };
    let bytes = latest.as_ref().map_or(0, String::len) as u64;
    let verdict = profile.and(latest::parse(&uuid, latest.as_deref())).map(drop);
    Looked { patient: uuid, position, bytes, verdict }
}
