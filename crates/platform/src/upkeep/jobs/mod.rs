//! Background work: typed tasks, run by one engine on each node.
//!
//! A task is a type with one `run` (`job::Job`); all of them are in one list (`kinds::ALL`). The engine looks for
//! due work, claims it under a lease with a token, runs it in a task of its own behind a guard, and ends the lease by
//! what came of it: finished, moved on to its next time, tried again later, or put aside. Each subject is a unit of
//! failure: one patient, one period, one archive. Work that finds many of them only enqueues them.
//!
//! A lease ends when its work does, when its time has run out, and at once when its node has died
//! (`membership`). A commit names the token of the lease, so that work done twice changes nothing.

mod attempt;
mod between_nodes;
#[cfg(test)]
mod derivation_tests;
mod engine;
pub(crate) mod job;
pub(crate) mod kinds;
mod membership;
#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod others_tests;
mod queue;
#[cfg(test)]
mod tests;
mod verdict;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;

pub use self::between_nodes::{listen, send_wake_ups};
use self::engine::Engine;
use self::job::Kind;
pub use self::membership::NodeName;
pub use crate::core::signals::{BUCKETS_MS, EngineState, JobSignals, KindCounts, Outcome};
use crate::upkeep::Upkeep;

/// Pause before the engine is started again after a panic of its own.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Returns the names of all kinds of jobs.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    kinds::ALL.iter().map(|kind| kind.spec.kind.name())
}

/// Does the background work of a node until `stop` becomes true or its sender is gone; returns when what was under way
/// has ended or has been given back.
pub async fn run(upkeep: Upkeep, node: NodeName, stop: watch::Receiver<bool>) {
    // Before the first one begins: one that panics in its first step is to be missed.
    upkeep.core.signals().engine_expected();
    loop {
        let mut engine = Engine::new(upkeep.clone(), kinds::ALL, node.clone());
        let stopped = stop.clone();
        match runtime::spawn("job engine", async move { engine.work(stopped).await }).await {
            Err(error) if error.panic.is_some() => {
                tracing::error!(%error, "the engine of background work panicked and is started again");
                upkeep.core.signals().engine_restarted();
            }
            _ => return,
        }
        // A panic that comes again at once must not fill the log and the CPU.
        runtime::sleep(RESTART_PAUSE).await;
    }
}

/// Does what a node does next to the engine, and starts it again after a panic of its own, as the engine is: nobody waits for
/// such a task, so its end would go unnoticed. Dropping this ends it.
pub async fn started_again<F>(upkeep: Upkeep, name: &'static str, start: impl Fn() -> F)
where
    F: Future<Output = ()>,
{
    while AssertUnwindSafe(start()).catch_unwind().await.is_err() {
        tracing::error!(name, "a task of this node panicked and is started again");
        upkeep.core.signals().task_restarted();
        runtime::sleep(RESTART_PAUSE).await;
    }
}

/// Runs all jobs of the named kinds that are due, and those that these make due; kinds that run by themselves run once.
/// For tests and measurements. Returns how many runs ended, also those that failed.
pub async fn drain(upkeep: &Upkeep, kinds: &[&str]) -> store::Result<usize> {
    let wanted: Vec<Kind> = kinds::ALL.iter().filter(|kind| kinds.contains(&kind.spec.kind.name())).copied().collect();
    let node = NodeName { name: "drain".to_owned(), version: "drain".to_owned() };
    Engine::new(upkeep.clone(), &wanted, node).drain().await
}
