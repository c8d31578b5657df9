//! Operations over both databases: each step fails in its turn, before it began or after it was committed.

use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::{FailureMoment, PatientState, Profile, SerialNumber};

use super::study::Study;
use crate::core::change::Change;
use crate::core::error::FieldFaults;
use crate::core::person::Person;
use crate::people::bracelets::NewBracelet;
use crate::people::enrolment::NewActivation;
use crate::people::groups::GroupChange;
use crate::people::news_settings::NewsSettingsChange;

const PATIENT_CREATE: &str = "PATIENT_CREATE";
const PATIENT_PROFILE_UPDATE: &str = "PATIENT_PROFILE_UPDATE";
const PATIENT_UPDATE: &str = "PATIENT_UPDATE";

#[tokio::test]
async fn enrolment_whose_first_commit_fails_leaves_nothing_to_deliver() {
    let study = Study::begin().await;
    let people = &study.service.platform.people;
    study.break_users("patients.add_patient", BeforeItBegins);
    study.assert_unavailable(people.enrol_patient(&study.researcher, &study.group).await);
    assert_eq!(study.undelivered().await, 0);
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(study.patients().await, []);
    assert_eq!(study.entries(PATIENT_CREATE).await, 0);
    study.patient().await;
    assert_eq!(study.entries(PATIENT_CREATE).await, 1);
}

/// Once a step has been committed the rest follows, whether its answer came or not; each entry is written once.
#[tokio::test]
async fn enrolment_that_breaks_off_after_its_first_commit_is_finished_by_delivery() {
    let users = |name: &'static str, moment| (true, name, moment);
    let health = |name: &'static str, moment| (false, name, moment);
    for (is_of_users, operation, moment) in [
        users("patients.add_patient", AfterItCommits),
        users("messages.messages_of", BeforeItBegins),
        health("changes.apply_numbered", BeforeItBegins),
        health("changes.apply_numbered", AfterItCommits),
        users("messages.complete", BeforeItBegins),
        users("messages.complete", AfterItCommits),
    ] {
        let study = Study::begin().await;
        let platform = &study.service.platform;
        if is_of_users {
            study.break_users(operation, moment);
        } else {
            study.break_health(operation, moment);
        }
        let answer = platform.people.enrol_patient(&study.researcher, &study.group).await;
        if operation == "patients.add_patient" {
            // Nobody has heard whether it was committed.
            study.assert_unavailable(answer);
        } else {
            // A client that is refused would enrol somebody else; what is left is made without it.
            answer.expect("enrolled");
            study.assert_all_failed();
        }
        // Others are enrolled meanwhile.
        let other = study.patient().await;
        let created = study.entries(PATIENT_CREATE).await;
        let is_complete = (operation, moment) == ("messages.complete", AfterItCommits);
        assert_eq!(created, 1 + usize::from(is_complete), "{operation} {moment:?}");
        assert_eq!(study.undelivered().await, usize::from(!is_complete));

        assert_eq!(study.deliver_left().await, 0, "{operation} {moment:?}");
        assert_eq!(study.deliver_left().await, 0);
        let patients = study.patients().await;
        assert_eq!((patients.len(), &patients[1]), (2, &other));
        assert!(platform.core.health().patient(&patients[0]).await.unwrap().is_some(), "{operation} {moment:?}");
        assert_eq!(study.entries(PATIENT_CREATE).await, 2, "{operation} {moment:?}");
        assert_eq!(study.undelivered().await, 0);
    }
}

/// The voucher is used up with the first commit: a patient who is refused could neither try again nor know that it worked.
#[tokio::test]
async fn activation_whose_change_cannot_be_made_is_answered_and_made_later() {
    let study = Study::begin().await;
    let people = &study.service.platform.people;
    let enrolled = people.enrol_patient(&study.researcher, &study.group).await.unwrap();
    let activation = || NewActivation {
        code: enrolled.voucher_code.clone(),
        password: "a lighthouse of copper".to_owned(),
        email: None,
        person: Person::default(),
        profile: Profile { weight: Some(61.0), ..Profile::default() },
        unreadable: FieldFaults::default(),
    };
    study.break_health("changes.apply_numbered", BeforeItBegins);
    let confirmed = people.activate(activation(), "::1").await.expect("activated");
    study.assert_all_failed();
    assert_eq!((confirmed.state(), study.weight_kg(&enrolled.uuid).await), (PatientState::Confirmed, None));
    assert!(people.activate(activation(), "::1").await.is_err(), "the voucher counts once");
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(study.weight_kg(&enrolled.uuid).await, Some(61.0));
    assert_eq!(study.undelivered().await, 0, "with its entry, which is the patient's and not the researcher's to read");
}

