//! `pulseward simulate`: a fleet of simulated bracelets that sends to a service over HTTP.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bracelet::fleet::{Fleet, FleetConfig, Live};
use bracelet::{Cast, DataType, Presence, StoryPlan, StoryRequests};
use clap::Args;
use serde_json::Value;

use crate::commands::serve::stop_on_signal;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::service::ServiceOptions;
use crate::wiring;

/// Send the data of simulated bracelets to a service
#[derive(Args)]
pub struct Simulate {
    #[command(flatten)]
    service: ServiceOptions,
    /// API key of a researcher
    #[arg(long, value_name = "KEY", env = "PULSEWARD_TOKEN", hide_env_values = true)]
    token: String,
    /// Code of the group that the patients join; default: a new group
    #[arg(long, value_name = "CODE")]
    group: Option<String>,
    /// Number of patients
    #[arg(long, value_name = "N", default_value_t = 10)]
    patients: u64,
    /// Days of history to send, today included
    #[arg(long, value_name = "N", default_value_t = 1)]
    days: u32,
    /// Go on with the present until interrupted
    #[arg(long)]
    live: bool,
    /// Seconds between two live syncs of a patient
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    live_every: u64,
    /// What happens to the patients; `mixed` gives every second one a story
    #[arg(long, value_name = "S", default_value = "mixed")]
    scenario: Cast,
    /// Stories for judging alarms, as `deterioration:3,exercise:20%`: so many over the fleet, or one for each patient of a
    /// share of it. Stories: deterioration, exercise, loose-sensor, charging, late-sync, dead-battery; `healthy` alone for a
    /// fleet to compare with
    #[arg(long, value_name = "NAME:N,…", conflicts_with = "scenario")]
    stories: Option<StoryRequests>,
    /// New file for what is true of the stories: JSON lines, one for each patient, story and bracelet
    #[arg(long, value_name = "FILE", requires = "stories")]
    truth: Option<PathBuf>,
    /// Seed of all chance: the same seed makes the same patients
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Data types to send, separated by commas; default: all but waveforms
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<DataType>,
    /// IANA time zone of the patients; default: that of this machine
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Requests under way at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// Compress what is sent
    #[arg(long)]
    gzip: bool,
    #[command(flatten)]
    output: Output,
}

impl Simulate {
    /// Enrols the patients, sends their past, and their present until interrupted; prints what was done. Fails when it was
    /// interrupted before.
    pub async fn run(self) -> Result<(), Failure> {
        // Before signals are listened to, which then end the program at once.
        self.service.reach(&self.service.client()?.no_proxy().build()?).await?;
        let mut config = FleetConfig::new(&self.service.url, &self.token, &random_password(), self.patients);
        config.authorities = self.service.authorities()?;
        config.group = self.group;
        config.seed = self.seed;
        config.cast = self.scenario;
        let presence = if self.live { Presence::Live } else { Presence::History };
        config.stories = self.stories.map(|stories| StoryPlan::new(stories, wiring::now_ms(), self.days, presence));
        config.truth = self.truth;
        // Days and nights of the patients are then those of the person who looks at them.
        config.zones = vec![self.time_zone.unwrap_or_else(local_zone)];
        config.days = self.days;
        config.connections = usize::from(self.connections);
        config.gzip = self.gzip;
        if !self.types.is_empty() {
            config.data_types = self.types;
        }
        let every = Duration::from_secs(self.live_every);
        let live = self.live.then(|| live_every(every));
        let bar = progress_bar();
        let fleet = Fleet::new(config, Arc::new(wiring::now_ms), Arc::new(bar.clone()))?;
        let result = fleet.run(live, stop_on_signal()?).await;
        bar.finish_and_clear();
        let result = result?;
        let value = serde_json::to_value(&result).unwrap_or(Value::Null);
        self.output.print(&value)?;
        // The figures are printed first: what was sent is worth knowing also when some of it was lost.
        match (result.stopped, result.failed) {
            (Some(stopped), _) => Err(Failure::Other(stopped.to_string())),
            (None, 0) => Ok(()),
            (None, failed) => Err(Failure::Other(format!("{failed} syncs were given up"))),
        }
    }
}

/// Returns the present, sent so often.
pub fn live_every(every: Duration) -> Live {
    let step_ms = every.as_millis() as i64;
    Live { tick: every, step_ms, lag_ms: 0, ticks: None }
}

/// Returns a password that nobody needs to know.
pub fn random_password() -> String {
    let mut bytes = [0; 16];
    wiring::fill_random(&mut bytes);
    format!("{:032x}", u128::from_le_bytes(bytes))
}

/// Returns the name of this machine's time zone, UTC when it has none.
pub fn local_zone() -> String {
    let zone = jiff::tz::TimeZone::system();
    zone.iana_name().unwrap_or("UTC").to_owned()
}
