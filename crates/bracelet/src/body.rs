//! The body of a sync: everything that one upload carries.

pub(crate) mod activity;
mod block;
mod column;
pub(crate) mod rows;
mod waveforms;

use rand::RngExt;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use uuid::Uuid;

pub use block::{Block, SignalRates, Window};
pub use column::Column;

use crate::course::Course;
use crate::data_type::DataType;
use crate::error::BraceletError;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Bracelet {
    serial_number: String,
    device_type: &'static str,
    firmware_version: &'static str,
    battery_level: i64,
}

/// One upload of one patient. Serialises to the JSON that `POST {health_url}/v1/sync` takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SyncBody {
    /// Follows from what the body holds: the same upload always has the same identifier.
    pub sync_id: Uuid,
    time_zone: String,
    #[serde(rename = "device")]
    bracelet: Bracelet,
    data: SyncData,
}

/// The data types of a body that have rows, each with its blocks.
#[derive(Debug, Clone, PartialEq)]
struct SyncData(Vec<(DataType, Vec<Block>)>);

impl Serialize for SyncData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (data_type, blocks) in &self.0 {
            match blocks.as_slice() {
                // Both forms are legal, and a service has to take both: lists for waveforms, one block for the rest.
                [block] if !data_type.is_waveform() => {
                    map.serialize_entry(data_type.name(), block)?;
                }
                _ => map.serialize_entry(data_type.name(), blocks)?,
            }
        }
        map.end()
    }
}

impl SyncBody {
    /// Returns what the patient's bracelet has of these data types in the window. Types without rows are left out.
    pub fn new(
        patient: &Patient,
        window: Window,
        data_types: &[DataType],
        rates: &SignalRates,
    ) -> Result<Self, BraceletError> {
        let course = Course::new(patient, window.from_ms, window.to_ms)?;
        Ok(Self::from_course(&course, window, data_types, rates))
    }

    /// Like [`SyncBody::new`], from a course that is planned already and covers the window.
    pub fn from_course(course: &Course, window: Window, data_types: &[DataType], rates: &SignalRates) -> Self {
        let mut data = Vec::new();
        for data_type in DataType::ALL {
            if !data_types.contains(&data_type) {
                continue;
            }
            let blocks = blocks_of(course, window, data_type, rates);
            if !blocks.is_empty() {
                data.push((data_type, blocks));
            }
        }
        let patient = course.patient();
        // The window is half open: at its end the next sync begins.
        let last_minute = (window.to_ms - 1).div_euclid(MINUTE_MS);
        Self {
            sync_id: sync_id(patient, window, data_types, rates),
            time_zone: patient.zone_name.clone(),
            bracelet: Bracelet {
                serial_number: patient.serial_number.clone(),
                device_type: "simulated-bracelet",
                firmware_version: "1.0.0",
                battery_level: course.minute(last_minute).battery_percent.round() as i64,
            },
            data: SyncData(data),
        }
    }

    /// Returns the blocks of one data type; empty when it has none.
    pub fn blocks(&self, data_type: DataType) -> &[Block] {
        self.data.0.iter().find(|(own, _)| *own == data_type).map_or(&[], |(_, blocks)| blocks)
    }

    fn all_blocks(&self) -> impl Iterator<Item = &Block> {
        self.data.0.iter().flat_map(|(_, blocks)| blocks)
    }

    /// Rows over all types.
    pub fn row_count(&self) -> usize {
        self.all_blocks().map(Block::row_count).sum()
    }

    /// Values over all types, see [`Block::value_count`].
    pub fn value_count(&self) -> usize {
        self.all_blocks().map(Block::value_count).sum()
    }

    /// Returns whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.data.0.is_empty()
    }

    /// Returns the JSON text.
    pub fn to_json(&self) -> Result<Vec<u8>, BraceletError> {
        Ok(serde_json::to_vec(self)?)
    }
}

fn blocks_of(course: &Course, window: Window, data_type: DataType, rates: &SignalRates) -> Vec<Block> {
    match data_type {
        DataType::Activity => activity::blocks(course, window),
        DataType::RrInterval => rows::rr_interval(course, window),
        DataType::HeartRateVariability => rows::heart_rate_variability(course, window),
        DataType::Sleep => rows::sleep(course, window),
        DataType::Temperature => rows::temperature(course, window),
        DataType::Tests => rows::tests(course, window),
        DataType::Ppg1
        | DataType::Ppg2
        | DataType::Acc
        | DataType::Bioz
        | DataType::Ecg
        | DataType::Eda
        | DataType::Gyro => waveforms::blocks(course, window, data_type, rates),
    }
}

/// Returns an identifier drawn from everything that decides about the content of a patient's upload.
fn sync_id(patient: &Patient, window: Window, data_types: &[DataType], rates: &SignalRates) -> Uuid {
    let mut named: Vec<DataType> = data_types.to_vec();
    // The same types in another order are the same content, and a sync sent again has to keep its id.
    named.sort_unstable();
    named.dedup();
    // Nothing where there are none: ids of fleets without stories stay what they were.
    let stories = patient
        .stories
        .iter()
        .map(|story| format!("{} {:?}", story.kind, story.phases))
        .collect::<Vec<String>>()
        .concat();
    let content = format!(
        "{window:?} {named:?} {rates:?} {} {} {} {}{stories}",
        patient.scenario, patient.onset_ms, patient.zone_name, patient.serial_number
    );
    // FNV-1a: the streams behind it are independent, so it only has to distinguish contents.
    let hash = content
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut random = patient.randomness.stream(Subject::SyncId, hash.cast_signed());
    uuid::Builder::from_random_bytes(random.random()).into_uuid()
}
