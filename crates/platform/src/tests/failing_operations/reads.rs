//! Answers that are composed of several reads: whichever fails, there is no half of an answer.

use store::FailureMoment::BeforeItBegins;

use super::study::Study;
use crate::core::access::Readable;
use crate::data::patient_rows::PatientColumns;
use crate::data::summaries::DayParts;
use vitals::zone::LocalDay;

const ALL: PatientColumns = PatientColumns { person: true, profile: true, device: true, latest_values: true };

#[tokio::test]
async fn list_of_patients_fails_with_whichever_read_fails_and_then_is_whole() {
    let study = Study::begin().await;
    let data = &study.service.platform.data;
    let patients = [study.patient().await, study.patient().await];
    for patient in &patients {
        study.weigh(patient, 60.0).await.unwrap();
        study.service.sync_minute(patient).await;
    }
    study.drain(&["derive"]).await;
    study.break_users("patients.patients", BeforeItBegins);
    study.assert_unavailable(data.patient_rows(Readable::for_test(&patients), ALL).await.map(|rows| rows.len()));
    for operation in ["patients.patients", "devices.newest_devices", "latest.latest_of_patients"] {
        study.break_health(operation, BeforeItBegins);
        study.assert_unavailable(data.patient_rows(Readable::for_test(&patients), ALL).await.map(|rows| rows.len()));
        // A list that does not ask for the column would not have failed; nothing of the failure stays.
        let rows = data.patient_rows(Readable::for_test(&patients), ALL).await.unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.profile.weight, Some(60.0), "{operation}");
            assert!(row.latest_values.is_some_and(|values| values.heart_rate.is_some()), "{operation}");
        }
    }
}

#[tokio::test]
async fn read_that_is_not_asked_for_cannot_fail_a_list() {
    let study = Study::begin().await;
    let patients = [study.patient().await];
    for operation in ["patients.patients", "devices.newest_devices", "latest.latest_of_patients"] {
        study.break_health(operation, BeforeItBegins);
    }
    let names = PatientColumns { profile: false, device: false, latest_values: false, ..ALL };
    assert_eq!(study.service.platform.data.patient_rows(Readable::for_test(&patients), names).await.unwrap().len(), 1);
    assert_eq!(study.service.platform.core.health().failures_to_come().len(), 3, "none of them was read");
}

#[tokio::test]
async fn days_of_patients_fail_with_either_read_and_then_are_whole() {
    let study = Study::begin().await;
    let data = &study.service.platform.data;
    let grace = study.patient().await;
    study.service.sync_minute(&grace).await;
    study.drain(&["derive"]).await;
    let day = LocalDay::parse("2025-11-20").unwrap();
    let parts = DayParts { slots: true, extra: true };
    let before = study.service.day_json(&grace).await;
    assert!(before["heart_rate"]["slots"].is_array(), "{before}");
    for operation in ["slots.slots_of_patients", "derived.derived_of_patients"] {
        study.break_health(operation, BeforeItBegins);
        let patients = Readable::for_test(std::slice::from_ref(&grace));
        study.assert_unavailable(data.days_of_patients(patients, day, parts).await.map(|days| days.len()));
        assert_eq!(study.service.day_json(&grace).await, before, "{operation}");
    }
}

#[tokio::test]
async fn access_that_cannot_be_checked_is_not_granted() {
    let study = Study::begin().await;
    let (core, people) = (&study.service.platform.core, &study.service.platform.people);
    let grace = study.patient().await;
    study.break_users("memberships.patient_access", BeforeItBegins);
    study.assert_unavailable(people.news_settings(&study.researcher, &grace).await.map(drop));
    study.break_users("memberships.group_access", BeforeItBegins);
    study.assert_unavailable(core.readable_members(&study.researcher, &study.group).await.map(drop));
    assert_eq!(study.patients().await, [grace]);
}
