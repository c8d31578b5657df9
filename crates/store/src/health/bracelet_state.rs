//! What is known of the state of each patient's bracelet, and the events of its changes.
//!
//! A sync reads it with the patient's row and writes it with the same statement that raises the number of the patient's
//! events, so it costs a sync nothing more. Silence is what no sync can say: a job looks for it.

use boxed_futures::boxed_futures;
use serde_json::json;
use vitals::block::Block;
use vitals::bracelet::{BraceletChange, KnownBracelet, SILENT_AFTER_MS};

use super::db::HealthDb;
use super::due::AHEAD_MS;
use crate::checksum::{self, Of};
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::events::{self, EventType, NewEvent};
use crate::ids::PatientId;
use crate::readers::pair;
use crate::texts::sql;

sql! {
    LOOK_AT = "UPDATE patient SET silence_look_ms = $2 WHERE uuid = $1";
    FIND_TO_LOOK_AT = "SELECT uuid, silence_look_ms FROM patient WHERE silence_look_ms <= $1
        ORDER BY silence_look_ms LIMIT $2";
    /// Finds nothing once another node has looked. Holds the patient's row, so a sync comes before or after it.
    HOLD = "UPDATE patient SET silence_look_ms = silence_look_ms WHERE uuid = $1 AND silence_look_ms <= $2";
    FIND = "SELECT bracelet FROM patient WHERE uuid = $1";
    SET = "UPDATE patient SET bracelet = $2, silence_look_ms = $3 WHERE uuid = $1";
}

/// What a sync changes of the state of a bracelet.
pub(super) struct AfterSync {
    /// What the patient's row keeps from now on.
    pub known: Vec<u8>,
    /// What has changed.
    pub events: Vec<NewEvent>,
    /// When to look for a silence, where nothing has looked for one until now, ms.
    pub look_ms: Option<i64>,
}

/// Takes the rows of a sync into what the patient's row keeps.
pub(super) fn after_sync<'block>(
    patient: &PatientId,
    stored: Option<&[u8]>,
    blocks: impl Iterator<Item = &'block Block>,
    received_ms: i64,
) -> Result<AfterSync> {
    // Damaged bytes are as none: the rows must be stored all the same, and they say the state again.
    let mut known = parse(patient, stored).unwrap_or_default();
    let was_looked_for = known.silent_from_ms().is_some();
    let changes = known.take(blocks, received_ms, (received_ms + AHEAD_MS) * 1000 + 999);
    let look_ms = known.silent_from_ms().filter(|_| !was_looked_for);
    let events = changes.into_iter().map(|change| event(change, received_ms)).collect();
    Ok(AfterSync { known: to_bytes(patient, &known)?, events, look_ms })
}

/// Has a silence looked for from a time on.
pub(super) async fn look_at(tx: &Tx<'_>, patient: &PatientId, look_ms: i64) -> Result<()> {
    tx.put(LOOK_AT, &[patient, &look_ms]).await
}

#[boxed_futures]
impl HealthDb {
    /// Returns up to `limit` patients whose bracelets may have fallen silent, those first that have waited longest.
    pub async fn possibly_silent(&self, now_ms: i64, limit: i64) -> Result<Vec<PatientId>> {
        let read = async move |tx: &Tx<'_>| tx.query(FIND_TO_LOOK_AT, &[&now_ms, &limit], pair::<PatientId, i64>).await;
        Ok(self.db.read_single(read).await?.into_iter().map(|(patient, _)| patient).collect())
    }

    /// Looks whether a patient's bracelet has fallen silent, and appends the event where it has. Returns whether it has;
    /// not where another node has looked meanwhile.
    pub async fn note_silence(&self, patient: &PatientId, now_ms: i64) -> Result<bool> {
        let (owner, patient) = (patient, patient.clone());
        self.db.write_of(owner.into(), async move |tx| note_silence(tx, &patient, now_ms).await).await
    }
}

async fn note_silence(tx: &Tx<'_>, patient: &PatientId, now_ms: i64) -> Result<bool> {
    if tx.execute(HOLD, &[patient, &now_ms]).await? == 0 {
        return Ok(false);
    }
    let stored = tx.query_opt(FIND, &[patient], |row| row.get::<Option<Vec<u8>>>(0)).await?.flatten();
    // Nobody knows of damaged bytes when it was heard last, and the next sync begins again. Meanwhile it is not watched.
    let mut known = parse(patient, stored.as_deref()).unwrap_or_default();
    let Some(silent) = known.fall_silent(now_ms) else {
        let later_ms = known.silent_from_ms().unwrap_or(now_ms + SILENT_AFTER_MS);
        look_at(tx, patient, later_ms).await?;
        return Ok(false);
    };
    tx.put(SET, &[patient, &to_bytes(patient, &known)?, &None::<i64>]).await?;
    events::append(tx, patient, &[event(silent, now_ms)]).await?;
    Ok(true)
}

fn event(change: BraceletChange, now_ms: i64) -> NewEvent {
    let body = json!({ "state": change.state.name(), "time_ms": change.time_ms });
    NewEvent { event_type: EventType::DeviceChanged, time_ms: now_ms, body }
}

/// Bytes of the checksum, in front of the JSON.
const SUM_BYTES: usize = 8;

fn parse(patient: &PatientId, stored: Option<&[u8]>) -> Option<KnownBracelet> {
    let (sum, json) = stored?.split_first_chunk::<SUM_BYTES>()?;
    if i64::from_le_bytes(*sum) != sum_of(patient, json) {
        tracing::warn!(%patient, "the stored state of a bracelet is damaged, it begins again");
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn to_bytes(patient: &PatientId, known: &KnownBracelet) -> Result<Vec<u8>> {
    let json = serde_json::to_vec(known).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok([&sum_of(patient, &json).to_le_bytes()[..], &json].concat())
}

fn sum_of(patient: &PatientId, json: &[u8]) -> i64 {
    checksum::of_row(Of::Bracelet, patient, &[], checksum::of_bytes(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found_and_bytes_of_another_patient_are() {
        let (ada, bob) = (PatientId::new("ada"), PatientId::new("bob"));
        let known = KnownBracelet::default();
        let bytes = to_bytes(&ada, &known).expect("bytes");
        assert_eq!(parse(&ada, Some(&bytes)), Some(known));
        assert_eq!((parse(&bob, Some(&bytes)), parse(&ada, None), parse(&ada, Some(b"{}"))), (None, None, None));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&ada, Some(&flipped)), None, "bit {bit}");
        }
    }
}
