//! Atrial-fibrillation records: what derivations have found in beat intervals, and the strip of each. Not a diagnosis.
//!
//! Records are stored an hour in a row and read a UTC day at a time, so that an answer of a month takes the memory of
//! a day. What the bracelet itself says of hypertension is added to each record from the activity rows of its time.

use std::sync::Arc;

use boxed_futures::boxed_futures;
use futures::Stream;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use sha2::{Digest, Sha256};
use vitals::af::{HOUR_MS, StoredRecord, WINDOW_BEATS, hour_of, strip_svg, unpack_hour};
use vitals::beats::beats_of;
use vitals::block::Block;
use vitals::registry::{DataType, NULL};
use vitals::zone::DAY_US;

use crate::core::access::{Readable, Researcher};
use crate::core::audit::{Action, hcp_admin_entity, patient_entity};
use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;
use crate::data::Data;
use store::{AfRecordId, PatientId};

/// The longest range that is read at once, ms: 31 days.
pub const LONGEST_AF_RANGE_MS: i64 = 31 * DAY_MS;
const DAY_MS: i64 = DAY_US / 1000;

/// A record as it is given out.
#[derive(Clone, Debug, PartialEq)]
pub struct AfReading {
    /// 24 hex digits that follow from the patient and the time.
    pub id: AfRecordId,
    /// The record.
    pub stored: StoredRecord,
    /// Hypertension assessment of the bracelet during the window: the newest, where it sent any.
    pub hta: Option<Arc<str>>,
    /// Quality of that assessment, 0 to 4.
    pub hta_q: Option<i32>,
}

#[boxed_futures]
impl Data {
    /// Returns the records of a patient whose windows begin in a range, ms, both ends included, in the order of time, a
    /// day at once. The export is in the audit log before any record leaves. Invalid when the range is reversed or
    /// longer than [`LONGEST_AF_RANGE_MS`]; forbidden for a practitioner.
    pub async fn af_records(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        from_ms: i64,
        to_ms: i64,
    ) -> Result<impl Stream<Item = Result<Vec<AfReading>>> + Send + use<>> {
        if to_ms < from_ms {
            return Err(PlatformError::invalid("timestamp_to", "must not be before timestamp_from"));
        }
        if to_ms.saturating_sub(from_ms) > LONGEST_AF_RANGE_MS {
            return Err(PlatformError::invalid("timestamp_to", "must be at most 31 days after timestamp_from"));
        }
        let readable = Arc::new(self.core.managed_patient(researcher, patient).await?);
        let secondary = Some(hcp_admin_entity(&researcher.account));
        let mut entry = self.core.entry(
            Action::export_through(researcher.entrance),
            researcher,
            patient_entity(patient),
            secondary,
        );
        entry.details = Some(json!({"types": ["afib"], "from": from_ms, "to": to_ms}).to_string());
        // The stream is read after this returns: an entry at its end would be missing where the client breaks off.
        self.core.users().record(self.core.audit(vec![entry])).await?;
        let data = self.clone();
        let read = move |day: i64| {
            let (data, patient) = (data.clone(), readable.clone());
            let range = (from_ms.max(day * DAY_MS), to_ms.min((day + 1) * DAY_MS - 1));
            async move { data.af_records_of_day(&patient, range.0, range.1).await }
        };
        Ok(stream::iter(from_ms.div_euclid(DAY_MS)..=to_ms.div_euclid(DAY_MS)).then(read))
    }

