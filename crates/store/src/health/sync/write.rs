//! The transaction that stores a sync.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use vitals::block::Block;
use vitals::measured::Measured;
use vitals::merge::{Ordered, admit, in_time_order, last_write_wins, with_exact_times};
use vitals::registry::DataType;

use super::super::bracelet_state::{self, AfterSync};
use super::super::chunks::{self, Prepared};
use super::super::{devices, latest, tally, unverified};
use super::around::{self, Around, Hold, PatientBefore, SealedRange, SealedRows};
use super::event::SyncBody;
use super::prepare::ChannelChunks;
use super::request::{Counts, NamedSync, Purpose, Sync, SyncOutcome};
use crate::engine::{Param, Tx};
use crate::error::{Result, StoreError};
use crate::events::{self, EventType, raise_event_position};
use crate::health::due::AHEAD_MS;
use crate::texts::sql;

sql! {
    RAISE = concat!("UPDATE patient SET arrivals = $2, events = $2, last_sync_ms = $3, latest = $4, bracelet = $7,
        derive_ready_ms = CASE WHEN derive_ready_ms <= $5 THEN derive_ready_ms ELSE COALESCE($5, derive_ready_ms) END, ",
        raise_event_position!(), " WHERE uuid = $1 AND events + 1 = $2 AND latest IS NOT DISTINCT FROM $6");
    /// Cannot be written when the patient's row was not raised: it is gone, has another event of this number, or a
    /// derivation has written latest values since they were read, which it may do without an event.
    ADD_EVENT = "INSERT INTO event (position, patient, sequence, time_ms, type, body, sync_id, content_hash)
        VALUES ((SELECT NULLIF(event_position, 0) FROM patient WHERE uuid = $1),
        (SELECT uuid FROM patient WHERE uuid = $1 AND arrivals = $2), $2, $3, $4, $5, $6, $7)";
}

/// One try to write a sync.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub sync: Arc<Sync>,
    pub channels: Arc<Vec<ChannelChunks>>,
    /// What is known of the sealed rows around it.
    pub sealed: Arc<SealedRows>,
    pub hold: Hold,
}

/// How one try to write a sync ended.
pub(super) enum Written {
    /// It is stored, or refused.
    Done(SyncOutcome),
    /// Sealed rows lie around the new ones that have not been read yet. Nothing was written.
    NeedsSealed(Vec<SealedRange>),
}

/// What a sync adds, collected before anything is written.
#[derive(Debug, Default)]
struct Additions<'sync> {
    chunks: Vec<Cow<'sync, Prepared>>,
    counts: tally::SampleCounts,
    totals: BTreeMap<DataType, Counts>,
    body: SyncBody,
    newest: Measured,
    /// Type, first and last time of rows that could not be compared.
    unverified: Vec<(DataType, i64, i64)>,
}

impl Attempt {
    /// Writes the sync, or only counts what it would write.
    pub(super) async fn write(&self, tx: &Tx<'_>, purpose: Purpose) -> Result<Written> {
        let Attempt { sync, channels, sealed, hold } = self;
        write(tx, sync, channels, sealed, (*hold, purpose)).await
    }
}

