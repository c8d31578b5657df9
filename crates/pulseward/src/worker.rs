//! What a node does beside answering requests.

use std::time::Duration;

use platform::exports::ExportWorker;
use platform::fold::FoldWorker;
use platform::{Platform, housekeeping};
use runtime::TaskSet;
use tokio::sync::watch;

/// How often a node delivers messages of operations that were cut off, and how old those must be, so that work which is
/// under way is left alone.
const DELIVERY_EVERY: Duration = Duration::from_secs(30);
const UNDELIVERED_FOR_MS: i64 = 30_000;
/// How long background work may take to end.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Patients that are folded at the same time: the work is reading and computing in turn.
const FOLDS_AT_ONCE: usize = 4;

/// Starts the background work; each task ends at its next quiet moment once `stop` becomes true.
pub fn start(platform: &Platform, stop: &watch::Receiver<bool>) -> TaskSet<()> {
    let mut tasks = TaskSet::default();
    tasks.spawn("deliver messages", deliver_messages(platform.clone(), stop.clone()));
    tasks.spawn("mark older days", mark_older_days(platform.clone()));
    tasks.spawn("fold", FoldWorker::new(platform.clone(), FOLDS_AT_ONCE).run(stop.clone()));
    tasks.spawn("keep house", housekeeping::run(platform.clone(), stop.clone()));
    tasks.spawn("export", ExportWorker::new(platform.clone()).run(stop.clone()));
    tasks
}

/// Waits until all background work has ended. What takes too long is left where it is: every step of it can be taken
/// up again by the next start or by another node.
pub async fn end(mut tasks: TaskSet<()>) {
    let ended = async { while tasks.join_next().await.is_some() {} };
    if runtime::timeout(LONGEST_END, ended).await.is_err() {
        tracing::warn!("background work was still under way and has been left");
        tasks.shutdown().await;
    }
}

/// Days that an older program summed up are folded anew. What is not marked now is marked by the next start.
async fn mark_older_days(platform: Platform) {
    match platform::fold::mark_older_days(&platform).await {
        Ok(0) => {}
        Ok(patients) => tracing::info!(patients, "days of an older version are summed up anew"),
        Err(error) => tracing::warn!(%error, "days of an older version wait for the next start"),
    }
}

async fn deliver_messages(platform: Platform, mut stop: watch::Receiver<bool>) {
    loop {
        match platform.deliver_pending(UNDELIVERED_FOR_MS).await {
            Ok(0) => {}
            Ok(delivered) => tracing::info!(delivered, "delivered outbox messages of operations that were cut off"),
            Err(error) => tracing::warn!(%error, "outbox delivery failed, will retry"),
        }
        if stopped_within(&mut stop, DELIVERY_EVERY).await {
            return;
        }
    }
}

/// Waits so long, or until it is time to stop; answers whether it is.
async fn stopped_within(stop: &mut watch::Receiver<bool>, wait: Duration) -> bool {
    // An error means that whoever says stop has gone, which says the same.
    runtime::timeout(wait, stop.wait_for(|stop| *stop)).await.is_ok()
}
