//! Everything that is computed from a patient's rows, in one table.
//!
//! An output is a number and a meaning of the key. Whatever outputs a commit has changed, it writes them with one
//! statement, so neither the schema nor the number of statements grows with the list of derivations.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use runtime::HashMap;

use vitals::derivation::{DerivedRow, Look, Output, keys_of_days};
use vitals::registry::DataType;
use vitals::zone::LocalDay;

use super::claims::{self, DueRange};
use super::db::HealthDb;
use super::packed_slots;
use super::stored_derived::{checked, derived_columns, derived_sum, read_columns, read_derived, read_with_patient};
use crate::engine::{Columns, Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::readers::pair;
use crate::texts::{in_lists, list_of_64, sql, with_more};

sql! {
    FIND = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = $2 AND key >= $3 AND key <= $4 ORDER BY key");
    FIND_BEFORE = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = $2 AND key < $3 ORDER BY key DESC LIMIT 1");
    FIND_ALL = concat!("SELECT ", derived_columns!(), " FROM derived WHERE patient = $1 ORDER BY output, key");
    /// Of two outputs.
    FIND_OF_PATIENTS = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient IN (", list_of_64!(), ") AND output IN ($65, $66) AND key >= $67 AND key <= $68
        ORDER BY patient, output, key");
    /// Of two types, the latest day first.
    FIND_DAYS_BEFORE = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 1 AND key < $2 AND (key % 64 = $4 OR key % 64 = $5) ORDER BY key DESC LIMIT $3");
    /// Of two types, the first day first.
    FIND_DAYS_AFTER = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 1 AND key > $2 AND (key % 64 = $4 OR key % 64 = $5) ORDER BY key LIMIT $3");
    FIND_OTHER_VERSIONS = "SELECT uuid, derivations FROM patient
        WHERE derivations <> $1 AND uuid > $2 ORDER BY uuid LIMIT $3";
    SET_VERSIONS = "UPDATE patient SET derivations = $2 WHERE uuid = $1";
    PUT = "INSERT INTO derived (patient, output, key, version, sum, body) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, output, key) DO UPDATE SET version = excluded.version, sum = excluded.sum,
        body = excluded.body";
    /// SQLite removes row after row and reads one row here, so that it finds it by the key.
    DELETE = "DELETE FROM derived WHERE (patient, output, key) =
        /*postgres ANY (VALUES postgres*/ (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)) /*postgres ) postgres*/";
}

/// Rows of a day of two types.
const ROWS_OF_DAY: i64 = 2;

