//! Databases for the contract tests: each test runs on every engine.

use std::future::Future;

use store::{Address, HealthChange, HealthDb, Objects, PatientId, Profile};

/// A patient that every test database has.
const PATIENT: &str = "6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001";

/// Its identifier.
pub fn patient() -> PatientId {
    PatientId::new(PATIENT)
}

/// Runs a test on a health database of each engine, with one patient enrolled.
pub async fn on_each_engine<Test, Running>(test: Test)
where
    Test: Fn(HealthDb) -> Running,
    Running: Future<Output = ()>,
{
    let folder = tempfile::tempdir().unwrap();
    let objects = Objects::folder(&folder.path().join("objects")).unwrap();
    let sqlite = Address::File(folder.path().join("health.db"));
    let health = HealthDb::open(sqlite, objects.clone()).await.unwrap();
    enrol(&health).await;
    test(health).await;

    // Says by itself that it skips where there is no PostgreSQL, and fails instead where that is not allowed.
    let Some(postgres) = testkit::Postgres::start() else { return };
    let health = HealthDb::open(Address::Postgres(postgres.url.clone()), objects).await.unwrap();
    enrol(&health).await;
    test(health).await;
}

async fn enrol(health: &HealthDb) {
    let change = HealthChange::PutPatient {
        uuid: patient(),
        record_id: store::RecordId::new("0123456789abcdef01234567"),
        customer_code: None,
        profile: Profile { time_zone: Some("Europe/Zurich".to_owned()), ..Profile::default() },
        at_ms: 1_763_600_000_000,
    };
    health.apply(change).await.unwrap();
}
