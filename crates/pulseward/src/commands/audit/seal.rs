//! `pulseward audit seal`: an operator takes the log as it is.

use clap::{ArgMatches, Args};
use platform::Platform;
use serde_json::json;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Take the audit log as it is, after what `verify` has reported was looked into; from then on it shows since which entry
#[derive(Args)]
pub struct SealAgain {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl SealAgain {
    /// Prints what the end showed before, the last entry that is taken as it is, and how many checkpoints do not count any
    /// more.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let seal = async |platform: &Platform| {
            let before = platform.upkeep.audit_end().await?;
            let set_aside = platform.upkeep.take_audit_log_as_it_is().await?;
            Ok(json!({
                "before": before.state,
                "sealed_from": before.number,
                "checkpoints_set_aside": set_aside,
            }))
        };
        self.output.print(&wiring::with_stores(&store, Expected::Store, seal).await?)
    }
}
