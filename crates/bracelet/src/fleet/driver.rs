//! The fleet at work: enrol, send the past, send the present.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::sync::{OnceCell, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::{Credential, Payload, ServiceClient};
use super::config::{Clock, FleetConfig};
use super::delivery;
use super::late;
use super::progress::Progress;
use super::session::{Session, text};
use super::tally::{FleetResult, Tally};
use super::truth_file::Deliveries;
use crate::body::{SyncBody, Window};
use crate::error::BraceletError;
use crate::patient::Patient;
use crate::stories::casting::cast;

/// Failures that are reported one by one; more are only counted.
const REPORTED_FAILURES: u64 = 5;

/// A fleet of bracelets. Cloning it gives another handle to the same fleet.
#[derive(Clone)]
pub struct Fleet {
    pub(super) config: Arc<FleetConfig>,
    pub(super) clock: Clock,
    pub(super) progress: Arc<dyn Progress>,
    pub(super) client: ServiceClient,
    pub(super) tally: Arc<Tally>,
    connections: Arc<Semaphore>,
    /// What stories withheld and was sent after all.
    pub(super) deliveries: Arc<Deliveries>,
    /// Syncs that are drawn at a time. More would take memory and no less time, and nothing ends what is being drawn.
    drawings: Arc<Semaphore>,
    /// Code of the study, once it is known.
    group: Arc<OnceCell<Arc<str>>>,
    begin: Instant,
}

