//! `pulseward migrate`: brings the databases to this version's schema, which every start does too.

use clap::{ArgMatches, Args};
use serde_json::json;

use crate::config::{self, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::{self, Expected};

/// Bring both databases to the schema of this version
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    output: Output,
}

impl Migrate {
    /// Opens the stores, which applies what is missing.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        wiring::with_stores(&store, Expected::DatabasesOrNothing, async |_| Ok(())).await?;
        self.output.print(&json!({"users": "up to date", "health": "up to date"}))
    }
}
