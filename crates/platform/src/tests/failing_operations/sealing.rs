//! Sealing whose object cannot be written or whose row is not committed.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::PatientId;
use vitals::registry::DataType;

use super::study::Study;
use crate::test_service::{NOON_MS, minutes_to_noon};

const DAY_MS: i64 = 86_400_000;
/// Everything of a month is sealed some hours after its end.
const MONTH_MS: i64 = 32 * DAY_MS;

/// Returns the times of all stored rows of a patient, µs.
async fn times_us(study: &Study, patient: &PatientId) -> Vec<i64> {
    let health = study.service.platform.core.health();
    let (from_us, to_us) = ((NOON_MS - DAY_MS) * 1000, (NOON_MS + DAY_MS) * 1000);
    let blocks = health.rows(patient, DataType::Activity, from_us, to_us).await.unwrap();
    blocks.iter().flat_map(|block| block.times_us.clone()).collect()
}

async fn two_patients(study: &Study) -> [PatientId; 2] {
    let patients = [study.patient().await, study.patient().await];
    for patient in &patients {
        study.service.sync(patient, vec![minutes_to_noon(&[60, 61, 62])]).await;
    }
    study.drain(&["derive"]).await;
    patients
}

#[tokio::test(flavor = "multi_thread")]
async fn period_whose_object_cannot_be_written_stays_readable_and_is_sealed_later() {
    let study = Study::begin().await;
    let core = &study.service.platform.core;
    let patients = two_patients(&study).await;
    let before = times_us(&study, &patients[0]).await;
    assert_eq!(before.len(), 3);
    study.service.pass_ms(MONTH_MS);
    let away = study.service.take_objects_away();
    study.drain(&["plan_sealing", "seal"]).await;
    assert_eq!(study.failing("seal").await, 2);
    assert_eq!(times_us(&study, &patients[0]).await, before);
    // What needs no object goes on.
    study.service.sync_minute(&patients[1]).await;
    assert_eq!(study.drain(&["derive"]).await, 1);
    away.bring_back();

    study.service.pass_ms(1_000);
    study.drain(&["seal"]).await;
    assert_eq!(study.failing("seal").await, 0);
    for patient in &patients {
        assert_eq!(times_us(&study, patient).await, before);
    }
    assert_eq!(core.objects().listed("v1").await.unwrap().len(), 2, "one object for each period");
}

#[tokio::test(flavor = "multi_thread")]
async fn period_whose_row_is_not_committed_is_sealed_again_and_no_row_is_twice() {
    for moment in [BeforeItBegins, AfterItCommits] {
        let study = Study::begin().await;
        let core = &study.service.platform.core;
        let patients = two_patients(&study).await;
        let before = times_us(&study, &patients[0]).await;
        study.service.pass_ms(MONTH_MS);
        study.break_health("segment.catalog.publish_segment", moment);
        study.drain(&["plan_sealing", "seal"]).await;
        study.assert_all_failed();
        assert_eq!(study.failing("seal").await, 1, "{moment:?}: the other patient's is sealed");
        for patient in &patients {
            assert_eq!(times_us(&study, patient).await, before, "{moment:?}");
        }

        study.service.pass_ms(1_000);
        study.drain(&["seal"]).await;
        assert_eq!(study.failing("seal").await, 0, "{moment:?}");
        for patient in &patients {
            assert_eq!(times_us(&study, patient).await, before, "{moment:?}");
        }
        let late_us = (core.now_ms() + MONTH_MS) * 1000;
        assert_eq!(core.health().unsealed_periods(late_us, 9).await.unwrap(), [], "{moment:?}");
    }
}
