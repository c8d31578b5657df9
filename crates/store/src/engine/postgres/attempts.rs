//! A transaction from its first statement to its end, and whether it may be tried again.

use std::sync::Arc;

use runtime::Instant;

use super::connections::connect;
use super::flight::{Flight, Mode};
use super::lanes::Place;
use crate::engine::body::{Body, Statements};
use crate::engine::deadlines::{TRY_AGAIN_WITHIN, Work};
use crate::engine::statement::Tx;
use crate::error::{Result, StoreError};

/// How a transaction ended that may be tried again.
pub(super) enum Attempt {
    /// It ended, and trying again would be wrong.
    Ended(Result<()>),
    /// Nothing of it has happened.
    Again(StoreError),
}

/// Reads; once more on another connection where the first one broke.
pub(super) async fn read(place: &Arc<Place>, mode: Mode, mut body: Body) -> Result<()> {
    let begun = Instant::now();
    match read_once(place, mode, &mut *body).await {
        // A read has no effects, so a second one is as good as the first. Once is enough: the broken connection took
        // those of its age with it, so the next one is new.
        Err(StoreError::Unavailable(_)) if begun.elapsed() < TRY_AGAIN_WITHIN => {
            // Where a pooler has been found meanwhile, a single statement has to travel in a transaction.
            let is_pooled = place.rules().statements.is_unnamed();
            let mode = if is_pooled && mode == Mode::Single { Mode::Snapshot(Work::default()) } else { mode };
            read_once(place, mode, &mut *body).await
        }
        ended => ended,
    }
}

async fn read_once(place: &Arc<Place>, mode: Mode, body: &mut dyn Statements) -> Result<()> {
    let client = connect(place).await?;
    let flight = Flight::begin(client.clone(), mode);
    let ended = body.run(&Tx::on_postgres(&flight)).await;
    flight.end();
    if ended.is_err() {
        place.pool().close_older(&client);
    }
    ended
}

/// Tries a transaction that writes.
pub(super) async fn write_once(place: &Arc<Place>, mode: Mode, body: &mut dyn Statements) -> Attempt {
    let client = match connect(place).await {
        Ok(client) => client,
        // Not again: waiting for a connection has already taken as long as an operation may wait.
        Err(error) => return Attempt::Ended(Err(error)),
    };
    let flight = Flight::begin(client.clone(), mode);
    let worked = body.run(&Tx::on_postgres(&flight)).await;
    let attempt = ended(flight, worked).await;
    if !matches!(attempt, Attempt::Ended(Ok(()))) {
        place.pool().close_older(&client);
    }
    attempt
}

/// Commits what has worked, and ends what has not.
async fn ended(flight: Flight, worked: Result<()>) -> Attempt {
    match worked {
        Ok(()) => match flight.commit().await {
            Ok(()) => Attempt::Ended(Ok(())),
            Err(failure) if failure.is_undone => again_or_ended(failure.error),
            Err(failure) => Attempt::Ended(Err(failure.error)),
        },
        Err(error) => {
            // A statement that was only sent may have failed first. Its error says what happened, while later ones say
            // that the transaction is aborted.
            let error = flight.cause(error).await;
            flight.end();
            again_or_ended(error)
        }
    }
}

fn again_or_ended(error: StoreError) -> Attempt {
    match error {
        StoreError::Unavailable(_) => Attempt::Again(error),
        error => Attempt::Ended(Err(error)),
    }
}