async fn write(
    tx: &Tx<'_>,
    sync: &Sync,
    channels: &[ChannelChunks],
    sealed: &SealedRows,
    (hold, purpose): (Hold, Purpose),
) -> Result<Written> {
    let around = around::look(tx, sync, channels, hold).await?;
    let Some(before) = &around.patient else {
        return Ok(Written::Done(SyncOutcome::UnknownPatient));
    };
    if let (Some(hash), Some(id)) = (&around.known_hash, &sync.id)
        && *hash != id.content_hash
    {
        return Ok(Written::Done(SyncOutcome::IdReused));
    }
    let unknown = around.unknown_sealed(&sync.patient, channels, sealed);
    // Nothing has been written yet, so the transaction ends without effects.
    if !unknown.is_empty() {
        return Ok(Written::NeedsSealed(unknown));
    }
    let mut additions = Additions::default();
    for channel in channels {
        additions.add_channel(sync, channel, &around, sealed)?;
    }
    // Everything that a receipt says is known, and nothing has been written.
    if purpose == Purpose::Validate {
        return Ok(Written::Done(SyncOutcome::Stored(additions.totals)));
    }
    // Not taken under a lock: the statement that raises the row names the number before, and fails where it is another.
    let number = before.events + 1;
    let blocks = channels.iter().flat_map(|channel| &channel.chunks).map(|chunk| &chunk.block);
    let bracelet = bracelet_state::after_sync(&sync.patient, before.bracelet.as_deref(), blocks, sync.received_ms)?;
    // The patient's row before everything that refers to it: from here on transactions of this patient wait for this
    // one.
    raise_patient(tx, sync, before, &bracelet, &additions).await?;
    chunks::insert_all(tx, &sync.patient, number, &additions.chunks).await?;
    additions.counts.add(tx, &sync.patient).await?;
    unverified::note(tx, &sync.patient, number, &additions.unverified).await?;
    // The id of a repeated sync stays with the event that it came with first.
    let new_id = sync.id.as_ref().filter(|_| around.known_hash.is_none());
    // Always, also where nothing was new: the event carries the id by which a repetition of the sync is known.
    add_event(tx, sync, number, additions.body, new_id).await?;
    if let Some(look_ms) = bracelet.look_ms {
        bracelet_state::look_at(tx, &sync.patient, look_ms).await?;
    }
    events::append(tx, &sync.patient, &bracelet.events).await?;
    if let Some(device) = &sync.device {
        devices::report(tx, &sync.patient, device, around.battery_level, sync.received_ms).await?;
    }
    Ok(Written::Done(SyncOutcome::Stored(additions.totals)))
}

impl<'sync> Additions<'sync> {
    fn add_channel(
        &mut self,
        sync: &Sync,
        channel: &'sync ChannelChunks,
        around: &Around,
        sealed: &SealedRows,
    ) -> Result<()> {
        let mut total = channel.counts;
        for chunk in &channel.chunks {
            let counts = self.add_chunk(sync, channel, chunk, around, sealed)?;
            total += counts;
            // Rows ahead of the clock wait until their time has come.
            self.newest.merge_newer(&Measured::of(&chunk.block, (sync.received_ms + AHEAD_MS) * 1000 + 999));
        }
        self.body.count(channel.data_type, total);
        *self.totals.entry(channel.data_type).or_default() += total;
        Ok(())
    }

    fn add_chunk(
        &mut self,
        sync: &Sync,
        channel: &'sync ChannelChunks,
        chunk: &'sync Prepared,
        around: &Around,
        sealed: &SealedRows,
    ) -> Result<Counts> {
        let block = &chunk.block;
        let stored = match around.stored(&sync.patient, chunk, sealed) {
            Err(error) if error.is_damage() => return Ok(self.add_unverified(sync, chunk)),
            stored => stored?,
        };
        let Some(stored) = stored else {
            // Nothing lies in its range: what was prepared outside the transaction is stored as it is.
            self.add_new_rows(sync, Cow::Borrowed(chunk), &[]);
            return Ok(Counts { stored: block.rows() as u64, ..Counts::default() });
        };
        let incoming =
            if block.data_type.is_waveform() { with_exact_times(&stored, block.clone()) } else { block.clone() };
        let ordered = in_time_order(incoming);
        let first_occurrences = first_copies(&stored, &channel.first_occurrences, &ordered);
        let admission = admit(&stored, ordered.block, &first_occurrences);
        let mut row = 0;
        // Exact times can move a row across midnight by less than a millisecond, so it may be cut again.
        for new_rows in chunks::cut(admission.new_rows.clone())? {
            let rows = new_rows.block.rows();
            self.add_new_rows(sync, Cow::Owned(new_rows), &admission.replaces[row..row + rows]);
            row += rows;
        }
        Ok(Counts {
            stored: admission.stored(),
            duplicate: ordered.duplicate + admission.duplicate,
            replaced: ordered.replaced + admission.replaced,
            columns_removed: ordered.columns_removed + admission.columns_removed,
            unverified: 0,
        })
    }

