//! The pass that looks for damage before a reader meets it: how far it is, and what it has found in rows.

use std::fmt;

use boxed_futures::boxed_futures;
use serde_json::json;

use super::db::HealthDb;
use crate::damage::DamagedRows;
use crate::engine::{DamagedPage, Param, Tx};
use crate::error::{Result, StoreError};
use crate::events::{EventType, NewEvent, append};
use crate::ids::PatientId;
use crate::names::ScrubStage;
use crate::readers::count;
use crate::texts::{record, sql};

/// Where the pass has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubState {
    /// Counts the passes, from 1.
    pub pass: i64,
    /// What it is looking at.
    pub stage: ScrubStage,
    /// Behind what it goes on within the stage; empty at its beginning.
    pub position: String,
    /// Time at which the pass began, ms.
    pub begun_ms: i64,
    /// Time at which it ended, ms; absent while it is under way.
    pub ended_ms: Option<i64>,
    /// Sealed files that it has read.
    pub files: i64,
    /// Rows of the database that it has looked at.
    pub rows: i64,
    /// Bytes of both.
    pub bytes: i64,
}

/// Something that is not what was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScrubFinding {
    /// Rows of a patient of the health database.
    Rows(PatientId, DamagedRows),
    /// A page of the database of this name. Whose rows are in it, nobody can say.
    Page(&'static str, DamagedPage),
}

impl ScrubFinding {
    /// What is damaged, and from where to where.
    fn place(&self) -> (String, i64, i64) {
        match self {
            ScrubFinding::Rows(_, rows) => (rows.what.clone(), rows.first_us, rows.last_us),
            ScrubFinding::Page(database, DamagedPage { table, page, .. }) => {
                let what =
                    table.as_ref().map_or_else(|| format!("{database} pages"), |table| format!("{database} {table}"));
                (what, *page as i64, *page as i64)
            }
        }
    }
}

impl fmt::Display for ScrubFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScrubFinding::Rows(patient, rows) => write!(formatter, "the health database: patient {patient}: {rows}"),
            ScrubFinding::Page(database, DamagedPage { table, page, reason }) => {
                write!(formatter, "the {database} database: ")?;
                if let Some(table) = table {
                    write!(formatter, "table {table}, ")?;
                }
                write!(formatter, "page {page}: {reason}")
            }
        }
    }
}

/// Damaged rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamagedRowCount {
    /// Stretches of rows that are damaged.
    pub stretches: u64,
    /// What one of them is of, such as `activity`.
    pub example: Option<String>,
}

record! {
    state_columns!(""), read_state(row) -> ScrubState { pass, stage, position, begun_ms, ended_ms, files, rows, bytes }
}

record! {
    count_columns!(""), read_count(row) -> DamagedRowCount { stretches = "COUNT(*)" by count, example = "MIN(what)" }
}

record! {
    noted_columns!(""), read_noted(row) -> Noted { patient, what, first_us, last_us }
}

