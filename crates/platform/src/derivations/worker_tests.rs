//! The worker over a real database: from a sync to what readers see.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use store::{Address, DerivationCommit, HealthChange, HealthDb, Objects, Profile, Sync, UsersDb};
use vitals::block::{Block, Cells};
use vitals::derivation::{DerivedRow, Output, versions};
use vitals::registry::{Channel, DataType, TestKind};
use vitals::summary::Section;
use vitals::zone::{LocalDay, ZoneRuns};

use super::versions::mark_other_versions;
use crate::core::Environment;
use crate::core::settings::Settings;
use crate::jobs::{self, NodeName};
use crate::platform::Platform;
use crate::summaries::DayParts;

pub(crate) const NOON_MS: i64 = 1_763_640_000_000; // 2025-11-20T12:00Z
const MINUTE_MS: i64 = 60_000;

pub(crate) struct Service {
    pub platform: Platform,
    now_ms: Arc<AtomicI64>,
    _folder: tempfile::TempDir,
}

impl Service {
    pub async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    /// With other settings.
    pub async fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| Address::File(folder.path().join(name));
        let (users, health) = (file("users.sqlite"), file("health.sqlite"));
        Self::open(users, health, folder, settings).await
    }

    /// A node on databases that others may use too.
    pub async fn on(users: Address, health: Address) -> Self {
        Self::open(users, health, tempfile::tempdir().unwrap(), Settings::default()).await
    }

    async fn open(users: Address, health: Address, folder: tempfile::TempDir, settings: Settings) -> Self {
        let objects = Objects::folder(&folder.path().join("objects")).unwrap();
        let users = UsersDb::open(users).await.unwrap();
        let health = HealthDb::open(health, objects.clone()).await.unwrap();
        let now_ms = Arc::new(AtomicI64::new(NOON_MS));
        let clock = now_ms.clone();
        let number = AtomicU8::new(7);
        let platform = Platform::new(Environment {
            users,
            health,
            objects,
            clock: Arc::new(move || clock.load(Ordering::Relaxed)),
            random: Arc::new(move |bytes| bytes.fill(number.fetch_add(1, Ordering::Relaxed))),
            master_key: [0; 32],
            settings,
        });
        Service { platform, now_ms, _folder: folder }
    }

    pub async fn enrol(&self, uuid: &str) {
        let profile = Profile {
            birthday: Some("1980-05-01".to_owned()),
            time_zone: Some("Europe/Zurich".to_owned()),
            ..Profile::default()
        };
        let change = HealthChange::PutPatient {
            uuid: uuid.to_owned(),
            record_id: format!("id-{uuid}"),
            customer_code: None,
            profile,
            at_ms: 1,
        };
        self.platform.core.health().apply(change).await.unwrap();
    }

    pub async fn sync(&self, patient: &str, blocks: Vec<Block>) {
        let received_ms = self.now_ms.load(Ordering::Relaxed);
        let sync = Sync { patient: patient.to_owned(), received_ms, id: None, device: None, blocks };
        self.platform.core.health().store_sync(sync).await.unwrap();
        self.platform.core.wake_derivations();
    }

    /// Sends a minute of a patient that is new each time.
    pub async fn sync_minute(&self, patient: &str) {
        let minutes = self.platform.core.now_ms().div_euclid(MINUTE_MS) * MINUTE_MS;
        let mut block = minutes_to_noon(&[60]);
        block.times_us = vec![minutes * 1000];
        self.sync(patient, vec![block]).await;
    }

    /// Lets time pass.
    pub fn pass_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    async fn drain(&self) -> usize {
        jobs::drain(&self.platform, &["derive"]).await.unwrap()
    }

    pub async fn heart_rate(&self, patient: &str) -> Option<(f64, i64)> {
        let found = self.platform.latest_values(vec![patient.to_owned()]).await.unwrap();
        found.get(patient).and_then(|values| values.heart_rate).map(Into::into)
    }

    async fn day_json(&self, patient: &str) -> serde_json::Value {
        let day = LocalDay::parse("2025-11-20").unwrap();
        let days = self
            .platform
            .days_of_patients(&[patient.to_owned()], day, DayParts { slots: true, extra: true })
            .await
            .unwrap();
        let mut out = Vec::new();
        days[0].write_json(&mut out, &Section::ALL);
        serde_json::from_slice(&out).unwrap()
    }
}

