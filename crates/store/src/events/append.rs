//! Appending events in the transaction in which they happened.

use super::event::NewEvent;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

/// Assignment of an `UPDATE patient` that gives the next event of the patient its position; to be used inside `concat!`
/// where a statement raises `events` itself.
macro_rules! raise_event_position {
    () => {
        "event_position = CASE WHEN event_position > (SELECT position FROM event_clock) THEN event_position
            ELSE (SELECT position FROM event_clock) END"
    };
}
#[allow(unused_imports)]
pub(crate) use raise_event_position;

sql! {
    RAISE = concat!("UPDATE patient SET events = events + $2, ", raise_event_position!(), " WHERE uuid = $1");
    APPEND = "INSERT INTO event (position, patient, sequence, time_ms, type, body)
        SELECT NULLIF(event_position, 0), uuid, events - $2, $3, $4, $5 FROM patient WHERE uuid = $1";
}

/// Appends events of a patient in the transaction in which they happened. A patient who is not there gets none.
///
/// No answer is waited for, so this costs no round trip.
pub(crate) async fn append(tx: &Tx<'_>, patient: &PatientId, events: &[NewEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    // The patient's row before the events: it holds the patient, so numbers and positions rise together.
    tx.put(RAISE, &[&patient, &(events.len() as i64)]).await?;
    append_raised(tx, patient, events, 0).await
}

/// Appends events of a patient whose number of events and position a statement of this transaction has raised, as with
/// [`raise_event_position`]. `after` is how many of those that it was raised for are appended later.
async fn append_raised(tx: &Tx<'_>, patient: &PatientId, events: &[NewEvent], after: usize) -> Result<()> {
    let mut following = (events.len() + after) as i64;
    for event in events {
        following -= 1;
        let body = event.body_text()?;
        tx.put(APPEND, &[&patient, &following, &event.time_ms, &event.event_type.name(), &body]).await?;
    }
    Ok(())
}