impl Fleet {
    /// Prepares a fleet; nothing is sent yet. Must be called within a tokio runtime.
    pub fn new(config: FleetConfig, clock: Clock, progress: Arc<dyn Progress>) -> Result<Self, BraceletError> {
        if config.zones.is_empty() {
            return Err(BraceletError::UnknownZone(String::new()));
        }
        let tally = Arc::new(Tally::default());
        let connections = config.connections.max(1);
        let client = ServiceClient::new(&config, tally.clone())?;
        Ok(Self {
            connections: Arc::new(Semaphore::new(connections)),
            drawings: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from))),
            group: Arc::default(),
            deliveries: Arc::default(),
            config: Arc::new(config),
            clock,
            progress,
            client,
            tally,
            begin: Instant::now(),
        })
    }

    /// Makes a handle to the same fleet that tries nothing again once `stop` is true: a service that is down would hold
    /// up its end as long as the patience lasts.
    pub(super) fn until(&self, stop: &watch::Receiver<bool>) -> Self {
        Self { client: self.client.until(stop), ..self.clone() }
    }

    /// Returns what was done so far.
    pub fn result(&self, sessions: &[Arc<Session>]) -> FleetResult {
        let group = self.group.get().map(ToString::to_string).unwrap_or_default();
        FleetResult { group, ..self.tally.result(sessions.len() as u64, self.begin.elapsed().as_secs_f64()) }
    }

    /// Returns the code of the study, which is created when none is named.
    pub(super) async fn group(&self) -> Result<Arc<str>, BraceletError> {
        let found = self.group.get_or_try_init(async || match &self.config.group {
            Some(code) => Ok::<_, BraceletError>(code.as_str().into()),
            None => Ok(self.create_group().await?.into()),
        });
        found.await.cloned()
    }

    /// Creates the group when none is named, and all patients, in the order of their numbers.
    pub async fn enrol(&self) -> Result<Vec<Arc<Session>>, BraceletError> {
        let group = self.group().await?;
        self.progress.phase("enrolling patients", Some(self.config.patients));
        let now_ms = (self.clock)();
        let mut tasks = JoinSet::new();
        for patient in self.invent_all(now_ms)? {
            let fleet = self.clone();
            let group = group.clone();
            tasks.spawn(async move { fleet.enrol_one(patient, &group).await });
        }
        let mut sessions = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            sessions.push(Arc::new(joined??));
            self.tally.record_enrolment();
            self.progress.advance(1);
        }
        // Tasks end in any order; results have to be the same in every run of a seed.
        sessions.sort_by_key(|session| session.patient.index);
        Ok(sessions)
    }

    /// Invents all patients before the first is enrolled: stories that have no room must leave nobody behind.
    fn invent_all(&self, now_ms: i64) -> Result<Vec<Patient>, BraceletError> {
        let config = &self.config;
        let Some(plan) = &config.stories else {
            return (0..config.patients).map(|index| self.invent(index, now_ms)).collect();
        };
        let zone = |index: u64| &config.zones[index as usize % config.zones.len()];
        let invented = (0..config.patients).map(|index| Patient::of_population(config.seed, index, zone(index)));
        let mut patients = invented.collect::<Result<Vec<_>, _>>()?;
        cast(&mut patients, plan, config.seed)?;
        Ok(patients)
    }

    fn invent(&self, index: u64, now_ms: i64) -> Result<Patient, BraceletError> {
        let config = &self.config;
        let scenario = config.cast.scenario_of(index);
        let onset_ms = config.onset_ms.unwrap_or_else(|| scenario.onset_before(now_ms));
        let zone = &config.zones[index as usize % config.zones.len()];
        Patient::new(config.seed, index, scenario, onset_ms, zone)
    }

    async fn enrol_one(&self, patient: Patient, group: &str) -> Result<Session, BraceletError> {
        let _connection = self.connections.acquire().await?;
        let config = &self.config;
        Session::enrol(&self.client, patient, group, &config.api_key, &config.password).await
    }

    async fn create_group(&self) -> Result<String, BraceletError> {
        let body = json!({
            "name": "Simulated patients",
            "description": format!("Bracelets of a simulation with seed {}", self.config.seed),
        });
        let key = Credential::ApiKey(&self.config.api_key);
        let answer = self.client.post("/integration/v1/groups", key, &Payload::json(&body)).await?;
        text(&answer.accepted("create a group")?, "code")
    }

    /// Sends the configured days before `end_ms`; patients take turns, so that all get their newest day early. Returns how
    /// many syncs were planned, of which fewer are sent once `stop` is true.
    pub async fn send_history(
        &self,
        sessions: &[Arc<Session>],
        end_ms: i64,
        stop: &watch::Receiver<bool>,
    ) -> Result<u64, BraceletError> {
        let config = &self.config;
        let span_ms = delivery::longest_window_ms(&config.data_types, &config.rates);
        let plans: Vec<Vec<Window>> = sessions
            .iter()
            .map(|session| {
                let windows = delivery::history(&session.patient, config.days, end_ms, span_ms, config.order);
                late::arrived(&session.patient, windows, end_ms)
            })
            .collect();
        let total: usize = plans.iter().map(Vec::len).sum();
        self.progress.phase("sending history", Some(total as u64));
        let mut tasks = JoinSet::new();
        for (session, windows) in sessions.iter().cloned().zip(plans) {
            let fleet = self.until(stop);
            let stop = stop.clone();
            tasks.spawn(async move {
                for window in windows {
                    if *stop.borrow() {
                        break;
                    }
                    if fleet.send_past(&session, window, &stop).await? {
                        fleet.tally.record_window();
                    }
                }
                Ok(())
            });
        }
        finish(tasks).await?;
        Ok(total as u64)
    }

    /// As [`Fleet::send_window`], but that nothing is drawn for a fleet that is stopped.
    async fn send_past(
        &self,
        session: &Session,
        window: Window,
        stop: &watch::Receiver<bool>,
    ) -> Result<bool, BraceletError> {
        let drawn = async {
            let connection = self.connections.acquire().await?;
            Ok::<_, BraceletError>((connection, self.build(&session.patient, window).await?))
        };
        let (_connection, body) = tokio::select! {
            biased;
            () = stopped(stop.clone()) => return Ok(false),
            drawn = drawn => drawn?,
        };
        Ok(self.send_noted(session, window, body, None).await)
    }

    /// Builds and sends one sync when a connection is free. A failure is counted and reported; the fleet goes on. Whether
    /// the window is done: the sync was accepted, or there was nothing to send.
    pub(super) async fn send_window(&self, session: &Session, window: Window) -> Result<bool, BraceletError> {
        let _connection = self.connections.acquire().await?;
        self.send_now(session, window, None).await
    }

    /// Builds and sends one sync. The latency is counted from `due`, or else from when the request was sent. Whether the
    /// window is done.
    pub(super) async fn send_now(
        &self,
        session: &Session,
        window: Window,
        due: Option<Instant>,
    ) -> Result<bool, BraceletError> {
        let body = self.build(&session.patient, window).await?;
        Ok(self.send_noted(session, window, body, due).await)
    }

    /// Sends what was built and notes when, if it was withheld before.
    async fn send_noted(&self, session: &Session, window: Window, body: Option<Body>, due: Option<Instant>) -> bool {
        let is_done = self.send_body(session, body, due).await;
        if is_done {
            self.deliveries.note(session, window, (self.clock)());
        }
        is_done
    }

    /// Sends what was built, if there is anything to send.
    async fn send_body(&self, session: &Session, body: Option<Body>, due: Option<Instant>) -> bool {
        let Some(body) = body else {
            self.progress.advance(1);
            return true;
        };
        let sent = session.send(&self.client, &body.payload).await;
        let is_done = matches!(&sent, Ok(answer) if answer.status.is_success());
        match sent {
            Ok(answer) if answer.status.is_success() => {
                // From when it was due and not when it was sent: a slow service delays the requests behind it, and
                // that is latency too.
                let latency = due.map_or(answer.latency, |due| due.elapsed());
                self.tally.record_sync(body.rows, body.values, latency, &answer.json);
            }
            Ok(answer) => self.count_failure(&answer.refusal("sync")),
            Err(error) => self.count_failure(&error),
        }
        self.progress.advance(1);
        is_done
    }

    fn count_failure(&self, error: &BraceletError) {
        let before = self.tally.record_failure();
        // A service that is down fails thousands of times for one reason.
        if before < REPORTED_FAILURES {
            self.progress.note(&format!("a sync failed: {error}"));
        }
    }

    /// Makes the body off the async threads; none when there is nothing to send.
    async fn build(&self, patient: &Patient, window: Window) -> Result<Option<Body>, BraceletError> {
        let config = self.config.clone();
        let patient = patient.clone();
        let drawing = self.drawings.clone().acquire_owned().await?;
        // Drawing waveforms takes long, and no answer would be read meanwhile.
        tokio::task::spawn_blocking(move || {
            let _drawing = drawing;
            let sync = SyncBody::new(&patient, window, &config.data_types, &config.rates)?;
            if sync.is_empty() {
                return Ok(None);
            }
            let json = sync.to_json()?;
            let bytes = if config.gzip { compress(&json)? } else { json };
            Ok(Some(Body {
                payload: Payload { bytes: Bytes::from(bytes), is_gzip: config.gzip },
                rows: sync.row_count(),
                values: sync.value_count(),
            }))
        })
        .await?
    }
}

/// Returns when `stop` is true; never when nobody can say so any more.
pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A sync ready to be sent.
struct Body {
    payload: Payload,
    rows: usize,
    values: usize,
}

fn compress(json: &[u8]) -> Result<Vec<u8>, BraceletError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(json)?;
    Ok(encoder.finish()?)
}

/// Waits for all tasks; the first error ends the others.
pub(super) async fn finish(mut tasks: JoinSet<Result<(), BraceletError>>) -> Result<(), BraceletError> {
    while let Some(joined) = tasks.join_next().await {
        joined??;
    }
    Ok(())
}
