//! What a worker does besides folding: merges the small chunks of closed hours, seals finished periods, deletes dead
//! objects, forgets tokens that have long ended. Any number of nodes may do it at once.

use std::time::Duration;

use tokio::sync::watch;

use crate::environment::Platform;
use crate::error::Result;
use crate::seal::{self, Until};
use crate::sweep::LOST_AFTER_MS;

const MERGE_EVERY: Duration = Duration::from_secs(30);
const SWEEP_EVERY: Duration = Duration::from_hours(24);
const SEAL_EVERY: Duration = Duration::from_hours(1);
const HOURS_AT_ONCE: i64 = 256;

/// Keeps house until `stop` turns true.
pub async fn run(platform: Platform, mut stop: watch::Receiver<bool>) {
    let mut merge = runtime::interval(MERGE_EVERY);
    let mut sweep = runtime::interval(SWEEP_EVERY);
    let mut seal = runtime::interval(SEAL_EVERY);
    loop {
        tokio::select! {
            // The rarest first, so that what comes often starves nothing.
            biased;
            changed = stop.changed() => if changed.is_err() || *stop.borrow() { return },
            () = sweep.tick() => report("looking for lost objects", sweep_orphans(&platform).await),
            () = seal.tick() => {
                report("sealing", seal_and_sweep(&platform).await);
                report("forgetting old tokens", platform.tidy_identity().await.map(drop));
            }
            () = merge.tick() => report("merging chunks", merge_hours(&platform).await),
        }
    }
}

fn report(work: &'static str, outcome: Result<()>) {
    if let Err(error) = outcome {
        tracing::error!(%error, work, "housekeeping failed and will be tried again");
    }
}

async fn merge_hours(platform: &Platform) -> Result<()> {
    while platform.health.merge_closed_hours(platform.now_ms(), HOURS_AT_ONCE).await? == HOURS_AT_ONCE as usize {
        runtime::yield_now().await;
    }
    Ok(())
}

async fn seal_and_sweep(platform: &Platform) -> Result<()> {
    let sealed = seal::seal(platform, Until::Finished, |_| {}).await?;
    platform.forget_old_exports().await?;
    let retired = platform.carry_out_retention().await?;
    if retired > 0 {
        tracing::info!(rows = retired, "retired rows that are no longer kept");
    }
    let swept = seal::sweep_dead_objects(platform).await?;
    platform.sweep_erased().await?;
    let overwritten = platform.overwrite_erased().await?;
    if overwritten > 0 {
        tracing::info!(overwritten, "the database files were rewritten after erasures");
    }
    if sealed.segments > 0 || swept > 0 {
        tracing::info!(segments = sealed.segments, rows = sealed.rows, bytes = sealed.bytes, swept, "sealed");
    }
    Ok(())
}

async fn sweep_orphans(platform: &Platform) -> Result<()> {
    let swept = platform.sweep_orphans(platform.now_ms() - LOST_AFTER_MS).await?;
    if swept > 0 {
        tracing::warn!(swept, "deleted objects that no row knows");
    }
    Ok(())
}
