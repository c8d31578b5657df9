//! Erasure breaks off at each of its steps.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};

use super::study::Study;

const PATIENT_DELETE: &str = "PATIENT_DELETE";

#[tokio::test]
async fn erasure_whose_first_commit_fails_erases_nothing_later() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.service.sync_minute(&grace).await;
    study.break_users("erasure.erase_patient", BeforeItBegins);
    study.assert_unavailable(study.service.platform.people.erase_patient(&study.researcher, &grace).await);
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(study.patients().await, std::slice::from_ref(&grace));
    assert_eq!(study.drain(&["derive"]).await, 1);
    assert!(study.service.heart_rate(&grace).await.is_some());
    assert_eq!(study.entries(PATIENT_DELETE).await, 0);
}

#[tokio::test]
async fn erasure_that_breaks_off_is_finished_by_delivery_with_one_entry() {
    for (database, operation, moment) in [
        ("users", "erasure.erase_patient", AfterItCommits),
        ("health", "erasure.erase_rows", BeforeItBegins),
        ("health", "erasure.erase_rows", AfterItCommits),
        ("health", "erasure.erase_objects", BeforeItBegins),
        ("users", "messages.complete", BeforeItBegins),
    ] {
        let study = Study::begin().await;
        let platform = &study.service.platform;
        let (grace, hedy) = (study.patient().await, study.patient().await);
        for patient in [&grace, &hedy] {
            study.service.sync_minute(patient).await;
        }
        if database == "users" {
            study.break_users(operation, moment);
        } else {
            study.break_health(operation, moment);
        }
        study.assert_unavailable(platform.people.erase_patient(&study.researcher, &grace).await);
        assert_eq!(study.patients().await, std::slice::from_ref(&hedy), "{operation}: out of the study at once");
        assert_eq!(study.entries(PATIENT_DELETE).await, 0, "{operation}: no proof of what is not done");

        assert_eq!(study.deliver_left().await, 0, "{operation}");
        let mark = platform.core.health().erased_patient(&grace).await.unwrap().expect("a mark");
        assert_eq!(mark.counts["samples"], 1, "{operation}");
        assert_eq!(study.service.heart_rate(&grace).await, None);
        study.drain(&["derive"]).await;
        assert!(study.service.heart_rate(&hedy).await.is_some(), "{operation}: others' data stay");
        assert_eq!(study.entries(PATIENT_DELETE).await, 1, "{operation}");
        let receipt = platform.people.erase_patient_as_operator(&grace).await.unwrap();
        assert_eq!(receipt.counts["samples"], 1, "{operation}: the receipt can be had later");
        assert_eq!(study.entries(PATIENT_DELETE).await, 1, "{operation}");
    }
}

/// The list of the erased comes before anything is deleted: a restored backup depends on it.
#[tokio::test]
async fn erasure_without_the_object_store_deletes_no_row_until_the_list_is_written() {
    let study = Study::begin().await;
    let platform = &study.service.platform;
    let grace = study.patient().await;
    study.service.sync_minute(&grace).await;
    let away = study.service.take_objects_away();
    study.assert_unavailable(platform.people.erase_patient(&study.researcher, &grace).await);
    assert_eq!(study.deliver_left().await, 1, "the failure is seen");
    assert!(platform.core.health().erased_patient(&grace).await.unwrap().is_none());
    assert_eq!(study.entries(PATIENT_DELETE).await, 0);
    away.bring_back();
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(platform.core.objects().erased().await.unwrap(), std::slice::from_ref(&grace));
    assert!(platform.core.health().erased_patient(&grace).await.unwrap().is_some());
    assert_eq!(study.entries(PATIENT_DELETE).await, 1);
}
