//! The bracelets that a patient's data came from.

use std::collections::HashMap;

use super::HealthDb;
use crate::engine::Row;
use crate::error::Result;
use crate::texts::{in_lists, list_of_64, sql};

/// A bracelet as its last sync told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Serial number.
    pub serial_number: String,
    /// Kind of bracelet.
    pub device_type: Option<String>,
    /// Firmware.
    pub firmware_version: Option<String>,
    /// Charge, %.
    pub battery_level: Option<i64>,
    /// When it was last told of, ms.
    pub updated_ms: i64,
}

sql! {
    OF_PATIENT = "SELECT serial_number, device_type, firmware_version, battery_level, updated_ms FROM device
        WHERE patient = $1 ORDER BY updated_ms DESC, serial_number";
    OF_PATIENTS = concat!(
        "SELECT serial_number, device_type, firmware_version, battery_level, updated_ms, patient FROM device
        WHERE patient IN (", list_of_64!(), ") ORDER BY updated_ms, serial_number DESC");
}

impl HealthDb {
    /// The bracelets of a patient, newest first.
    pub async fn devices(&self, patient: &str) -> Result<Vec<Device>> {
        let patient = patient.to_owned();
        self.db.read(move |tx| tx.query(OF_PATIENT, &[&patient], read_device)).await
    }

    /// The newest bracelet of each of these patients, by uuid.
    pub async fn newest_devices(&self, patients: Vec<String>) -> Result<HashMap<String, Device>> {
        self.db
            .read(move |tx| {
                let mut newest = HashMap::new();
                in_lists(&patients, |list| {
                    // Oldest first, so that the newest is what remains.
                    newest.extend(tx.query(OF_PATIENTS, list, |row| Ok((row.get(5)?, read_device(row)?)))?);
                    Ok(())
                })?;
                Ok(newest)
            })
            .await
    }
}

fn read_device(row: &Row<'_>) -> Result<Device> {
    Ok(Device {
        serial_number: row.get(0)?,
        device_type: row.get(1)?,
        firmware_version: row.get(2)?,
        battery_level: row.get(3)?,
        updated_ms: row.get(4)?,
    })
}
