//! The bracelets that a patient's data came from.
//!
//! A bracelet whose battery becomes low, or is no longer low, is an event.

use boxed_futures::boxed_futures;
use runtime::HashMap;

use serde_json::json;
use vitals::vital_rows::LOW_BATTERY_PERCENT;

use super::db::HealthDb;
use crate::engine::row::Columns;
use crate::engine::{Row, Tx};
use crate::error::Result;
use crate::events::{self, EventType, NewEvent};
use crate::ids::{PatientId, SerialNumber};
use crate::texts::{in_lists, list_of_64, record, sql};

/// A bracelet as its last sync reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Serial number.
    pub serial_number: SerialNumber,
    /// Kind of bracelet.
    pub device_type: Option<String>,
    /// Firmware.
    pub firmware_version: Option<String>,
    /// Charge, %.
    pub battery_level: Option<i64>,
    /// Time at which it was last reported, ms.
    pub updated_ms: i64,
}

/// A bracelet as a sync describes it.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    /// Serial number.
    pub serial_number: SerialNumber,
    /// Model.
    pub device_type: Option<String>,
    /// Version of its firmware.
    pub firmware_version: Option<String>,
    /// Charge, percent.
    pub battery_level: Option<i64>,
}

impl DeviceReport {
    /// Makes a bracelet of which nothing else is reported.
    pub fn new(serial_number: SerialNumber) -> Self {
        DeviceReport { serial_number, device_type: None, firmware_version: None, battery_level: None }
    }
}

record! {
    device_columns!(""), read_device(columns) -> Device {
        serial_number, device_type, firmware_version, battery_level, updated_ms,
    }
}

/// The columns of a bracelet with the time of its last report; to be used inside `concat!`.
macro_rules! seen_columns {
    () => {
        // In the order of [`read_device`]: what the inventory of a study says changes `updated_ms` as well.
        "serial_number, device_type, firmware_version, battery_level, seen_ms"
    };
}

sql! {
    REPORT = "INSERT INTO device (patient, serial_number, device_type, firmware_version, battery_level, updated_ms,
        seen_ms) VALUES ($1, $2, $3, $4, $5, $6, $6)
        ON CONFLICT (patient, serial_number) DO UPDATE SET
            device_type = COALESCE(excluded.device_type, device.device_type),
            firmware_version = COALESCE(excluded.firmware_version, device.firmware_version),
            battery_level = COALESCE(excluded.battery_level, device.battery_level),
            updated_ms = excluded.updated_ms, seen_ms = excluded.seen_ms";
    OF_PATIENT = concat!("SELECT ", device_columns!(), " FROM device
        WHERE patient = $1 ORDER BY updated_ms DESC, serial_number");
    OF_PATIENTS = concat!("SELECT patient, ", device_columns!(), " FROM device
        WHERE patient IN (", list_of_64!(), ") ORDER BY updated_ms, serial_number DESC");
    SEEN_OF_PATIENTS = concat!("SELECT patient, ", seen_columns!(), " FROM device
        WHERE seen_ms IS NOT NULL AND patient IN (", list_of_64!(), ")");
    PUT = "INSERT INTO device (patient, serial_number, device_type, firmware_version, updated_ms)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, serial_number) DO UPDATE SET device_type = excluded.device_type,
        firmware_version = COALESCE(excluded.firmware_version, device.firmware_version),
        updated_ms = excluded.updated_ms";
    REMOVE = "DELETE FROM device WHERE patient = $1 AND serial_number = $2";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the bracelets of a patient, newest first.
    pub async fn devices(&self, patient: &PatientId) -> Result<Vec<Device>> {
        let patient = patient.clone();
        self.db
            .read(async move |tx| tx.query(OF_PATIENT, &[&patient], |row| read_device(&mut Columns::of(row))).await)
            .await
    }

    /// Returns every bracelet that syncs of these patients have named, with the time at which it was last named as that of
    /// its change, and in the order of these times. One that was attached and has sent nothing is not among them.
    pub async fn devices_of_patients(&self, patients: Vec<PatientId>) -> Result<Vec<(PatientId, Device)>> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok((columns.take()?, read_device(&mut columns)?))
        };
        let read_all = async move |tx: &Tx<'_>| {
            let mut found: Vec<(PatientId, Device)> = Vec::new();
            in_lists(&patients, async |list| {
                found.extend(tx.query(SEEN_OF_PATIENTS, list, read).await?);
                Ok(())
            })
            .await?;
            found.sort_by_key(|(_, device)| device.updated_ms);
            Ok(found)
        };
        self.db.read(read_all).await
    }

    /// Returns the newest bracelet of each of these patients, by uuid.
    pub async fn newest_devices(&self, patients: Vec<PatientId>) -> Result<HashMap<PatientId, Device>> {
        // Oldest first, so that the newest is what remains.
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok((columns.take()?, read_device(&mut columns)?))
        };
        self.db.read_by_name(patients, OF_PATIENTS, read).await
    }
}

/// Keeps what a sync says of a bracelet, and appends an event when its battery has become low or is no longer low. The
/// patient's row has to be held. `known_battery` is the level that is stored of it.
pub(super) async fn report(
    tx: &Tx<'_>,
    patient: &PatientId,
    report: &DeviceReport,
    known_battery: Option<i64>,
    now_ms: i64,
) -> Result<()> {
    let DeviceReport { serial_number, device_type, firmware_version, battery_level } = report;
    if let Some(level) = battery_level {
        // Reported at the change and not with each report: a bracelet reports every minute.
        let is_low = *level <= LOW_BATTERY_PERCENT.into();
        let was_low = known_battery.is_some_and(|known| known <= LOW_BATTERY_PERCENT.into());
        if is_low != was_low {
            let state = if is_low { "battery_low" } else { "battery_ok" };
            let body = json!({ "state": state, "battery_level": level });
            let changed = NewEvent { event_type: EventType::DeviceChanged, time_ms: now_ms, body };
            events::append(tx, patient, &[changed]).await?;
        }
    }
    tx.put(REPORT, &[&patient, serial_number, device_type, firmware_version, battery_level, &now_ms]).await
}

/// What the inventory of a study says of a bracelet that a patient wears.
pub(super) struct WornDevice<'change> {
    pub serial_number: &'change SerialNumber,
    /// Model.
    pub device_type: &'change str,
    pub firmware_version: Option<&'change str>,
}

/// Adds a bracelet of a patient, or changes what is known of it.
pub(super) async fn put(tx: &Tx<'_>, patient: &PatientId, worn: WornDevice<'_>, at_ms: i64) -> Result<()> {
    let WornDevice { serial_number, device_type, firmware_version } = worn;
    tx.execute(PUT, &[&patient, &serial_number, &device_type, &firmware_version, &at_ms]).await.map(drop)
}

/// Removes a bracelet of a patient.
pub(super) async fn remove(tx: &Tx<'_>, patient: &PatientId, serial_number: &SerialNumber) -> Result<()> {
    tx.execute(REMOVE, &[&patient, &serial_number]).await.map(drop)
}
