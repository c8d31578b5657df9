//! `pulseward audit`: whether the audit log is what was written.

use clap::{ArgMatches, Args, Subcommand};
use platform::Platform;
use serde_json::json;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Check the audit log
#[derive(Args)]
pub struct Audit {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Subcommand)]
enum Operation {
    Verify(Verify),
}

/// Follow the chain of all entries; fails when one is not what was written
#[derive(Args)]
struct Verify {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Audit {
    /// Does the operation.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        match self.operation {
            Operation::Verify(verify) => verify.run(matches).await,
        }
    }
}

impl Verify {
    /// Prints how many entries hold. The first that does not is named, and the command fails.
    async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let verify = async |platform: &Platform| Ok(platform.upkeep.verify_audit().await?);
        let (entries, broken) = wiring::with_stores(&store, Expected::Databases, verify).await?;
        let Some(broken) = broken else {
            return self.output.print(&json!({"entries": entries, "intact": true}));
        };
        // On standard output as well as the failure: monitoring reads one, people the other.
        self.output.print(&json!({"entries": entries, "intact": false, "first_broken": broken}))?;
        Err(Failure::Other(format!("audit log: entry {broken} is missing or not what was written")))
    }
}