#[tokio::test]
async fn change_of_a_profile_whose_first_commit_fails_changes_neither_database() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.weigh(&grace, 60.0).await.unwrap();
    for operation in ["memberships.patient_access", "patients.patient", "patients.change_person"] {
        study.break_users(operation, BeforeItBegins);
        study.assert_unavailable(study.weigh(&grace, 61.0).await);
    }
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(study.first_name(&grace).await.as_deref(), Some("Grace 60"));
    assert_eq!(study.weight_kg(&grace).await, Some(60.0));
    assert_eq!(study.entries(PATIENT_PROFILE_UPDATE).await, 1);
}

#[tokio::test]
async fn later_change_delivers_the_one_before_it_first() {
    for moment in [BeforeItBegins, AfterItCommits] {
        let study = Study::begin().await;
        let (grace, hedy) = (study.patient().await, study.patient().await);
        study.break_health("changes.apply_numbered", moment);
        study.assert_unavailable(study.weigh(&grace, 60.0).await);
        assert_eq!(study.entries(PATIENT_PROFILE_UPDATE).await, 0, "no entry of what is not complete");
        study.weigh(&hedy, 70.0).await.unwrap();
        study.weigh(&grace, 61.0).await.unwrap();
        assert_eq!(study.weight_kg(&grace).await, Some(61.0));
        assert_eq!(study.entries(PATIENT_PROFILE_UPDATE).await, 3);
        assert_eq!(study.undelivered().await, 0);
        // Nothing is left that could put the older weight back.
        assert_eq!(study.deliver_left().await, 0);
        assert_eq!((study.weight_kg(&grace).await, study.weight_kg(&hedy).await), (Some(61.0), Some(70.0)));
    }
}

/// The entry of an earlier change waits; a later one is made all the same, and the entries follow in their order.
#[tokio::test]
async fn changes_are_made_while_entries_of_earlier_ones_cannot_be_written() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    for weight_kg in [60.0, 61.0, 62.0] {
        study.break_users("messages.complete", BeforeItBegins);
        study.weigh(&grace, weight_kg).await.expect("changed");
        study.assert_all_failed();
        assert_eq!(study.weight_kg(&grace).await, Some(weight_kg));
    }
    assert_eq!((study.undelivered().await, study.entries(PATIENT_PROFILE_UPDATE).await), (3, 0));
    study.break_users("messages.complete", BeforeItBegins);
    assert_eq!(study.deliver_left().await, 1, "the job says that it failed");
    study.service.pass_ms(1_000);
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!((study.undelivered().await, study.entries(PATIENT_PROFILE_UPDATE).await), (0, 3));
    assert_eq!(study.weight_kg(&grace).await, Some(62.0));
}

#[tokio::test]
async fn answer_that_cannot_be_read_back_leaves_the_change_in_force() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.break_health("devices.devices", BeforeItBegins);
    study.assert_unavailable(study.weigh(&grace, 60.0).await);
    assert_eq!(study.weight_kg(&grace).await, Some(60.0));
    assert_eq!((study.undelivered().await, study.entries(PATIENT_PROFILE_UPDATE).await), (0, 1));
    study.weigh(&grace, 60.0).await.unwrap();
    assert_eq!(study.weight_kg(&grace).await, Some(60.0), "the client may send it again");
}