sql! {
    STATE = concat!("SELECT ", state_columns!(), " FROM scrub");
    SAVE = concat!("INSERT INTO scrub (one, ", state_columns!(), ") VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (one) DO UPDATE SET pass = excluded.pass, stage = excluded.stage, position = excluded.position,
            begun_ms = excluded.begun_ms, ended_ms = excluded.ended_ms, files = excluded.files, rows = excluded.rows,
            bytes = excluded.bytes");
    /// Nothing where it is known, or the patient is gone.
    NOTE = "INSERT INTO damaged_row (patient, what, first_us, last_us, pass)
        SELECT uuid, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT)
        FROM patient WHERE uuid = $1 ON CONFLICT (patient, what, first_us, last_us) DO NOTHING";
    FIND_AGAIN = "UPDATE damaged_row SET pass = $5 WHERE patient = $1 AND what = $2 AND first_us = $3 AND last_us = $4";
    /// Of no patient that is known.
    NOTE_PLACE = "INSERT INTO damaged_row (patient, what, first_us, last_us, pass) VALUES ('', $1, $2, $3, $4)
        ON CONFLICT (patient, what, first_us, last_us) DO UPDATE SET pass = excluded.pass";
    NOT_FOUND_AGAIN = concat!("SELECT ", noted_columns!(), " FROM damaged_row
        WHERE pass < $1 AND EXISTS (SELECT 1 FROM patient WHERE uuid = damaged_row.patient)");
    FORGET = "DELETE FROM damaged_row WHERE pass < $1";
    AGE = "UPDATE damaged_row SET pass = $1 WHERE pass > $1";
    COUNT = concat!("SELECT ", count_columns!(), " FROM damaged_row");
}

#[boxed_futures]
impl HealthDb {
    /// Returns how far the pass is; none before the first one.
    pub async fn scrub_state(&self) -> Result<Option<ScrubState>> {
        self.db.read(async |tx| tx.query_opt(STATE, &[], read_state).await).await
    }

    /// Notes what a pass has found. A patient whose rows are found damaged for the first time gets an event of it.
    pub async fn note_findings(&self, pass: i64, found: &[ScrubFinding], now_ms: i64) -> Result<()> {
        // Each by itself: one that lies where nothing can be written must not keep the others from being noted.
        for finding in found {
            let noted = match finding {
                ScrubFinding::Rows(patient, rows) => self.note_rows(patient, rows, (pass, now_ms)).await,
                ScrubFinding::Page(..) => Ok(false),
            };
            // A page belongs to nobody that is known, nor does a patient whose own row cannot be read.
            let noted = match noted {
                Ok(false) => self.note_place(finding.place(), pass).await,
                Err(error) if error.is_damage() => self.note_place(finding.place(), pass).await,
                noted => noted.map(drop),
            };
            match noted {
                Err(error) if error.is_damage() => tracing::error!(%error, "a finding could not be noted"),
                noted => noted?,
            }
        }
        Ok(())
    }

    /// Notes damaged rows; false where their patient is not known.
    async fn note_rows(&self, patient: &PatientId, rows: &DamagedRows, (pass, now_ms): (i64, i64)) -> Result<bool> {
        let (patient, rows) = (patient.clone(), rows.clone());
        let note = async move |tx: &Tx<'_>| {
            let params: [&dyn Param; 5] = [&patient, &rows.what, &rows.first_us, &rows.last_us, &pass];
            if tx.execute(NOTE, &params).await? == 0 {
                return Ok(tx.execute(FIND_AGAIN, &params).await? > 0);
            }
            let times_us = (rows.first_us, rows.last_us);
            append(tx, &patient, &[event(EventType::DataDamaged, &rows.what, times_us, now_ms)]).await?;
            Ok(true)
        };
        self.db.write(note).await
    }

    async fn note_place(&self, (what, first, last): (String, i64, i64), pass: i64) -> Result<()> {
        self.db.write(async move |tx| tx.put(NOTE_PLACE, &[&what, &first, &last, &pass]).await).await
    }

    /// Notes how far the pass is, once what it has found on the way is noted.
    pub async fn save_scrub(&self, state: ScrubState) -> Result<()> {
        let save = async move |tx: &Tx<'_>| {
            let ScrubState { pass, stage, position, begun_ms, ended_ms, files, rows, bytes } = &state;
            tx.put(SAVE, &[pass, stage, position, begun_ms, ended_ms, files, rows, bytes]).await
        };
        self.db.write(save).await
    }

    /// Lets all that is noted count as found before a pass: another look at everything may have had the same number.
    pub async fn age_findings(&self, pass: i64) -> Result<()> {
        let before = pass - 1;
        self.db.write(async move |tx| tx.put(AGE, &[&before]).await).await
    }

    /// Forgets what earlier passes than one have found and this one, which has ended, did not find any more. Patients get an
    /// event of it.
    pub async fn forget_findings(&self, pass: i64, now_ms: i64) -> Result<()> {
        let forget = async move |tx: &Tx<'_>| {
            for Noted { patient, what, first_us, last_us } in tx.query(NOT_FOUND_AGAIN, &[&pass], read_noted).await? {
                let restored = event(EventType::DataRestored, &what, (first_us, last_us), now_ms);
                append(tx, &patient, &[restored]).await?;
            }
            tx.put(FORGET, &[&pass]).await
        };
        match self.db.write(forget).await {
            // No event can be written or no patient read: they are not the ones that are restored.
            Err(StoreError::Damaged(_) | StoreError::DamagedRows(_)) => {
                self.db.write(async move |tx| tx.put(FORGET, &[&pass]).await).await
            }
            forgotten => forgotten,
        }
    }

    /// Returns what the passes have found in rows of the database.
    pub async fn damaged_rows(&self) -> Result<DamagedRowCount> {
        // As above of files: readiness asks for it.
        let counted = self.db.probe(async |tx: &Tx<'_>| tx.query_opt(COUNT, &[], read_count).await).await?;
        Ok(counted.unwrap_or_default())
    }
}

/// A note of damaged rows.
struct Noted {
    patient: PatientId,
    what: String,
    first_us: i64,
    last_us: i64,
}

fn event(event_type: EventType, what: &str, (first_us, last_us): (i64, i64), time_ms: i64) -> NewEvent {
    let body = json!({ "type": what, "from_us": first_us, "to_us": last_us, "fault": "damaged" });
    NewEvent { event_type, time_ms, body }
}
