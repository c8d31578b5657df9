//! The board of a study: every patient with their newest values, the score, the bracelet and the last hours.
//!
//! Nothing is computed here. Each row is put together from what syncs and derivations have stored, part by part and many
//! patients at once, so a board costs a handful of queries for every few hundred patients.

use std::collections::{BTreeMap, BTreeSet};

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::{GroupCode, HealthPatient, Patient, PatientId};
use vitals::cells::{ActivityCell, DayCells, WINDOW_MS, window_of};
use vitals::derivation::DerivedRow;
use vitals::registry::DataType;
use vitals::zone::{LocalClock, LocalDay};

use super::board_row::{BoardRow, SPARK_SLOTS, Spark};
use crate::core::access::{Readable, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::data::Data;
use crate::data::unreadable::{ReadOfMany, if_sound};

/// What the board takes from a day's cells.
#[derive(Default)]
struct Recent {
    spark: Spark,
    worn: Option<bool>,
    charging: Option<bool>,
}

/// Rows of a board.
struct BoardRows<'read>(&'read Data);

impl ReadOfMany for BoardRows<'_> {
    type Row = BoardRow;

    const NAME: &'static str = "board";

    async fn rows(&self, patients: &Readable<Vec<PatientId>>) -> Result<Vec<BoardRow>> {
        self.0.whole_rows(patients).await
    }

    async fn marked(&self, patient: &Readable<Vec<PatientId>>) -> Result<Vec<BoardRow>> {
        let found = self.0.core.users().patients(patient.uuids().to_vec()).await.map_err(PlatformError::from);
        if found.as_ref().is_ok_and(HashMap::is_empty) {
            return Ok(Vec::new());
        }
        let (mut found, from_ms) = (if_sound(found)?, first_window_of(self.0.core.now_ms()) * WINDOW_MS);
        let row_of = |uuid: &PatientId| {
            let known = found.remove(uuid);
            if known.as_ref().is_some_and(Patient::is_voucher) {
                return None;
            }
            // Who it is can be read where it is the measurements that are damaged.
            let name = known.map_or_else(
                || uuid.to_string(),
                |patient| name_of(&Person::from_json(&patient.person).unwrap_or_default(), uuid),
            );
            Some(BoardRow { name, is_unreadable: true, ..BoardRow::empty(uuid.clone(), from_ms) })
        };
        Ok(patient.uuids().iter().filter_map(row_of).collect())
    }
}

#[boxed_futures]
impl Data {
    /// The board's rows of patients, in their order. Best called with `ROWS_AT_ONCE` of them; who has been removed meanwhile
    /// is left out, and so are unused vouchers. A patient with damaged stored data has a row that says so, and costs nobody
    /// else theirs.
    pub async fn board_rows(&self, patients: Readable<Vec<PatientId>>) -> Result<Vec<BoardRow>> {
        self.read_each(patients, &BoardRows(self)).await
    }

    async fn whole_rows(&self, patients: &Readable<Vec<PatientId>>) -> Result<Vec<BoardRow>> {
        let uuids = patients.uuids();
        let all = || uuids.to_vec();
        // Two databases, and no statement joins them (decisions): the rows are put together here.
        let (mut persons, bodies, mut devices, mut latest, mut news) = tokio::try_join!(
            self.core.users().patients(all()),
            self.core.health().patients(all()),
            self.core.health().newest_devices(all()),
            self.core.health().latest_of_patients(all()),
            self.core.health().newest_news_of_patients(all()),
        )?;
        let mut recent = self.recent(patients, &bodies).await?;
        let mut rows = Vec::with_capacity(uuids.len());
        for uuid in uuids {
            // None was erased between the list of members and this read. An unused voucher is no patient yet.
            let Some(patient) = persons.remove(uuid).filter(|patient| !patient.is_voucher()) else { continue };
            let person = Person::from_json(&patient.person)?;
            let latest = latest.remove(uuid).unwrap_or_default();
            let news = news.remove(uuid).map(|mut entry| {
                entry.name_forgotten(&latest);
                entry
            });
            let device = devices.remove(uuid);
            let recent = recent.remove(uuid).unwrap_or_default();
            rows.push(BoardRow {
                name: name_of(&person, uuid),
                external_id: person.external_patient_id,
                latest: latest.valid,
                news,
                battery: device.and_then(|device| Some((device.battery_level?, device.updated_ms))),
                worn: recent.worn,
                charging: recent.charging,
                last_sync_ms: bodies.get(uuid).and_then(|body| body.last_sync_ms),
                spark: recent.spark,
                is_unreadable: false,
                uuid: patient.uuid,
            });
        }
        Ok(rows)
    }

