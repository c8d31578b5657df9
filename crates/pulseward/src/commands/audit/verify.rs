//! `pulseward audit verify`.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use platform::Platform;

use super::kept;
use super::report::{problems, report_json};
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Follow the chain of all entries, and compare its end and every signed checkpoint; fails when something is not what was
/// written
#[derive(Args)]
pub struct Verify {
    /// Compare checkpoints that were kept elsewhere, too: a file, or a folder of them; may be given several times
    #[arg(long, value_name = "PATH")]
    against: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Verify {
    /// Prints what was found. When that is anything but a whole log, the command fails.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let kept = kept::files(&self.against)?;
        let verify = async |platform: &Platform| {
            let kept = kept.iter().map(|file| kept::read(file));
            platform.upkeep.verify_audit_log(kept).await
        };
        let report = wiring::with_stores(&store, Expected::Store, verify).await?;
        // On standard output as well as the failure: monitoring reads one, people the other.
        self.output.print(&report_json(&report))?;
        let problems = problems(&report);
        if problems.is_empty() { Ok(()) } else { Err(Failure::Other(format!("audit log: {}", problems.join("; ")))) }
    }
}