#[boxed_futures]
impl HealthDb {
    /// Returns the derived values of an output from a key to another one, both included, by key.
    pub async fn derived(
        &self,
        patient: &PatientId,
        output: Output,
        (from, to): (i64, i64),
    ) -> Result<Vec<DerivedRow>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| {
            tx.query(FIND, &[&patient, &output.number(), &from, &to], |row| read_row(&patient, row)).await
        };
        known(self.db.read(read).await?)
    }

    /// Returns the last derived value of an output below a key.
    pub async fn derived_before(&self, patient: &PatientId, output: Output, key: i64) -> Result<Option<DerivedRow>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| {
            tx.query(FIND_BEFORE, &[&patient, &output.number(), &key], |row| read_row(&patient, row)).await
        };
        Ok(known(self.db.look_up(read).await?)?.pop())
    }

    /// Returns everything that is derived of a patient, by output and key.
    pub async fn all_derived(&self, patient: &PatientId) -> Result<Vec<DerivedRow>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| tx.query(FIND_ALL, &[&patient], |row| read_row(&patient, row)).await;
        known(self.db.read(read).await?)
    }

    /// Returns what is derived of a patient as far as it is sound, by output and key, and the places of what is damaged.
    pub async fn sound_derived(&self, patient: &PatientId) -> Result<(Vec<DerivedRow>, Vec<(Output, i64)>)> {
        let patient = patient.clone();
        let read = |patient: &PatientId, row: &Row<'_>| {
            let (output, key, version, sum, body) = read_columns(&mut Columns::of(row))?;
            match checked(patient, [output, key, version], sum, body) {
                Ok(sound) => Ok(sound.map(Ok)),
                Err(error) if error.is_damage() => Ok(Output::from_number(output).map(|output| Err((output, key)))),
                Err(error) => Err(error),
            }
        };
        let rows = self.db.read(async move |tx| tx.query(FIND_ALL, &[&patient], |row| read(&patient, row)).await);
        let (mut sound, mut damaged) = (Vec::new(), Vec::new());
        for row in rows.await?.into_iter().flatten() {
            match row.map(|row| ((row.output, row.key), decoded(row))) {
                Ok((_, Ok(row))) => sound.push(row),
                Ok((place, Err(error))) if error.is_damage() => damaged.push(place),
                Ok((_, Err(error))) => return Err(error),
                Err(place) => damaged.push(place),
            }
        }
        Ok((sound, damaged))
    }

    /// Returns the derived values of two outputs of several patients on one local day, by patient; patients without any are
    /// left out.
    pub async fn derived_of_patients(
        &self,
        patients: Vec<PatientId>,
        day: LocalDay,
        outputs: [Output; 2],
    ) -> Result<HashMap<PatientId, Vec<DerivedRow>>> {
        let ([one, other], (from, to)) = (outputs.map(Output::number), keys_of_days(day, day));
        let read_all = async move |tx: &Tx<'_>| {
            find_of_patients(tx, FIND_OF_PATIENTS, &patients, &[&one, &other, &from, &to]).await
        };
        self.db.read(read_all).await
    }

    /// Returns the window aggregates of two types of some whole days before a local day, the latest day first.
    pub async fn slots_before(&self, patient: &PatientId, look: Look, types: [DataType; 2]) -> Result<Vec<DerivedRow>> {
        self.slots_beyond(FIND_DAYS_BEFORE, patient, (keys_of_days(look.day, look.day).0, look.days), types).await
    }

    /// Returns the window aggregates of two types of some whole days after a local day, the first day first.
    pub async fn slots_after(&self, patient: &PatientId, look: Look, types: [DataType; 2]) -> Result<Vec<DerivedRow>> {
        self.slots_beyond(FIND_DAYS_AFTER, patient, (keys_of_days(look.day, look.day).1, look.days), types).await
    }

    async fn slots_beyond(
        &self,
        text: &'static str,
        patient: &PatientId,
        (key, days): (i64, i64),
        types: [DataType; 2],
    ) -> Result<Vec<DerivedRow>> {
        let patient = patient.clone();
        // One row more than the days can have, so that the first days are whole.
        let limit = days.max(1) * ROWS_OF_DAY + 1;
        let read = async move |tx: &Tx<'_>| {
            let [one, other] = types.map(DataType::number);
            let params: [&dyn Param; 5] = [&patient, &key, &limit, &one, &other];
            tx.query(text, &params, |row| read_row(&patient, row)).await
        };
        Ok(whole_days(known(self.db.read(read).await?)?, limit))
    }

    /// Returns up to `limit` patients, those after another in the order of uuids, whose derived values other versions of
    /// the derivations have computed, and these versions.
    pub async fn patients_of_other_versions(
        &self,
        versions: &str,
        after: Option<&PatientId>,
        limit: i64,
    ) -> Result<Vec<(PatientId, String)>> {
        let (versions, after) = (versions.to_owned(), after.map_or("", PatientId::as_str).to_owned());
        self.db.read(async move |tx| tx.query(FIND_OTHER_VERSIONS, &[&versions, &after, &limit], pair).await).await
    }

    /// Marks ranges of a patient dirty, and that these versions of the derivations compute them.
    pub async fn derive_again(&self, patient: &PatientId, versions: &str, ranges: Vec<DueRange>) -> Result<()> {
        let (owner, patient, versions) = (patient, patient.clone(), versions.to_owned());
        self.db
            .write_of(owner.into(), async move |tx| {
                // A patient who was erased meanwhile has no marks.
                if tx.execute(SET_VERSIONS, &[&patient, &versions]).await? == 1 {
                    for range in &ranges {
                        claims::mark(tx, &patient, range).await?;
                    }
                }
                Ok(())
            })
            .await
    }
}