    /// Adds rows that cannot be compared with what is stored. They lie over it, as any later arrival does; those of a
    /// waveform once it is known which samples the ones at whole milliseconds are, and until then nothing reads them.
    fn add_unverified(&mut self, sync: &Sync, chunk: &'sync Prepared) -> Counts {
        let block = &chunk.block;
        let (first_us, last_us) = (block.first_us().unwrap_or(0), block.last_us().unwrap_or(0));
        self.unverified.push((block.data_type, first_us, last_us));
        // Samples are counted when it is known which of them are new.
        self.add_new_rows(sync, Cow::Borrowed(chunk), &vec![true; block.rows()]);
        Counts { unverified: block.rows() as u64, ..Counts::default() }
    }

    /// Adds rows to store. `replaces` says of each row whether it takes the place of another; it is empty when none does.
    fn add_new_rows(&mut self, sync: &Sync, new_rows: Cow<'sync, Prepared>, replaces: &[bool]) {
        self.counts.count_chunk(&new_rows.block, replaces);
        self.body.note(&new_rows.block, sync.received_ms);
        self.chunks.push(new_rows);
    }
}

/// Returns the first copies among the rows of a chunk: those of the sync, and those that meet only at their exact
/// times.
fn first_copies(stored: &Block, of_sync: &Block, ordered: &Ordered) -> Block {
    let (Some(first_us), Some(last_us)) = (ordered.block.first_us(), ordered.block.last_us()) else {
        return ordered.first_occurrences.clone();
    };
    // An exact time lies up to a millisecond after the whole one that represented it.
    let mut of_sync = of_sync.clone().clipped(first_us.div_euclid(1000) * 1000, last_us);
    if of_sync.data_type.is_waveform() {
        of_sync = in_time_order(with_exact_times(stored, of_sync)).block;
    }
    last_write_wins(&[&ordered.first_occurrences, &of_sync.clipped(first_us, last_us)])
}

/// Takes the next number of the patient's events, with everything else that a sync changes of the patient's row.
async fn raise_patient(
    tx: &Tx<'_>,
    sync: &Sync,
    before: &PatientBefore,
    bracelet: &AfterSync,
    additions: &Additions<'_>,
) -> Result<()> {
    let stored_latest = before.latest.as_deref();
    let latest = match latest::parse(&sync.patient, stored_latest) {
        Ok(mut values) => {
            values.merge_newer(&additions.newest);
            latest::to_text(&sync.patient, &values)?
        }
        // Stays damaged, so that a reader is not shown what this sync alone knows; its rows are stored all the same.
        Err(error) if error.is_damage() => stored_latest.map(str::to_owned),
        Err(error) => return Err(error),
    };
    let ready_ms = additions.body.ready_ms(sync.received_ms);
    let number = before.events + 1;
    let params: [&dyn Param; 7] =
        [&sync.patient, &number, &sync.received_ms, &latest, &ready_ms, &stored_latest, &bracelet.known];
    tx.put(RAISE, &params).await
}

async fn add_event(
    tx: &Tx<'_>,
    sync: &Sync,
    number: i64,
    mut body: SyncBody,
    new_id: Option<&NamedSync>,
) -> Result<()> {
    let event_type = if body.types.is_empty() { EventType::SyncRepeated } else { EventType::SyncStored };
    body.device = sync.device.is_some();
    let body = serde_json::to_string(&body).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let (sync_id, hash) = (new_id.map(|id| &id.id), new_id.map(|id| &id.content_hash));
    tx.put(ADD_EVENT, &[&sync.patient, &number, &sync.received_ms, &event_type.name(), &body, &sync_id, &hash]).await
}
