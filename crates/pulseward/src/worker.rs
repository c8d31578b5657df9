//! What a node does besides answering requests.

use std::time::Duration;

use platform::Platform;
use platform::jobs;
use runtime::TaskSet;
use tokio::sync::watch;

use crate::wiring::HeldName;

/// Time that background work may take to end. The engine gives back what is under way some time before.
const LONGEST_END: Duration = Duration::from_secs(10);
const RECALL_EVERY: Duration = Duration::from_mins(1);

/// Starts the background work, where the node has a name to do it under, and wake-ups between nodes, where there is an
/// address for them. Each task ends once `stop` becomes true.
pub fn start(
    platform: &Platform,
    name: Option<HeldName>,
    listen_db_url: Option<String>,
    stop: &watch::Receiver<bool>,
) -> TaskSet<()> {
    let mut tasks = TaskSet::default();
    let (recalling, upkeep) = (platform.clone(), platform.upkeep.clone());
    keep(&mut tasks, platform, "newest checkpoint", stop, move |stop| recall_checkpoint(recalling.clone(), stop));
    let works = name.is_some();
    if let Some(name) = name {
        let (platform, stop) = (platform.clone(), stop.clone());
        tasks.spawn("background work", async move {
            // The name is held as long as anything works under it. Named by its field alone, only that would move in here,
            // and the lock would end at once.
            let held = name;
            jobs::run(platform.upkeep, held.name.clone(), stop).await;
        });
    }
    if let Some(url) = listen_db_url {
        // A node that only serves wakes others and has nothing to be woken for.
        if works {
            let upkeep = upkeep.clone();
            let listen = move |stop| jobs::listen(upkeep.clone(), url.clone(), stop);
            keep(&mut tasks, platform, "listen to other nodes", stop, listen);
        }
        keep(&mut tasks, platform, "wake other nodes", stop, move |stop| jobs::send_wake_ups(upkeep.clone(), stop));
    }
    tasks
}

/// Starts a task that is started again where it panics.
fn keep<F>(
    tasks: &mut TaskSet<()>,
    platform: &Platform,
    name: &'static str,
    stop: &watch::Receiver<bool>,
    start: impl Fn(watch::Receiver<bool>) -> F + Send + Sync + 'static,
) where
    F: Future<Output = ()> + Send,
{
    let (upkeep, stop) = (platform.upkeep.clone(), stop.clone());
    tasks.spawn(name, async move { jobs::started_again(upkeep, name, || start(stop.clone())).await });
}

/// Finds out how far the audit log is signed. Where the stores do not answer, it tries again until `stop` becomes true.
async fn recall_checkpoint(platform: Platform, mut stop: watch::Receiver<bool>) {
    loop {
        let Err(error) = platform.upkeep.recall_audit_signed().await else { return };
        tracing::warn!(%error, "how far the audit log is signed could not be found out, will retry");
        // Without it the alert on its age has nothing to go by.
        if runtime::timeout(RECALL_EVERY, stop.wait_for(|stop| *stop)).await.is_ok() {
            return;
        }
    }
}

/// Waits until all background work has ended. What takes too long is left where it is: every step of it can be taken
/// up again by the next start or by another node.
pub async fn end(mut tasks: TaskSet<()>) {
    let ended = async { while tasks.join_next().await.is_some() {} };
    if runtime::timeout(LONGEST_END, ended).await.is_err() {
        tracing::warn!("background work was still under way and has been left");
        // Their leases run out, and another node takes up what they had in hand.
        tasks.shutdown().await;
    }
}
