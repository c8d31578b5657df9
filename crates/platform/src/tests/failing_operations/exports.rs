//! Exports of which a step fails between the request and the archive.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::{ExportId, ExportState, PatientId};
use vitals::registry::DataType;

use super::study::Study;
use crate::core::error::{PlatformError, Result};
use crate::data::exports::ExportRequest;
use crate::test_service::{NOON_MS, minutes_to_noon};

const DAY_MS: i64 = 86_400_000;
const API_EXPORT: &str = "PATIENT_API_EXPORT";

async fn patient_with_rows(study: &Study) -> PatientId {
    let patient = study.patient().await;
    study.service.sync(&patient, vec![minutes_to_noon(&[60, 61, 62])]).await;
    patient
}

async fn ask(study: &Study, patient: &PatientId) -> Result<ExportId> {
    let request = ExportRequest::new(&[DataType::Activity], NOON_MS - DAY_MS, NOON_MS + DAY_MS);
    study.service.platform.data.create_export(&study.researcher, patient, &request).await
}

/// Runs what is due of exports; returns how many archives there are then.
async fn archives(study: &Study) -> usize {
    study.drain(&["export"]).await;
    study.service.platform.core.objects().listed("exports").await.unwrap().len()
}

#[tokio::test]
async fn export_that_was_not_begun_takes_no_turn_and_writes_no_entry() {
    let study = Study::begin().await;
    let grace = patient_with_rows(&study).await;
    study.break_health("exports.begin_export", BeforeItBegins);
    study.assert_unavailable(ask(&study, &grace).await);
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!((archives(&study).await, study.entries(API_EXPORT).await), (0, 0));
    ask(&study, &grace).await.expect("the turn was not used up");
    assert_eq!((archives(&study).await, study.entries(API_EXPORT).await), (1, 1));
}

#[tokio::test]
async fn export_is_written_only_after_its_entry_and_the_entry_once() {
    for (database, operation, moment, entries_before) in [
        ("health", "exports.begin_export", AfterItCommits, 0),
        ("health", "messages.entries_of", BeforeItBegins, 0),
        ("users", "messages.take_entries", BeforeItBegins, 0),
        ("users", "messages.take_entries", AfterItCommits, 1),
        ("health", "messages.entries_taken", BeforeItBegins, 1),
    ] {
        let study = Study::begin().await;
        let grace = patient_with_rows(&study).await;
        if database == "users" {
            study.break_users(operation, moment);
        } else {
            study.break_health(operation, moment);
        }
        study.assert_unavailable(ask(&study, &grace).await);
        let expected = (0, entries_before);
        assert_eq!((archives(&study).await, study.entries(API_EXPORT).await), expected, "{operation}");
        let too_soon = ask(&study, &grace).await;
        assert!(
            matches!(too_soon, Err(PlatformError::ExportTooSoon { interval_s: 300, .. })),
            "{operation}: {too_soon:?}"
        );

        assert_eq!(study.deliver_left().await, 0, "{operation}");
        assert_eq!((archives(&study).await, study.entries(API_EXPORT).await), (1, 1), "{operation}");
        assert_eq!(study.undelivered().await, 0, "{operation}");
    }
}

#[tokio::test]
async fn archive_that_cannot_be_written_is_written_later_and_others_meanwhile() {
    let study = Study::begin().await;
    let core = &study.service.platform.core;
    let (grace, hedy) = (patient_with_rows(&study).await, patient_with_rows(&study).await);
    let is_done = async |id: &ExportId| {
        matches!(core.health().export(id).await.unwrap().unwrap().state, ExportState::Done { .. })
    };
    let first = ask(&study, &grace).await.unwrap();
    let away = study.service.take_objects_away();
    study.drain(&["export"]).await;
    assert_eq!((study.failing("export").await, is_done(&first).await), (1, false));
    away.bring_back();

    let second = ask(&study, &hedy).await.unwrap();
    study.drain(&["export"]).await;
    assert_eq!((is_done(&first).await, is_done(&second).await), (false, true), "the first waits for its turn");
    study.service.pass_ms(1_000);
    study.drain(&["export"]).await;
    assert!(is_done(&first).await);
    assert_eq!(study.failing("export").await, 0);
    assert_eq!(study.entries(API_EXPORT).await, 2);
}

#[tokio::test]
async fn archive_that_is_not_noted_as_finished_is_written_again() {
    let study = Study::begin().await;
    let core = &study.service.platform.core;
    let grace = patient_with_rows(&study).await;
    let id = ask(&study, &grace).await.unwrap();
    study.break_health("exports.finish_export", BeforeItBegins);
    study.drain(&["export"]).await;
    study.assert_all_failed();
    assert_eq!(study.failing("export").await, 1);
    study.service.pass_ms(1_000);
    study.drain(&["export"]).await;
    let ExportState::Done { path, .. } = core.health().export(&id).await.unwrap().unwrap().state else {
        panic!("the export is not done");
    };
    assert!(core.objects().size(&path).await.unwrap().is_some(), "the archive that the row names is there");
}
