//! `pulseward audit checkpoint`: signs the end of the log now, as the service does once an hour.

use clap::{ArgMatches, Args};
use platform::Platform;
use serde_json::json;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Sign the end of the audit log now, and write the checkpoint among the objects unless it is there
#[derive(Args)]
pub struct WriteCheckpoint {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl WriteCheckpoint {
    /// Prints the checkpoint: it can be kept as it is, and `audit verify --against` reads it.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let write = async |platform: &Platform| Ok(platform.upkeep.write_checkpoint().await?);
        let written = wiring::with_stores(&store, Expected::Store, write).await?;
        let Some(written) = written else {
            return Err(Failure::Other("the audit log has no entry yet, so there is nothing to sign".to_owned()));
        };
        self.output.print(&json!(written))
    }
}
