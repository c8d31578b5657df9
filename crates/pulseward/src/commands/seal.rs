//! `pulseward seal`: finished periods become Parquet segments, as the worker does by itself every hour.

use clap::{ArgMatches, Args};
use indicatif::ProgressBar;
use platform::Settings;
use platform::seal::{self, Until};
use serde_json::json;

use crate::config::{self, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring;

/// Seal finished periods into Parquet segments
#[derive(Args)]
pub struct Seal {
    #[command(flatten)]
    store: StoreOptions,
    /// Seal everything up to the present, also periods that still run
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    output: Output,
}

impl Seal {
    /// Seals and says what was written.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let platform = wiring::open(&store, Settings::default()).await?;
        let until = if self.now { Until::Now } else { Until::Finished };
        let progress = ProgressBar::new_spinner().with_message("sealing");
        let sealed = seal::seal(&platform, until, |sealed| progress.inc(sealed.segments)).await?;
        seal::sweep_dead_objects(&platform).await?;
        progress.finish_and_clear();
        self.output.print(&json!({"segments": sealed.segments, "rows": sealed.rows, "bytes": sealed.bytes}))
    }
}
