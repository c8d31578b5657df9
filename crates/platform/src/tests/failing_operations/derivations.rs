//! Derivations whose reads or commits fail, while those of other patients go on.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::{PatientId, Retirement};
use vitals::registry::DataType;
use vitals::zone::DAY_US;

use super::study::Study;
use crate::test_service::{NOON_MS, minutes_to_noon};

/// Whether a day of a patient is derived; latest values come with the sync already.
async fn has_day(study: &Study, patient: &PatientId) -> bool {
    study.service.day_json(patient).await["heart_rate"] != serde_json::json!({})
}

#[tokio::test(flavor = "multi_thread")]
async fn derivation_whose_read_fails_is_tried_again_and_the_others_are_derived() {
    for operation in ["inputs.derivation_start", "inputs.derivation_inputs"] {
        let study = Study::begin().await;
        let patients = [study.patient().await, study.patient().await, study.patient().await];
        for patient in &patients {
            study.service.sync(patient, vec![minutes_to_noon(&[60, 61, 62])]).await;
        }
        study.break_health(operation, BeforeItBegins);
        assert_eq!(study.drain(&["derive"]).await, 3);
        study.assert_all_failed();
        assert_eq!(study.failing("derive").await, 1, "{operation}");
        let mut derived = 0;
        for patient in &patients {
            derived += usize::from(has_day(&study, patient).await);
        }
        assert_eq!(derived, 2, "{operation}");

        assert_eq!(study.drain(&["derive"]).await, 0, "not at once: the store may be away");
        study.service.pass_ms(1_000);
        assert_eq!(study.drain(&["derive"]).await, 1);
        assert_eq!(study.failing("derive").await, 0);
        for patient in &patients {
            assert!(has_day(&study, patient).await, "{operation}");
        }
    }
}

/// The commit of one patient's derivations fails: all of it is missing or all of it is there.
#[tokio::test(flavor = "multi_thread")]
async fn derivation_whose_commit_fails_leaves_all_or_nothing_and_ends_the_same() {
    let expected = {
        let study = Study::begin().await;
        let grace = study.patient().await;
        study.service.sync(&grace, vec![minutes_to_noon(&[60, 61, 62])]).await;
        study.drain(&["derive"]).await;
        study.service.day_json(&grace).await
    };
    for (moment, is_there) in [(BeforeItBegins, false), (AfterItCommits, true)] {
        let study = Study::begin().await;
        let grace = study.patient().await;
        study.service.sync(&grace, vec![minutes_to_noon(&[60, 61, 62])]).await;
        study.break_health("commit.commit_derivations", moment);
        study.drain(&["derive"]).await;
        study.assert_all_failed();
        assert_eq!(has_day(&study, &grace).await, is_there, "{moment:?}");
        assert_eq!(study.failing("derive").await, u64::from(!is_there), "{moment:?}: what is done has not failed");

        // Longer than a lease: what has lost its answer may wait for that.
        study.service.pass_ms(10 * 60_000);
        study.drain(&["derive"]).await;
        assert_eq!(study.service.day_json(&grace).await, expected, "{moment:?}");
        assert_eq!(study.drain(&["derive"]).await, 0, "{moment:?}: nothing is left to do");
        assert_eq!(study.failing("derive").await, 0, "{moment:?}");
    }
}

/// A recomputation holds a patient for minutes: one that fails must leave them to the next one.
#[tokio::test(flavor = "multi_thread")]
async fn recomputation_that_fails_leaves_the_patient_free() {
    for operation in ["inputs.derivation_start", "commit.commit_derivations", "derived.sound_derived"] {
        let study = Study::begin().await;
        let grace = study.patient().await;
        study.service.sync(&grace, vec![minutes_to_noon(&[60, 61, 62])]).await;
        let data = &study.service.platform.data;
        study.break_health(operation, BeforeItBegins);
        study.assert_unavailable(data.recompute(Some(&grace), |_, _| {}).await);
        study.assert_all_failed();
        let again = data.recompute(Some(&grace), |_, _| {}).await;
        assert!(again.is_ok(), "{operation}: {again:?}");
        assert!(has_day(&study, &grace).await, "{operation}");
    }
}

/// Timeline: a derivation or a recomputation has read from when on rows are kept, retention removes them, and the windows
/// of which they were look empty.
#[tokio::test(flavor = "multi_thread")]
async fn retention_that_comes_while_values_are_computed_leaves_what_was_derived() {
    let of_derivation = ["inputs.derivation_inputs", "commit.commit_derivations"];
    let of_recomputation = ["derived.sound_derived", "reader.rows", "commit.commit_derivations"];
    let derivations = of_derivation.map(|operation| (operation, false));
    for (operation, is_recomputed) in derivations.into_iter().chain(of_recomputation.map(|operation| (operation, true)))
    {
        let study = Study::begin().await;
        let grace = study.patient().await;
        study.service.sync(&grace, vec![minutes_to_noon(&[60, 61, 62])]).await;
        study.drain(&["derive"]).await;
        let before = study.service.day_json(&grace).await;
        let health = study.service.platform.core.health().clone();
        let entries = health.news_between(&grace, i64::MIN, i64::MAX).await.unwrap();
        assert!(!entries.is_empty());

        let before_us = NOON_MS * 1000 + DAY_US / 2;
        let retirement = Retirement { patient: grace.clone(), data_type: DataType::Activity, before_us };
        let retiring = health.clone();
        let meanwhile = async move { retiring.retire(&retirement, None, NOON_MS, 7).await.unwrap() };
        if is_recomputed {
            health.plan_meanwhile(operation, Box::pin(meanwhile));
            study.service.platform.data.recompute(Some(&grace), |_, _| {}).await.unwrap();
        } else {
            study.weigh(&grace, 77.0).await.unwrap();
            health.plan_meanwhile(operation, Box::pin(meanwhile));
            study.drain(&["derive"]).await;
        }
        study.assert_all_failed();
        study.drain(&["derive"]).await;
        assert_eq!(study.service.day_json(&grace).await, before, "{operation}");
        assert_eq!(health.news_between(&grace, i64::MIN, i64::MAX).await.unwrap(), entries, "{operation}");
        assert_eq!(study.service.platform.data.patients_due().await.unwrap(), 0, "{operation}");
    }
}
