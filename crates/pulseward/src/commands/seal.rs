//! `pulseward seal`: turns the samples of finished periods into segments, which the service does by itself every hour.

use clap::{ArgMatches, Args};
use platform::seal::Until;
use serde_json::json;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Seal finished periods into Parquet segments
#[derive(Args)]
pub struct Seal {
    /// Everything up to the present, also periods that still run: for tests and backups
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Seal {
    /// Seals, also while the service runs; prints what was written.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let until = if self.now { Until::Now } else { Until::Finished };
        let sealed = wiring::with_stores(&store, Expected::Store, async |platform| {
            let bar = progress_bar();
            bar.set_message("sealing");
            let sealed = platform.upkeep.seal(until, |sealed| bar.inc(sealed.segments)).await?;
            platform.upkeep.sweep_dead_objects().await?;
            bar.finish_and_clear();
            Ok(sealed)
        });
        let sealed = sealed.await?;
        self.output.print(&json!({"segments": sealed.segments, "rows": sealed.rows, "bytes": sealed.bytes}))
    }
}
