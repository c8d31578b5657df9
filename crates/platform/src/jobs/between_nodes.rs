//! Wake-ups between nodes on PostgreSQL.
//!
//! A node tells the others of work that it does not take itself at once: because it has none of the role, or because it
//! is busy. It does so outside the transaction that made the work due, since a NOTIFY in a transaction makes all commits
//! of the server wait for each other, and at most ten times a second, however much becomes due.

use std::time::Duration;

use tokio::sync::watch;

use super::kinds;
use crate::environment::Platform;

/// The shortest time between two wake-ups that a node sends.
const SEND_EVERY: Duration = Duration::from_millis(100);
/// Pause before listening is begun again. Meanwhile, nodes look for work every two seconds.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// Tells other nodes of work that waits, until `stop` becomes true.
pub async fn send_wake_ups(platform: Platform, mut stop: watch::Receiver<bool>) {
    loop {
        let kinds = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            kinds = platform.jobs.unheard() => kinds,
        };
        let message = kinds.into_iter().collect::<Vec<_>>().join(" ");
        if let Err(error) = platform.health.wake_nodes(&message).await {
            tracing::debug!(%error, "other nodes could not be woken; they look for work by themselves");
        }
        runtime::sleep(SEND_EVERY).await;
    }
}

/// Wakes the engine of this node by what others send through the database at an address, until `stop` becomes true.
pub async fn listen(platform: Platform, url: String, mut stop: watch::Receiver<bool>) {
    let jobs = platform.jobs.clone();
    let wake = move |message: &str| {
        for kind in kinds::ALL.iter().filter(|kind| message.split(' ').any(|name| name == kind.spec.name)) {
            jobs.wake(kind.spec.name);
        }
    };
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            ended = store::listen_for_wake_ups(&url, &wake) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "listening to other nodes ended and is begun again");
                }
            }
        }
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            () = runtime::sleep(LISTEN_AGAIN) => {}
        }
    }
}
