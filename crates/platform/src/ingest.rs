//! Taking in a sync: zones, ranges, ordering, then one durable transaction.

use std::collections::BTreeMap;

use sha2::Digest;
pub use store::DeviceReport;
use store::{Counts, SyncId, SyncOutcome};
use vitals::intake::{Batch, Intake, Rejection};
use vitals::registry::DataType;
use vitals::zone::{ZoneName, is_known_zone};

use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// A sync as it was read from its body.
#[derive(Clone, Debug, Default)]
pub struct SyncBody {
    /// The app's own name for the sync.
    pub sync_id: Option<String>,
    /// The IANA zone that the samples' local times are in; the patient's when it is left out.
    pub time_zone: Option<String>,
    /// The bracelet.
    pub device: Option<DeviceReport>,
    /// Rows by type.
    pub data: Vec<TypeBatches>,
    /// Tells whether the same name comes again with other content.
    pub content_hash: Vec<u8>,
}

/// The rows of one type, as they were sent.
#[derive(Clone, Debug)]
pub struct TypeBatches {
    /// The data type.
    pub data_type: DataType,
    /// Its rows.
    pub batches: Vec<Batch>,
}

/// What became of the rows of one type.
#[derive(Clone, Debug)]
pub struct TypeOutcome {
    /// The data type.
    pub data_type: DataType,
    /// Rows that are durable now, were there already, or took another's place.
    pub counts: Counts,
    /// Rows that were not stored.
    pub rejected: u64,
    /// The first of them.
    pub rejections: Vec<Rejection>,
}

/// What became of a sync.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The app's name for it, or ours.
    pub sync_id: String,
    /// By type, in the order of the types.
    pub types: Vec<TypeOutcome>,
}

const LONGEST_SYNC_ID: usize = 100;

/// Stores a sync of a patient. When this returns, the counted rows are durable.
pub async fn store_sync(platform: &Platform, patient: &str, body: SyncBody) -> Result<Receipt> {
    let now_ms = platform.now_ms();
    check_device(body.device.as_ref())?;
    let id = match &body.sync_id {
        Some(id) if id.is_empty() || id.len() > LONGEST_SYNC_ID => {
            return Err(PlatformError::invalid("sync_id", "must have 1 to 100 characters"));
        }
        Some(id) => Some(SyncId { id: id.clone(), content_hash: body.content_hash }),
        None => None,
    };
    let zone = zone_of(platform, patient, body.time_zone).await?;
    let mut outcomes: BTreeMap<DataType, TypeOutcome> = BTreeMap::new();
    let mut blocks = Vec::new();
    for TypeBatches { data_type, batches } in body.data {
        let mut intake = Intake::new(data_type, now_ms.saturating_mul(1000));
        for batch in batches {
            intake.push(batch, &zone);
        }
        let accepted = intake.finish();
        blocks.extend(accepted.blocks);
        let (rejected, rejections) = (accepted.rejected, accepted.rejections);
        outcomes.insert(data_type, TypeOutcome { data_type, counts: Counts::default(), rejected, rejections });
    }
    let sync_id = id.as_ref().map_or_else(|| random_sync_id(platform), |id| id.id.clone());
    let sync = store::Sync { patient: patient.to_owned(), received_ms: now_ms, id, device: body.device, blocks };
    match platform.health.store_sync(sync).await? {
        SyncOutcome::Stored(counts) => {
            for (data_type, counts) in counts {
                if let Some(outcome) = outcomes.get_mut(&data_type) {
                    outcome.counts = counts;
                }
            }
        }
        SyncOutcome::UnknownPatient => return Err(PlatformError::NotFound("patient")),
        SyncOutcome::IdReused => {
            let message = "the sync id was used before with other content";
            return Err(PlatformError::Conflict { code: "sync_id_reused", message });
        }
    }
    platform.due_bell.notify_one();
    Ok(Receipt { sync_id, types: outcomes.into_values().collect() })
}

/// The zone that a sync names, or else the patient's, or else UTC.
pub async fn zone_of(platform: &Platform, patient: &str, named: Option<String>) -> Result<ZoneName> {
    if let Some(name) = named {
        if !is_known_zone(&name) {
            return Err(PlatformError::invalid("time_zone", "is not a known IANA time zone"));
        }
        return Ok(name.into());
    }
    let known = platform.health.time_zone(patient).await?;
    Ok(known.unwrap_or_else(|| "UTC".to_owned()).into())
}

/// What tells whether a sync id comes again with other content.
pub fn content_hash(bytes: &[u8]) -> Vec<u8> {
    sha2::Sha256::digest(bytes).to_vec()
}

fn check_device(device: Option<&DeviceReport>) -> Result<()> {
    let Some(device) = device else { return Ok(()) };
    let short = |text: &str| text.chars().count() <= 100;
    if device.serial_number.is_empty() || !short(&device.serial_number) {
        return Err(PlatformError::invalid("device.serial_number", "must have 1 to 100 characters"));
    }
    let texts = [&device.device_type, &device.firmware_version];
    if !texts.into_iter().flatten().all(|text| short(text)) {
        return Err(PlatformError::invalid("device", "has a text of more than 100 characters"));
    }
    if device.battery_level.is_some_and(|level| !(0..=100).contains(&level)) {
        return Err(PlatformError::invalid("device.battery_level", "must be 0 to 100"));
    }
    Ok(())
}

fn random_sync_id(platform: &Platform) -> String {
    uuid::Builder::from_random_bytes(platform.random_bytes()).into_uuid().to_string()
}
