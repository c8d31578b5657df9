//! Taking in a sync: zones, ranges, ordering, then one durable transaction.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
pub use store::DeviceReport;
use store::{Counts, NamedSync, SyncId, SyncOutcome};
use vitals::content_hash::{ContentHash, SyncZone};
use vitals::intake::{Batch, Intake, Rejection};
use vitals::registry::DataType;
use vitals::zone::{ZoneName, known_zone};

use crate::core::checks::note;
use crate::core::error::{PlatformError, Result};
use crate::data::Data;
use crate::data::kept::kept_from;
use crate::identity::health_sessions::HealthCaller;

/// A sync as it was read from its body.
#[derive(Clone, Debug, Default)]
pub struct SyncBody {
    /// The app's own name for the sync, a uuid.
    pub sync_id: Option<SyncId>,
    /// The IANA zone that the samples' local times are in; the patient's when it is left out.
    pub time_zone: Option<String>,
    /// The bracelet.
    pub device: Option<DeviceReport>,
    /// Rows by type.
    pub data: Vec<TypeBatches>,
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
    /// The app's name for it as it was sent, or ours.
    pub sync_id: SyncId,
    /// By type, in the order of the types.
    pub types: Vec<TypeOutcome>,
}

/// The length of a uuid with its four hyphens.
const UUID_CHARS: usize = 36;
/// The longest text that describes a bracelet, in characters.
const LONGEST_DEVICE_TEXT: usize = 100;

#[boxed_futures]
impl Data {
    /// Stores a sync of the caller's patient. When this returns, the counted rows are durable.
    pub async fn store_sync(&self, caller: &HealthCaller, body: SyncBody) -> Result<Receipt> {
        let (sync, receipt) = self.taken_in(caller, body)?;
        let receipt = receipt.counted(self.core.health().store_sync(sync).await?)?;
        // After the commit, so that the engine finds the marks.
        self.core.wake_derivations();
        self.wake_listeners();
        Ok(receipt)
    }

    /// Returns the receipt that a sync would get now. Nothing is stored: no row, event, device or id.
    pub async fn validate_sync(&self, caller: &HealthCaller, body: SyncBody) -> Result<Receipt> {
        let (sync, receipt) = self.taken_in(caller, body)?;
        receipt.counted(self.core.health().validate_sync(sync).await?)
    }
}

impl Data {
    /// Returns the good rows of a sync, and a receipt that names the others and counts none of the good ones yet.
    fn taken_in(&self, caller: &HealthCaller, body: SyncBody) -> Result<(store::Sync, Receipt)> {
        let now_ms = self.core.now_ms();
        check_device(body.device.as_ref())?;
        let id = body.sync_id.as_ref().map(clean_sync_id).transpose()?;
        let is_named = body.time_zone.is_some();
        let zone = zone_of(caller, body.time_zone)?;
        let sync_zone = if is_named { SyncZone::Named(&zone) } else { SyncZone::Assumed(&zone) };
        // Of what was sent, not of what was accepted: what is rejected depends on the clock, and a repeat comes later.
        let id = id.map(|id| NamedSync { id, content_hash: content_hash(&body.data, sync_zone) });
        // Rows older than the retention are rejected, or each repeat would bring back what was deleted (refinement 13).
        let kept_from = kept_from(&caller.intake, now_ms);
        let mut outcomes: BTreeMap<DataType, TypeOutcome> = BTreeMap::new();
        let mut blocks = Vec::new();
        for TypeBatches { data_type, batches } in body.data {
            let mut intake = Intake::new(data_type, now_ms.saturating_mul(1000));
            if let Some(from_us) = kept_from.get(&data_type) {
                intake = intake.keeping_from(*from_us);
            }
            for batch in batches {
                intake.push(batch, &zone);
            }
            let accepted = intake.finish();
            blocks.extend(accepted.blocks);
            let (rejected, rejections) = (accepted.rejected, accepted.rejections);
            outcomes.insert(data_type, TypeOutcome { data_type, counts: Counts::default(), rejected, rejections });
        }
        let sync_id = body.sync_id.unwrap_or_else(|| SyncId::new(self.core.new_uuid()));
        let sync =
            store::Sync { patient: caller.patient().clone(), received_ms: now_ms, id, device: body.device, blocks };
        Ok((sync, Receipt { sync_id, types: outcomes.into_values().collect() }))
    }
}

