//! Sealed files that are missing or damaged: a reader that meets one notes it, so that an operator hears of it from every
//! node, and until it is put right.

use boxed_futures::boxed_futures;
use serde_json::json;
use vitals::registry::DataType;

use super::db::HealthDb;
use crate::engine::{Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::events::{EventType, NewEvent, append};
use crate::ids::PatientId;
use crate::names::ObjectFault;
use crate::objects::ObjectRead;
use crate::readers::{count, known_type};
use crate::segment::period::SealedPeriod;
use crate::texts::{record, sql};

/// Sealed files with one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedObjects {
    /// What is wrong with them.
    pub fault: ObjectFault,
    /// How many there are.
    pub files: u64,
    /// Path of the first.
    pub example: String,
}

record! {
    count_columns!("d."), read_count(row) -> DamagedObjects {
        fault, files = "COUNT(*)" by count, example = "MIN(d.path)",
    }
}

record! {
    found_columns!("d."), read_found(row) -> Found {
        path, patient, fault, data_type = "s.data_type" by known_type, period_start_us = "s.period_start_us",
    }
}

sql! {
    IN_USE = "SELECT generation FROM segment WHERE path = $1";
    KNOWN = "SELECT fault FROM damaged_object WHERE path = $1";
    /// Only of a file that is still in use: one that was replaced since somebody began to read it harms nobody.
    NOTE = "INSERT INTO damaged_object (path, patient, fault)
        SELECT path, patient, CAST($2 AS TEXT) FROM segment WHERE path = $1
        ON CONFLICT (path) DO UPDATE SET fault = excluded.fault";
    UNANNOUNCED = concat!("SELECT ", found_columns!(), "
        FROM damaged_object d JOIN segment s ON s.path = d.path WHERE d.announced = 0 AND d.path > $1
        ORDER BY d.path LIMIT 64");
    NOTE_ANNOUNCED = "UPDATE damaged_object SET announced = 1 WHERE path = $1 AND announced = 0";
    ANNOUNCED = concat!("SELECT ", found_columns!(), "
        FROM damaged_object d JOIN segment s ON s.path = d.path WHERE d.announced = 1 AND d.path = $1");
    CLEAR = "DELETE FROM damaged_object WHERE path = $1";
    FORGET_UNUSED = "DELETE FROM damaged_object WHERE NOT EXISTS (SELECT 1 FROM segment s WHERE s.path = damaged_object.path)";
    LIST = "SELECT d.path FROM damaged_object d JOIN segment s ON s.path = d.path
        WHERE d.path > $1 ORDER BY d.path LIMIT $2";
    COUNT = concat!("SELECT ", count_columns!(), " FROM damaged_object d JOIN segment s ON s.path = d.path
        GROUP BY d.fault ORDER BY d.fault");
}

#[boxed_futures]
impl HealthDb {
    /// Notes that a sealed file cannot be read. Whether that is news: it is in use and was not known.
    pub async fn note_damage(&self, path: &str, fault: ObjectFault) -> Result<bool> {
        // Looked up first: every reader of the file comes here, and most of them are not the first.
        if self.known_fault(path).await? == Some(fault) {
            return Ok(false);
        }
        let path = path.to_owned();
        Ok(self.db.write(async move |tx| tx.execute(NOTE, &[&path, &fault]).await).await? > 0)
    }

    /// Appends an event of each damaged file of which its patient has none yet. One that cannot have its event waits for the
    /// next time, and no other with it.
    pub async fn announce_damage(&self, now_ms: i64) -> Result<()> {
        let mut behind = String::new();
        loop {
            let found = self.unannounced(behind).await?;
            let Some((last, _)) = found.last() else { return Ok(()) };
            behind = last.clone();
            for (path, found) in found {
                let announced = match found {
                    Ok(found) => self.announce(found, now_ms).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = announced {
                    tracing::error!(path, %error, "a patient has no event yet of a damaged file");
                }
            }
        }
    }

    /// Returns damaged files behind a path that have no event, or why one of them cannot be read.
    async fn unannounced(&self, behind: String) -> Result<Vec<(String, Result<Found>)>> {
        let read = |row: &Row<'_>| Ok((row.get::<String>(0)?, read_found(row)));
        self.db.read_single(async move |tx| tx.query(UNANNOUNCED, &[&behind], read).await).await
    }

    async fn announce(&self, found: Found, now_ms: i64) -> Result<()> {
        let announce = async move |tx: &Tx<'_>| {
            // Two nodes may be at it.
            if tx.execute(NOTE_ANNOUNCED, &[&found.path]).await? > 0 {
                append(tx, &found.patient, &[found.event(EventType::DataDamaged, now_ms)]).await?;
            }
            Ok(())
        };
        self.db.write(announce).await
    }

    /// Notes that a file was found to be what was written. Whether it was noted as damaged before.
    pub async fn clear_damage(&self, path: &str, now_ms: i64) -> Result<bool> {
        if self.known_fault(path).await?.is_none() {
            return Ok(false);
        }
        let path = path.to_owned();
        let clear = async move |tx: &Tx<'_>| {
            let announced = tx.query_opt(ANNOUNCED, &[&path], read_found).await?;
            if tx.execute(CLEAR, &[&path]).await? == 0 {
                return Ok(false);
            }
            if let Some(found) = announced {
                append(tx, &found.patient, &[found.event(EventType::DataRestored, now_ms)]).await?;
            }
            Ok(true)
        };
        self.db.write(clear).await
    }

    async fn known_fault(&self, path: &str) -> Result<Option<ObjectFault>> {
        let path = path.to_owned();
        self.db.read_single(async move |tx| tx.query_opt(KNOWN, &[&path], |row| row.get(0)).await).await
    }

    /// Forgets notes of files that no segment names any more.
    pub async fn forget_unused_damage(&self) -> Result<u64> {
        self.db.write_single(async move |tx| tx.execute(FORGET_UNUSED, &[]).await).await
    }

    /// Paths of files that are in use and cannot be read, in their order behind one, at most `limit`.
    pub async fn damaged_objects(&self, behind: &str, limit: i64) -> Result<Vec<String>> {
        let behind = behind.to_owned();
        self.db
            .read_single(async move |tx| tx.query(LIST, &[&behind as &dyn Param, &limit], |row| row.get(0)).await)
            .await
    }

    /// Returns what is damaged, by what is wrong with it.
    pub async fn known_damage(&self) -> Result<Vec<DamagedObjects>> {
        self.db.read(async move |tx| tx.query(COUNT, &[], read_count).await).await
    }

    /// Opens a sealed file, to be read whole.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not there.
    pub async fn read_sealed_file(&self, path: &str) -> Result<ObjectRead> {
        let opened = self.objects.read(path, None).await?.ok_or_else(|| StoreError::missing_object(path));
        self.noting_damage(path, opened).await
    }

    /// Returns the size of an object; none when it is not there and nobody needs it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is a sealed file that is missing.
    pub async fn size_of_object(&self, path: &str) -> Result<Option<u64>> {
        let size = self.objects.size(path).await?;
        if size.is_some() {
            return Ok(size);
        }
        let asked = path.to_owned();
        let in_use = async move |tx: &Tx<'_>| tx.query_opt(IN_USE, &[&asked], |row| row.get::<i64>(0)).await;
        match self.db.read_single(in_use).await? {
            Some(_) => self.noting_damage(path, Err(StoreError::missing_object(path))).await,
            None => Ok(None),
        }
    }

    /// Hands on what became of reading a sealed file, and notes it when the file is at fault.
    pub(crate) async fn noting_damage<T>(&self, path: &str, read: Result<T>) -> Result<T> {
        if let Err(error) = &read
            && error.is_damage()
        {
            let what = error.to_string();
            let fault = if error.is_of_missing_object() { ObjectFault::Missing } else { ObjectFault::Damaged };
            match self.note_damage(path, fault).await {
                Ok(true) => tracing::error!(path, what, "a sealed file cannot be read"),
                Ok(false) => {}
                // The reader hears of the damage in any case.
                Err(error) => tracing::warn!(%error, "a damaged file could not be noted"),
            }
        }
        read
    }
}

/// A damaged file, and what it holds.
struct Found {
    path: String,
    patient: PatientId,
    fault: ObjectFault,
    data_type: DataType,
    period_start_us: i64,
}

impl Found {
    fn event(&self, event_type: EventType, time_ms: i64) -> NewEvent {
        let period = SealedPeriod::of(self.data_type, self.period_start_us).date_text(self.data_type);
        let body = json!({ "type": self.data_type.name(), "period": period, "fault": self.fault });
        NewEvent { event_type, time_ms, body }
    }
}