/// A row of an output that this version knows.
pub(super) fn read_row(patient: &PatientId, row: &Row<'_>) -> Result<Option<DerivedRow>> {
    read_derived(patient, &mut Columns::of(row))
}

/// Reads the rows that a statement finds of patients in lists, and after these by more parameters.
pub(super) async fn find_of_patients(
    tx: &Tx<'_>,
    text: &'static str,
    patients: &[PatientId],
    more: &[&dyn Param],
) -> Result<HashMap<PatientId, Vec<DerivedRow>>> {
    let mut found: HashMap<PatientId, Vec<DerivedRow>> = HashMap::default();
    in_lists(patients, async |list| {
        for (patient, row) in tx.query(text, &with_more(list, more), read_with_patient).await? {
            if let Some(row) = row {
                found.entry(patient).or_default().push(decoded(row)?);
            }
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

pub(super) fn known(rows: Vec<Option<DerivedRow>>) -> Result<Vec<DerivedRow>> {
    rows.into_iter().flatten().map(decoded).collect()
}

/// A row as it was derived.
pub(super) fn decoded(mut row: DerivedRow) -> Result<DerivedRow> {
    match (row.output, &row.body) {
        (Output::Slots, Some(body)) => row.body = Some(packed_slots::unpack(body)?),
        // It is copied into answers as it is. A row of before there were checksums is believed, and may hold anything.
        (Output::Section, Some(body)) if std::str::from_utf8(body).is_err() => {
            return Err(StoreError::Damaged("a section is no text".to_owned()));
        }
        _ => {}
    }
    Ok(row)
}

/// Makes a row what is stored of it.
pub(super) fn encode(row: &mut DerivedRow) -> Result<()> {
    if row.output == Output::Slots {
        row.body = row.body.as_deref().map(packed_slots::compress).transpose()?;
    }
    Ok(())
}

/// The days of which no row is missing: the last one may have been cut by the limit.
fn whole_days(mut rows: Vec<DerivedRow>, limit: i64) -> Vec<DerivedRow> {
    if rows.len() as i64 == limit {
        let day = |row: &DerivedRow| vitals::derivation::day_of(row.key).0;
        let cut = rows.last().map(day);
        rows.retain(|row| Some(day(row)) != cut);
    }
    rows
}

/// Writes and removes rows of a patient: one statement for what is written, one for what is removed.
pub(crate) async fn put(tx: &Tx<'_>, patient: &PatientId, rows: &[DerivedRow]) -> Result<()> {
    // Of several rows of one key the last one wins; one statement may not write a row twice.
    let rows: BTreeMap<(Output, i64), &DerivedRow> = rows.iter().map(|row| ((row.output, row.key), row)).collect();
    let sum_of = |number: i64, row: &DerivedRow| {
        row.body.as_deref().map(|body| derived_sum(patient, [number, row.key, row.version], body))
    };
    let rows: Vec<(i64, Option<i64>, &DerivedRow)> =
        rows.into_values().map(|row| (row.output.number(), sum_of(row.output.number(), row), row)).collect();
    let mut written: Vec<[&dyn Param; 6]> = Vec::with_capacity(rows.len());
    let mut removed: Vec<[&dyn Param; 3]> = Vec::new();
    for (number, sum, row) in &rows {
        match &row.body {
            Some(body) => written.push([&patient, number, &row.key, &row.version, sum, body]),
            None => removed.push([&patient, number, &row.key]),
        }
    }
    // Two statements however many outputs there are: on PostgreSQL each is a message, and a live commit has few.
    tx.put_rows(DELETE, &removed).await?;
    tx.put_rows(PUT, &written).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_that_is_no_text_is_damage() {
        let section =
            |body: &[u8]| DerivedRow { output: Output::Section, key: 1, version: 1, body: Some(body.to_vec()) };
        assert_eq!(decoded(section(b"{}")).expect("sound"), section(b"{}"));
        assert!(decoded(section(b"{\xff}")).is_err_and(|error| error.is_damage()));
    }
}