impl Receipt {
    /// Returns the receipt with the counts of the good rows.
    fn counted(mut self, outcome: SyncOutcome) -> Result<Self> {
        match outcome {
            SyncOutcome::Stored(counts) => {
                for of_type in &mut self.types {
                    of_type.counts = counts.get(&of_type.data_type).copied().unwrap_or_default();
                }
                Ok(self)
            }
            SyncOutcome::UnknownPatient => Err(PlatformError::NotFound("patient")),
            // Not an overwrite: the app would drop rows that it believes stored.
            SyncOutcome::IdReused => {
                let message = "the sync id was used before with other content";
                Err(PlatformError::Conflict { code: "sync_id_reused", message })
            }
        }
    }
}

/// Returns the zone that a sync names, or else the patient's, or else UTC.
pub fn zone_of(caller: &HealthCaller, named: Option<String>) -> Result<ZoneName> {
    if let Some(name) = named {
        let unknown = || PlatformError::invalid("time_zone", "is not a known IANA time zone such as Europe/Zurich");
        return known_zone(&name).map(ZoneName::from).ok_or_else(unknown);
    }
    Ok(caller.intake.time_zone.clone().unwrap_or_else(|| "UTC".to_owned()).into())
}

/// Returns a sync id as it is kept: in small letters, because apps write uuids in either.
fn clean_sync_id(sent: &SyncId) -> Result<SyncId> {
    let text = Some(sent.as_str()).filter(|text| text.len() == UUID_CHARS);
    let uuid = text.and_then(|text| uuid::Uuid::try_parse(text).ok());
    uuid.map(|uuid| SyncId::new(uuid.to_string())).ok_or_else(|| PlatformError::invalid("sync_id", "must be a uuid"))
}

/// Returns a hash that shows whether a sync id comes again with other content. What is said of the bracelet is not
/// content: an app that sends a sync again may well report a battery that has run down meanwhile.
fn content_hash(data: &[TypeBatches], zone: SyncZone<'_>) -> Vec<u8> {
    let mut hash = ContentHash::default();
    for TypeBatches { data_type, batches } in data {
        for batch in batches {
            hash.add(*data_type, batch, zone);
        }
    }
    hash.bytes().to_vec()
}

fn check_device(device: Option<&DeviceReport>) -> Result<()> {
    let Some(device) = device else { return Ok(()) };
    let mut errors = BTreeMap::new();
    let texts = [
        ("device.serial_number", Some(device.serial_number.as_str())),
        ("device.device_type", device.device_type.as_deref()),
        ("device.firmware_version", device.firmware_version.as_deref()),
    ];
    for (field, text) in texts {
        let Some(text) = text else { continue };
        if text.chars().count() > LONGEST_DEVICE_TEXT {
            note(&mut errors, field, "must have at most 100 characters");
        }
        // PostgreSQL takes no NUL in a text; both engines have to accept the same.
        if text.contains('\0') {
            note(&mut errors, field, "must not have a NUL character");
        }
    }
    if device.serial_number.as_str().is_empty() {
        note(&mut errors, "device.serial_number", "must not be empty");
    }
    if device.battery_level.is_some_and(|level| !(0..=100).contains(&level)) {
        note(&mut errors, "device.battery_level", "must be 0 to 100");
    }
    if errors.is_empty() { Ok(()) } else { Err(PlatformError::Invalid(errors)) }
}