/// One row a minute up to noon, the last at noon.
fn minutes_to_noon(bpm: &[i32]) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    let rows = bpm.len() as i64;
    block.times_us = (0..rows).map(|row| (NOON_MS - (rows - 1 - row) * MINUTE_MS) * 1000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), bpm.len());
    let column = |name: &str| DataType::Activity.column_index(name).unwrap();
    block.columns[column("bpm")] = Cells::Values(bpm.to_vec()).simplified();
    for (name, cell) in [("spo2", 970), ("respiration_rate", 160), ("core_temp", 3700), ("nibp_systolic", 120)] {
        block.columns[column(name)] = Cells::Constant(cell);
    }
    block
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_becomes_latest_values_a_score_and_a_day() {
    let service = Service::start().await;
    for patient in ["ada", "grace"] {
        service.enrol(patient).await;
    }
    service.sync("ada", vec![minutes_to_noon(&[60, 61, 62])]).await;
    service.sync("grace", vec![minutes_to_noon(&[95])]).await;
    assert_eq!(service.drain().await, 2);
    assert_eq!(service.drain().await, 0);

    assert_eq!(service.heart_rate("ada").await, Some((62.0, NOON_MS)));
    let latest = service.platform.latest_values(vec!["ada".to_owned(), "grace".to_owned()]).await.unwrap();
    assert_eq!(latest["ada"].news_score.map(Into::into), Some((0.0, NOON_MS)));
    assert_eq!(latest["grace"].news_score.map(Into::into), Some((1.0, NOON_MS)));
    let day = service.day_json("ada").await;
    assert_eq!(day["heart_rate"]["max_daily_heart_rate"], 62);
    assert_eq!(day["heart_rate"]["slots"].as_array().unwrap().len(), 2);
    assert_eq!(day["heart_rate"]["slots"][1]["date"], "13:00");
    assert_eq!(service.day_json("nobody").await["heart_rate"], serde_json::json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_row_takes_its_value_back() {
    let service = Service::start().await;
    service.enrol("ada").await;
    service.sync("ada", vec![minutes_to_noon(&[60, 61, 62])]).await;
    service.drain().await;
    service.sync("ada", vec![minutes_to_noon(&[0])]).await;
    service.drain().await;
    assert_eq!(service.heart_rate("ada").await, Some((61.0, NOON_MS - MINUTE_MS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measurement_ahead_of_the_clock_waits() {
    let service = Service::start().await;
    service.enrol("ada").await;
    let mut spot = Block::empty(DataType::Tests, Channel::of_test(TestKind::code("heart_rate").unwrap()));
    spot.columns[0] = Cells::Constant(TestKind::code("heart_rate").unwrap());
    spot.columns[1] = Cells::Constant(77_000);
    spot.times_us = vec![(NOON_MS + 10 * MINUTE_MS) * 1000];
    spot.zones = ZoneRuns::constant("UTC".into(), 1);
    service.sync("ada", vec![minutes_to_noon(&[60]), spot]).await;
    service.drain().await;
    assert_eq!(service.heart_rate("ada").await, Some((60.0, NOON_MS)));
    service.now_ms.store(NOON_MS + 5 * MINUTE_MS, Ordering::Relaxed);
    assert_eq!(service.drain().await, 1);
    assert_eq!(service.heart_rate("ada").await, Some((77.0, NOON_MS + 10 * MINUTE_MS)));
    assert_eq!(service.drain().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_worker_folds_what_is_synced_and_stops_when_told() {
    let service = Service::start().await;
    service.enrol("ada").await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let node = NodeName { name: "node".to_owned(), version: "1".to_owned() };
    let worker = runtime::spawn("engine", jobs::run(service.platform.clone(), node, stopped));
    service.sync("ada", vec![minutes_to_noon(&[60])]).await;
    let folded = async {
        while service.day_json("ada").await["heart_rate"] == serde_json::json!({}) {
            runtime::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime::timeout(Duration::from_mins(1), folded).await.unwrap();
    stop.send(true).unwrap();
    worker.await.unwrap();
    // Nothing is of another version here, so nothing becomes due.
    assert_eq!(mark_other_versions(&service.platform).await.unwrap(), 0);
    assert_eq!(service.drain().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_version_has_computed_is_computed_again_once() {
    let service = Service::start().await;
    service.enrol("ada").await;
    service.sync("ada", vec![minutes_to_noon(&[60])]).await;
    service.drain().await;
    let health = service.platform.core.health();
    let derived = health.all_derived("ada").await.unwrap();
    let older = versions().replace("day_sections=", "day_sections=0");
    let claim = health.claim_patient("ada", NOON_MS, 1).await.unwrap().unwrap();
    let is_section = |row: &&DerivedRow| row.output == Output::Section;
    let rows: Vec<_> = derived.iter().filter(is_section).map(|row| DerivedRow { body: None, ..row.clone() }).collect();
    assert!(!rows.is_empty());
    health.commit_derivations(vec![DerivationCommit { rows, ..DerivationCommit::nothing(claim) }]).await.unwrap();
    health.derive_again("ada", &older, Vec::new()).await.unwrap();
    assert_eq!(service.drain().await, 0);

    assert_eq!(mark_other_versions(&service.platform).await.unwrap(), 1);
    assert_eq!(mark_other_versions(&service.platform).await.unwrap(), 0);
    assert_eq!(service.drain().await, 1);
    assert_eq!(health.all_derived("ada").await.unwrap(), derived);
}

/// A patient whose derivation panics, as that of one whose samples hit an error of the program.
pub(crate) const PANICS: &str = "panics";

pub(super) fn panic_if_asked(patient: &str) {
    assert!(patient != PANICS, "a derivation that panics for a test");
}
