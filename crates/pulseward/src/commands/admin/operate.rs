//! What every operation of an administrator can do.

use clap::ArgMatches;
use platform::{Platform, Settings};
use serde_json::Value;

use crate::config::StoreOptions;
use crate::failure::Failure;
use crate::wiring::Expected;

/// An operation of an administrator.
pub(super) trait Operate {
    /// Returns what it expects of the stores.
    fn expected(&self) -> Expected {
        Expected::Databases
    }

    /// Returns the settings that it works with, of which the command line and the file of the store may say something.
    fn settings(&self, _store: &StoreOptions, _matches: &ArgMatches) -> Result<Settings, Failure> {
        Ok(Settings::default())
    }

    /// Does it; answers what `--json` prints.
    async fn operate(self, platform: &Platform) -> Result<Value, Failure>;
}
