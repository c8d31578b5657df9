//! Configuration of a fleet.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::body::SignalRates;
use crate::data_type::DataType;
use crate::scenario::{Cast, Scenario};

/// The wall clock: Unix ms.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Which patients to simulate, and how to reach the service.
#[derive(Clone)]
pub struct FleetConfig {
    /// Address of the service, without a slash at the end; the clouds are looked for at `/integration`, `/users`, `/health`.
    pub url: String,
    /// Authorities that vouch for the service in addition to those of the system.
    pub authorities: Vec<reqwest::Certificate>,
    /// Researcher API key. It travels in a header and is never shown.
    pub api_key: String,
    /// Code of the group; none creates a group.
    pub group: Option<String>,
    /// Number of patients.
    pub patients: u64,
    /// The seed of all chance.
    pub seed: u64,
    /// Who plays what.
    pub cast: Cast,
    /// Time at which the scenarios begin (Unix ms); none lets each begin when it shows best, see
    /// [`Scenario::onset_before`].
    pub onset_ms: Option<i64>,
    /// Time zones; patient `i` lives in number `i` modulo their number. Must not be empty.
    pub zones: Vec<String>,
    /// The password with which patients are activated. The seed must not decide it: seeds are no secret.
    pub password: String,
    /// What to send.
    pub data_types: Vec<DataType>,
    /// How fast the waveforms are sampled.
    pub rates: SignalRates,
    /// Days of the past to send, the running UTC day included.
    pub days: u32,
    /// In which order they are sent.
    pub order: HistoryOrder,
    /// Requests under way at the same time.
    pub connections: usize,
    /// Whether bodies are compressed.
    pub gzip: bool,
    /// Time for which one request is tried again before it counts as failed.
    pub retry_for: Duration,
}

impl FleetConfig {
    /// Makes a fleet of healthy patients with one day of vital signs.
    pub fn new(url: &str, api_key: &str, password: &str, patients: u64) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            authorities: Vec::new(),
            api_key: api_key.to_owned(),
            group: None,
            patients,
            seed: 1,
            cast: Cast::All(Scenario::Healthy),
            onset_ms: None,
            zones: vec!["Europe/Zurich".to_owned()],
            password: password.to_owned(),
            data_types: DataType::VITALS.to_vec(),
            rates: SignalRates::default(),
            days: 1,
            order: HistoryOrder::NewestFirst,
            connections: 64,
            gzip: false,
            retry_for: Duration::from_mins(10),
        }
    }
}

impl fmt::Debug for FleetConfig {
    /// Leaves out the API key and the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FleetConfig")
            .field("url", &self.url)
            .field("group", &self.group)
            .field("patients", &self.patients)
            .field("seed", &self.seed)
            .field("cast", &self.cast)
            .field("data_types", &self.data_types)
            .field("days", &self.days)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// Which end of the past is sent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryOrder {
    /// The newest day first, so that there is something to see at once.
    NewestFirst,
    /// As it happened.
    OldestFirst,
}

/// How the present is sent after the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Time between two syncs of a patient.
    pub tick: Duration,
    /// How much of the patient's time each sync covers, ms. Never reaches past the clock.
    pub step_ms: i64,
    /// Where the present begins, ms before the clock: what an accelerated run has to catch up.
    pub lag_ms: i64,
    /// How many syncs each patient sends; none goes on until the fleet is stopped.
    pub ticks: Option<u64>,
}

impl Live {
    /// One sync per minute of real time.
    pub fn real_time() -> Self {
        Self { tick: Duration::from_mins(1), step_ms: 60_000, lag_ms: 0, ticks: None }
    }
}

/// A measurement of how much the service takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPlan {
    /// Time for which syncs are sent.
    pub duration: Duration,
    /// Syncs per second over the whole fleet; none sends as fast as the connections allow. A service that limits the requests
    /// of one credential limits this too: use enough patients, or switch its limit off.
    pub rate: Option<f64>,
    /// How much of a patient's time each sync covers, ms.
    pub step_ms: i64,
    /// How far before the clock the data begin, ms. A patient whose data reach the present sends no more.
    pub begin_before_ms: i64,
}

impl LoadPlan {
    /// One-minute syncs for this long, with data of the last two weeks.
    pub fn one_minute_syncs(duration: Duration, rate: Option<f64>) -> Self {
        Self { duration, rate, step_ms: 60_000, begin_before_ms: 14 * 24 * 3_600_000 }
    }
}
