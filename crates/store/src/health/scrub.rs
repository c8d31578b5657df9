//! The pass that looks for damage before a reader meets it: how far it is, and what it has found in rows.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::damage::DamagedRows;
use crate::engine::Tx;
use crate::error::Result;
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

sql! {
    STATE = concat!("SELECT ", state_columns!(), " FROM scrub");
    SAVE = concat!("INSERT INTO scrub (one, ", state_columns!(), ") VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (one) DO UPDATE SET pass = excluded.pass, stage = excluded.stage, position = excluded.position,
            begun_ms = excluded.begun_ms, ended_ms = excluded.ended_ms, files = excluded.files, rows = excluded.rows,
            bytes = excluded.bytes");
    NOTE = "INSERT INTO damaged_row (patient, what, first_us, last_us, pass)
        SELECT uuid, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT)
        FROM patient WHERE uuid = $1
        ON CONFLICT (patient, what, first_us, last_us) DO UPDATE SET pass = excluded.pass";
    FORGET = "DELETE FROM damaged_row WHERE pass < $1";
    COUNT = concat!("SELECT ", count_columns!(), " FROM damaged_row");
}

#[boxed_futures]
impl HealthDb {
    /// Returns how far the pass is; none before the first one.
    pub async fn scrub_state(&self) -> Result<Option<ScrubState>> {
        self.db.read(async |tx| tx.query_opt(STATE, &[], read_state).await).await
    }

    /// Notes how far the pass is, and what it has found on the way. A pass that has ended forgets what earlier ones found
    /// and it did not find any more.
    pub async fn save_scrub(&self, state: ScrubState, found: Vec<(PatientId, DamagedRows)>) -> Result<()> {
        let save = async move |tx: &Tx<'_>| {
            // In the transaction that saves the place: a pass that is killed finds what it lost again.
            for (patient, rows) in &found {
                tx.put(NOTE, &[patient, &rows.what, &rows.first_us, &rows.last_us, &state.pass]).await?;
            }
            // Not before: until then the pass has not come to where earlier ones found something.
            if state.ended_ms.is_some() {
                tx.put(FORGET, &[&state.pass]).await?;
            }
            let ScrubState { pass, stage, position, begun_ms, ended_ms, files, rows, bytes } = &state;
            tx.put(SAVE, &[pass, stage, position, begun_ms, ended_ms, files, rows, bytes]).await
        };
        self.db.write(save).await
    }

    /// Returns what the passes have found in rows of the database.
    pub async fn damaged_rows(&self) -> Result<DamagedRowCount> {
        Ok(self.db.read(async move |tx| tx.query_opt(COUNT, &[], read_count).await).await?.unwrap_or_default())
    }
}
