//! What fails of one patient stops nobody else's work.

use store::segment::SealedPeriod;
use store::{DamageTarget, FailingJobs, HealthChange, HealthDb, NotePosition, PatientId, Sync};
use vitals::block::Block;
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::drain;
use super::tests::{ADA, DAY_MS, GRACE, rows};
use crate::core::settings::RETENTION_SETTING;
use crate::test_service::{NOON_MS, Service};
use crate::upkeep::seal::Until;

async fn keep_97_days(health: &HealthDb, patient: &str) {
    let rule = serde_json::json!({ RETENTION_SETTING.name(): {"activity": 97} });
    let (uuid, values) = (PatientId::new(patient), rule.as_object().unwrap().clone());
    health.apply(HealthChange::SetSettings { uuid, values, at_ms: NOON_MS }).await.unwrap();
}

#[tokio::test]
async fn damaged_rule_of_one_patient_stops_no_retention_of_others() {
    let service = Service::start().await;
    let platform = &service.platform;
    let health = platform.core.health();
    for patient in [ADA, GRACE] {
        service.enrol(&PatientId::new(patient)).await;
        service.sync(&PatientId::new(patient), vec![rows(100)]).await;
        keep_97_days(health, patient).await;
    }
    health.damage(&PatientId::new(ADA), DamageTarget::Settings).await.unwrap();
    drain(&platform.upkeep, &["plan_retention", "enforce_retention"]).await.unwrap();
    let count = async |patient: &str| {
        let blocks = health.rows(&PatientId::new(patient), DataType::Activity, 0, i64::MAX / 2).await.unwrap();
        blocks.iter().map(Block::rows).sum::<usize>()
    };
    assert_eq!((count(GRACE).await, count(ADA).await), (0, 10));
    let failing = platform.upkeep.failing_jobs().await.unwrap();
    let expected = FailingJobs { kind: "plan_retention".to_owned(), failing: 1, put_aside: 0 };
    assert_eq!(failing, [expected], "an operator sees that something is kept");
}

/// The period is sealed by another node each time that retention has read it.
#[tokio::test]
async fn retention_that_loses_a_period_to_its_sealing_comes_again() {
    let service = Service::start().await;
    let platform = &service.platform;
    let health = platform.core.health();
    let ada = PatientId::new(ADA);
    service.enrol(&ada).await;
    service.sync(&ada, vec![rows(100), rows(95)]).await;
    platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
    keep_97_days(health, ADA).await;
    for minute in 1..=3 {
        let (platform, ada) = (platform.clone(), ada.clone());
        let mut late = rows(95);
        late.times_us.iter_mut().for_each(|time_us| *time_us += minute * 3_600_000_000);
        let sealing = async move {
            let sync = Sync { patient: ada, received_ms: NOON_MS, id: None, device: None, blocks: vec![late] };
            platform.core.health().store_sync(sync).await.unwrap();
            platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
        };
        health.plan_meanwhile("segment.catalog.publish_segment", Box::pin(sealing));
        // What the sealing itself publishes.
        health.plan_meanwhile("segment.catalog.publish_segment", Box::pin(async {}));
    }
    drain(&platform.upkeep, &["plan_retention", "enforce_retention"]).await.unwrap();
    assert!(health.failures_to_come().is_empty());
    let period = SealedPeriod::of(DataType::Activity, (NOON_MS - 95 * DAY_MS) * 1000);
    let segment = health.segment_of(&ada, DataType::Activity, period).await.unwrap().unwrap();
    assert!(segment.object.first_us > (NOON_MS - 97 * DAY_MS) * 1000, "rows are kept that the rule retires");
}

/// The sealed files of a patient.
async fn files_of(service: &Service, patient: &str) -> Vec<std::path::PathBuf> {
    let objects = service.platform.core.objects();
    let listed = objects.listed("v1").await.unwrap();
    let of_patient = listed.into_iter().filter(|object| object.path.contains(patient));
    of_patient.map(|object| objects.as_folder().unwrap().join(object.path)).collect()
}

/// More of one patient than are looked up at once wait for a file, and those of another are behind them.
#[tokio::test]
async fn rows_that_wait_for_the_file_of_one_patient_keep_no_others_from_being_compared() {
    const WAITING: i64 = 513;
    let service = Service::start().await;
    let platform = &service.platform;
    for patient in [ADA, GRACE] {
        service.enrol(&PatientId::new(patient)).await;
        service.sync(&PatientId::new(patient), vec![rows(100)]).await;
    }
    platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
    let files = [files_of(&service, ADA).await.remove(0), files_of(&service, GRACE).await.remove(0)];
    for file in &files {
        std::fs::rename(file, file.with_extension("away")).unwrap();
    }
    for (patient, syncs) in [(ADA, WAITING), (GRACE, 1)] {
        for second in 1..=syncs {
            let mut late = Block::empty(DataType::Activity, Channel::default());
            late.times_us = vec![(NOON_MS - 100 * DAY_MS + second * 1_000) * 1000];
            late.zones = ZoneRuns::constant("UTC".into(), 1);
            service.sync(&PatientId::new(patient), vec![late]).await;
        }
    }
    let waiting = async || {
        let noted = platform.core.health().unverified_rows(NotePosition::default(), 2 * WAITING).await.unwrap().notes;
        [ADA, GRACE].map(|patient| noted.iter().filter(|note| note.patient.as_str() == patient).count())
    };
    assert_eq!(waiting().await, [513, 1]);
    std::fs::rename(files[1].with_extension("away"), &files[1]).unwrap();
    drain(&platform.upkeep, &["verify_rows"]).await.unwrap();
    assert_eq!(waiting().await, [513, 0]);
    std::fs::rename(files[0].with_extension("away"), &files[0]).unwrap();
    service.pass_ms(60_000);
    drain(&platform.upkeep, &["verify_rows"]).await.unwrap();
    assert_eq!(waiting().await, [0, 0]);
}

/// Of more types than periods may fail one after the other.
#[tokio::test]
async fn periods_of_one_patient_that_cannot_be_sealed_end_no_sealing_of_others() {
    let service = Service::start().await;
    let platform = &service.platform;
    let (ada, grace) = (PatientId::new(ADA), PatientId::new(GRACE));
    let types: Vec<DataType> = DataType::ALL.into_iter().take(10).collect();
    assert_eq!(types.len(), 10);
    for patient in [&ada, &grace] {
        service.enrol(patient).await;
    }
    let block = |data_type: DataType| {
        let mut block = Block::empty(data_type, Channel::default());
        block.times_us = vec![(NOON_MS - 100 * DAY_MS) * 1000];
        block.zones = ZoneRuns::constant("UTC".into(), 1);
        block
    };
    service.sync(&ada, types.into_iter().map(block).collect()).await;
    service.sync(&grace, vec![rows(60)]).await;
    platform.core.health().damage(&ada, DamageTarget::Chunks).await.unwrap();
    let mut sealed = Vec::new();
    let failed = platform.upkeep.seal(Until::Now, |segment| sealed.push(segment.rows)).await;
    assert!(failed.is_err_and(|error| error.to_string().contains("damaged")));
    assert_eq!(sealed, [10], "grace");
}
