//! Derivations whose reads or commits fail, while those of other patients go on.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::PatientId;

use super::study::Study;
use crate::test_service::minutes_to_noon;

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
