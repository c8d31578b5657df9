//! `pulseward recompute`: derives everything again from the samples, and puts right what differs.

use clap::{ArgMatches, Args};
use serde_json::json;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::wiring::Expected;
use crate::{logging, wiring};
use store::PatientId;

/// Rebuild derived data from the samples, and put right what differs
#[derive(Args)]
pub struct Recompute {
    /// Only of this patient
    #[arg(long, value_name = "UUID")]
    patient: Option<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Recompute {
    /// Recomputes, also while the service runs; prints what was looked at and found. Differences are named on standard
    /// error by patient, and are no failure: they have been put right.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let patient = self.patient.map(PatientId::new);
        let found = wiring::with_stores(&store, Expected::Store, async |platform| {
            let bar = progress_bar();
            bar.set_message("recomputing");
            let found = platform.data.recompute(patient.as_ref(), |patient, found| {
                bar.inc(found.windows);
                if found.differences > 0 {
                    bar.suspend(|| eprintln!("{patient}: {} differences put right", found.differences));
                }
            });
            let found = found.await?;
            bar.finish_and_clear();
            Ok(found)
        });
        let found = found.await?;
        // Success also with differences, since they are gone now; monitoring watches the number.
        self.output.print(&json!({"windows": found.windows, "differences": found.differences}))
    }
}