    /// The rows of a study's board are of these patients, in the order in which they joined.
    pub async fn board_patients(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
    ) -> Result<Readable<Vec<PatientId>>> {
        self.people.readable_members(researcher, group_code).await
    }

    /// The last hours of patients, from the cells of the local days that they lie on.
    async fn recent(
        &self,
        patients: &Readable<Vec<PatientId>>,
        bodies: &HashMap<PatientId, HealthPatient>,
    ) -> Result<HashMap<PatientId, Recent>> {
        let uuids = patients.uuids();
        let first_window = first_window_of(self.core.now_ms());
        let last_window = first_window + SPARK_SLOTS - 1;
        let types = [DataType::Activity, DataType::Activity];
        let mut days: HashMap<PatientId, Vec<DerivedRow>> = HashMap::default();
        for (day, patients) in by_day(uuids, bodies, first_window, last_window) {
            for (patient, rows) in self.core.health().slots_of_patients(patients, day, types).await? {
                days.entry(patient).or_default().extend(rows);
            }
        }
        let uuids = uuids.to_vec();
        let unpacking = runtime::blocking("unpack slots", move || {
            let of = |uuid: PatientId| {
                let rows = days.remove(&uuid).unwrap_or_default();
                (uuid, recent_of(&rows, first_window, last_window))
            };
            uuids.into_iter().map(of).collect()
        });
        unpacking.await.map_err(|error| PlatformError::Internal(error.to_string()))
    }
}

/// The window in which the last hours begin.
fn first_window_of(now_ms: i64) -> i64 {
    window_of(now_ms * 1000) + 1 - SPARK_SLOTS
}

/// The local days that a range of windows lies on, each with the patients whose range includes it.
fn by_day(
    uuids: &[PatientId],
    bodies: &HashMap<PatientId, HealthPatient>,
    first_window: i64,
    last_window: i64,
) -> BTreeMap<LocalDay, Vec<PatientId>> {
    let mut days_of_zone: HashMap<&str, BTreeSet<LocalDay>> = HashMap::default();
    let mut found: BTreeMap<LocalDay, Vec<PatientId>> = BTreeMap::new();
    for uuid in uuids {
        let Some(body) = bodies.get(uuid) else { continue };
        let zone = body.profile.time_zone.as_deref().unwrap_or("UTC");
        let days = days_of_zone.entry(zone).or_insert_with(|| {
            let mut clock = LocalClock::new(zone);
            [first_window, last_window].map(|window| clock.day(window * WINDOW_MS * 1000)).into_iter().collect()
        });
        for day in days.iter() {
            found.entry(*day).or_default().push(uuid.clone());
        }
    }
    found
}

fn recent_of(days: &[DerivedRow], first_window: i64, last_window: i64) -> Recent {
    let mut spark = Spark::empty(first_window * WINDOW_MS);
    let mut newest: Option<(i64, bool, bool)> = None;
    for day in days.iter().filter_map(|row| DayCells::<ActivityCell>::unpack(row.body.as_deref()?)) {
        for cell in day.in_windows(first_window..last_window + 1) {
            let window = cell.place.window();
            let at = (window - first_window) as usize;
            let mean =
                |sum: vitals::cells::Sum, steps: f64| sum.mean().map(|mean| (mean * 10.0 / steps).round() / 10.0);
            spark.heart_rate[at] = mean(cell.bpm.values, 1.0);
            spark.respiration_rate[at] = mean(cell.respiration.values, 10.0);
            spark.spo2[at] = mean(cell.spo2.values, 10.0);
            // The days of a patient who travels can overlap, so the last cell read need not be the newest.
            if newest.is_none_or(|(newest, ..)| newest <= window) {
                newest = Some((window, cell.is_wearing(), cell.is_charging()));
            }
        }
    }
    Recent { spark, worn: newest.map(|(_, worn, _)| worn), charging: newest.map(|(.., charging)| charging) }
}

/// Characters of a uuid by which patients of one study can be distinguished.
const UUID_PIECE: usize = 8;

/// Returns the name to show of a patient: never the voucher code, which is half of a login.
pub(super) fn name_of(person: &Person, uuid: &PatientId) -> String {
    let names: Vec<&str> = [&person.first_name, &person.last_name]
        .into_iter()
        .filter_map(|name| name.as_deref().map(str::trim).filter(|name| !name.is_empty()))
        .collect();
    if !names.is_empty() {
        return names.join(" ");
    }
    let shortened = || uuid.as_str().chars().take(UUID_PIECE).collect();
    person.external_patient_id.clone().unwrap_or_else(shortened)
}
