//! A service over databases of a test, whose time passes when the test says so.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use store::{Address, HealthChange, HealthDb, Objects, PatientId, Profile, Sync, UsersDb};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::summary::Section;
use vitals::zone::{LocalDay, ZoneRuns};

use crate::core::Environment;
use crate::core::access::Readable;
use crate::core::settings::Settings;
use crate::data::summaries::DayParts;
use crate::platform::Platform;

pub(crate) const NOON_MS: i64 = 1_763_640_000_000; // 2025-11-20T12:00Z
pub(crate) const MINUTE_MS: i64 = 60_000;

pub(crate) struct Service {
    pub platform: Platform,
    pub now_ms: Arc<AtomicI64>,
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
        platform.upkeep.seal_new_audit_log().await.unwrap();
        Service { platform, now_ms, _folder: folder }
    }

    pub async fn enrol(&self, uuid: &PatientId) {
        let profile = Profile {
            birthday: Some("1980-05-01".to_owned()),
            time_zone: Some("Europe/Zurich".to_owned()),
            ..Profile::default()
        };
        let change = HealthChange::PutPatient {
            uuid: uuid.clone(),
            record_id: store::RecordId::new(format!("id-{uuid}")),
            customer_code: None,
            profile,
            at_ms: 1,
        };
        self.platform.core.health().apply(change).await.unwrap();
    }

    pub async fn sync(&self, patient: &PatientId, blocks: Vec<Block>) {
        let received_ms = self.now_ms.load(Ordering::Relaxed);
        let sync = Sync { patient: patient.clone(), received_ms, id: None, device: None, blocks };
        self.platform.core.health().store_sync(sync).await.unwrap();
        self.platform.core.wake_derivations();
    }

    /// Sends a minute of a patient that is new each time.
    pub async fn sync_minute(&self, patient: &PatientId) {
        let minutes = self.platform.core.now_ms().div_euclid(MINUTE_MS) * MINUTE_MS;
        let mut block = minutes_to_noon(&[60]);
        block.times_us = vec![minutes * 1000];
        self.sync(patient, vec![block]).await;
    }

    /// Takes the object store away: neither writes nor reads reach it.
    pub fn take_objects_away(&self) -> TakenAway {
        let place = self.platform.core.objects().as_folder().unwrap().to_owned();
        let kept = place.with_extension("away");
        std::fs::rename(&place, &kept).unwrap();
        // A file where the folder was, so that no folder can be made in its place.
        std::fs::write(&place, "").unwrap();
        TakenAway { place, kept }
    }

    /// Lets time pass.
    pub fn pass_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    pub async fn heart_rate(&self, patient: &PatientId) -> Option<(f64, i64)> {
        let found = self.platform.data.latest_values(&Readable::for_test(&[patient.to_owned()])).await.unwrap();
        found.get(patient).and_then(|values| values.heart_rate).map(Into::into)
    }

    pub async fn day_json(&self, patient: &PatientId) -> serde_json::Value {
        let day = LocalDay::parse("2025-11-20").unwrap();
        let days = self
            .platform
            .data
            .days_of_patients(Readable::for_test(&[patient.to_owned()]), day, DayParts { slots: true, extra: true })
            .await
            .unwrap();
        let mut out = Vec::new();
        days[0].write_json(&mut out, &Section::ALL);
        serde_json::from_slice(&out).unwrap()
    }
}

/// An object store that is away.
#[must_use]
pub(crate) struct TakenAway {
    place: PathBuf,
    kept: PathBuf,
}

impl TakenAway {
    pub fn bring_back(self) {
        std::fs::remove_file(&self.place).unwrap();
        std::fs::rename(&self.kept, &self.place).unwrap();
    }
}

/// One row a minute up to noon, the last at noon.
pub(crate) fn minutes_to_noon(bpm: &[i32]) -> Block {
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