#[tokio::test]
async fn delivery_that_fails_for_one_patient_goes_on_for_the_others() {
    let study = Study::begin().await;
    let mut patients = vec![study.patient().await, study.patient().await, study.patient().await];
    // In the order in which delivery goes through them.
    patients.sort_unstable();
    for patient in &patients {
        study.break_health("changes.apply_numbered", BeforeItBegins);
        study.assert_unavailable(study.weigh(patient, 60.0).await);
    }
    assert_eq!(study.undelivered().await, 3);

    study.break_health("changes.apply_numbered", BeforeItBegins);
    assert_eq!(study.deliver_left().await, 1, "the failure is seen");
    study.assert_all_failed();
    let mut weights = Vec::new();
    for patient in &patients {
        weights.push(study.weight_kg(patient).await);
    }
    assert_eq!(weights, [None, Some(60.0), Some(60.0)]);
    assert_eq!((study.undelivered().await, study.entries(PATIENT_PROFILE_UPDATE).await), (1, 2));

    assert_eq!(study.deliver_left().await, 0, "and forgotten when it has passed");
    assert_eq!(study.weight_kg(&patients[0]).await, Some(60.0));
    assert_eq!((study.undelivered().await, study.entries(PATIENT_PROFILE_UPDATE).await), (0, 3));
}

#[tokio::test]
async fn news_settings_are_delivered_with_one_entry_and_hold_from_when_they_were_set() {
    let study = Study::begin().await;
    let people = &study.service.platform.people;
    let grace = study.patient().await;
    let oxygen = NewsSettingsChange { oxygen: Change::Set(true), ..NewsSettingsChange::default() };
    study.break_users("messages.enqueue", BeforeItBegins);
    study.assert_unavailable(people.change_news_settings(&study.researcher, &grace, &oxygen).await);
    assert_eq!(study.deliver_left().await, 0);
    assert!(!people.news_settings(&study.researcher, &grace).await.unwrap().settings.oxygen, "never set");

    study.break_users("messages.complete", BeforeItBegins);
    people.change_news_settings(&study.researcher, &grace, &oxygen).await.expect("changed");
    study.assert_all_failed();
    let before = study.entries(PATIENT_UPDATE).await;
    assert_eq!((before, study.deliver_left().await), (0, 0));
    assert!(people.news_settings(&study.researcher, &grace).await.unwrap().settings.oxygen);
    assert_eq!(study.entries(PATIENT_UPDATE).await, 1);
}

#[tokio::test]
async fn bracelet_is_worn_in_both_databases_or_in_none() {
    let study = Study::begin().await;
    let (people, health) = (&study.service.platform.people, study.service.platform.core.health());
    let (grace, hedy) = (study.patient().await, study.patient().await);
    let serial_number = SerialNumber::new("B-1");
    let new =
        NewBracelet { serial_number: serial_number.clone(), device_type: "band".to_owned(), firmware_version: None };
    people.register_bracelet(&study.researcher, new).await.unwrap();

    study.break_users("bracelets.attach_bracelet", BeforeItBegins);
    study.assert_unavailable(people.attach_bracelet(&study.researcher, &grace, &serial_number).await);
    people.attach_bracelet(&study.researcher, &hedy, &serial_number).await.expect("free for another patient");
    people.detach_bracelet(&study.researcher, &hedy, &serial_number).await.unwrap();

    study.break_health("changes.apply_numbered", BeforeItBegins);
    study.assert_unavailable(people.attach_bracelet(&study.researcher, &grace, &serial_number).await);
    let taken = people.attach_bracelet(&study.researcher, &hedy, &serial_number).await;
    assert!(taken.is_err(), "the users database has given it to another patient");
    assert_eq!(study.deliver_left().await, 0);
    assert_eq!(health.devices(&grace).await.unwrap().len(), 1);
    assert_eq!(health.devices(&hedy).await.unwrap(), []);
    assert_eq!(study.entries("BRACELET_ATTACH").await, 2);
}

/// The entry is written in the transaction of what it is about, so the two fail together.
#[tokio::test]
async fn change_in_one_database_has_its_entry_or_was_not_made() {
    let study = Study::begin().await;
    let people = &study.service.platform.people;
    let rename = |name: &str| GroupChange { name: Change::Set(name.to_owned()), description: Change::Kept };
    let name_after = async |moment: FailureMoment, name: &str| {
        study.break_users("groups.change_group", moment);
        study.assert_unavailable(people.change_group(&study.researcher, &study.group, rename(name)).await);
        let groups = people.groups(&study.researcher).await.unwrap();
        (groups[0].name.clone(), study.entries("GROUP_UPDATE").await)
    };
    assert_eq!(name_after(BeforeItBegins, "Lost").await, ("Study".to_owned(), 0));
    assert_eq!(name_after(AfterItCommits, "Kept").await, ("Kept".to_owned(), 1));
}