    async fn af_records_of_day(
        &self,
        patient: &Readable<PatientId>,
        from_ms: i64,
        to_ms: i64,
    ) -> Result<Vec<AfReading>> {
        let patient = patient.uuid();
        let hours = self.core.health().af_hours(patient, hour_of(from_ms), hour_of(to_ms)).await?;
        // Records of another version of the program cannot be read; their hour is due and will have some again.
        let records = hours.iter().filter_map(|hour| unpack_hour(hour.body.as_deref()?)).flatten();
        let found: Vec<StoredRecord> =
            records.filter(|stored| (from_ms..=to_ms).contains(&stored.record.time_ms)).collect();
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(Vec::new()) };
        // One read for all records of the day; each record then takes the rows of its own window.
        let (from_us, to_us) = (first.record.time_ms * 1000, last.record.end_ms * 1000 + 999);
        let activity = self.core.health().rows(patient, DataType::Activity, from_us, to_us).await?;
        let reading = |stored: StoredRecord| {
            let assessment = activity.first().and_then(|block| hypertension(block, &stored));
            let (hta, hta_q) = assessment.map_or((None, None), |(hta, hta_q)| (Some(hta), hta_q));
            AfReading { id: af_record_id(patient, stored.record.time_ms), stored, hta, hta_q }
        };
        Ok(found.into_iter().map(reading).collect())
    }

    /// Returns the strip of a record as an SVG. Not found when there is no such record of the patient.
    pub async fn af_strip(&self, researcher: &Researcher, patient: &PatientId, id: &AfRecordId) -> Result<String> {
        const UNKNOWN: PlatformError = PlatformError::NotFound("afib record");
        let readable = self.core.readable_patient(researcher, patient).await?;
        let time_ms = time_of_id(id).filter(|time_ms| af_record_id(patient, *time_ms) == *id).ok_or(UNKNOWN)?;
        let readings = self.af_records_of_day(&readable, time_ms, time_ms).await?;
        let record = readings.first().ok_or(UNKNOWN)?.stored.record;
        // Windows begin again with the first beat of each UTC hour, so no window reaches beyond it (refinement 11).
        let hour_end_us = (hour_of(time_ms) + HOUR_MS) * 1000 - 1;
        let blocks = self.core.health().rows(patient, DataType::RrInterval, time_ms * 1000, hour_end_us).await?;
        let mut beats = blocks.first().map(|block| beats_of(block, 0..block.rows())).unwrap_or_default();
        beats.truncate(WINDOW_BEATS);
        Ok(strip_svg(&beats, &format!("{}, not a diagnosis", record.classification.name())))
    }
}

/// Returns the newest assessment among the rows of a window, with its quality.
fn hypertension(activity: &Block, stored: &StoredRecord) -> Option<(Arc<str>, Option<i32>)> {
    let (assessments, qualities) = (activity.column("hta"), activity.column("hta_q"));
    let rows = activity.rows_between(stored.record.time_ms * 1000, stored.record.end_ms * 1000 + 999);
    // The bracelet assesses now and then; the newest row with an assessment counts, not the newest row.
    let row = rows.rev().find(|row| assessments.text(*row).is_some())?;
    let quality = qualities.get(row);
    Some((assessments.text(row)?.clone(), (quality != NULL).then_some(quality)))
}

/// 24 hex digits: the time, ms, and six bytes that follow from it and the patient.
fn af_record_id(patient: &PatientId, time_ms: i64) -> AfRecordId {
    let mut hash = Sha256::new();
    hash.update(patient.as_str().as_bytes());
    hash.update(time_ms.to_be_bytes());
    AfRecordId::new(format!("{:012x}{}", time_ms & 0xffff_ffff_ffff, hex(&hash.finalize()[..6])))
}

/// Returns the time that an id names, ms.
fn time_of_id(id: &AfRecordId) -> Option<i64> {
    let id = id.as_str();
    (id.len() == 24).then(|| id.get(..12)).flatten().and_then(|digits| i64::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_patient_and_time_and_names_the_time() {
        let id = af_record_id(&PatientId::new("ada"), 1_763_600_000_123);
        assert_eq!((id.as_str().len(), time_of_id(&id)), (24, Some(1_763_600_000_123)));
        assert_eq!(id, af_record_id(&PatientId::new("ada"), 1_763_600_000_123));
        assert_ne!(id, af_record_id(&PatientId::new("eve"), 1_763_600_000_123));
        for wrong in ["", "zz0000000000000000000000", "é"] {
            assert_eq!(time_of_id(&AfRecordId::new(wrong)), None, "{wrong}");
        }
    }
}
