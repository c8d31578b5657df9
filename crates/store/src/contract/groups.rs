//! Groups: their members, their patients and their settings, and the order of changes that they enqueue.

use serde_json::{Map, Value, json};

use super::example_rows::{account, group, message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::ids::PatientId;
use crate::{
    AccountId, EffectiveSettings, GroupCode, GroupDeletion, HealthChange, HealthMessage, MemberRemoval,
    PatientDetachment, Profile, Role, SettingsOfGroup, StoreError,
};

on_both_engines! {
    a_group_is_changed_and_goes_when_it_is_empty
    a_group_keeps_somebody_who_manages_it
    a_patient_is_in_one_group_at_least
    settings_follow_the_groups_of_a_patient
    changes_of_a_patient_are_made_in_their_order
}

/// Returns the goal of the first group.
fn first_goal(groups: &[SettingsOfGroup]) -> Map<String, Value> {
    let goal = groups.first().and_then(|group| group.settings.get("goal")).cloned();
    Map::from_iter([("goal".to_owned(), goal.unwrap_or_default())])
}

fn goals(at_ms: i64) -> EffectiveSettings {
    EffectiveSettings { rule: first_goal, at_ms }
}

async fn a_group_is_changed_and_goes_when_it_is_empty(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    let changed = users
        .change_group(&GroupCode::new("AAAAA"), None, Some("new".to_owned()), audit(Vec::new(), 0))
        .await
        .expect("changed");
    let expected = crate::Group { description: "new".to_owned(), ..group("AAAAA", 0) };
    assert_eq!(changed, expected);
    let unknown = users.change_group(&GroupCode::new("ZZZZZ"), None, None, audit(Vec::new(), 0)).await;
    assert!(matches!(unknown, Err(StoreError::Gone("group"))));

    users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let delete = async |code: &str| users.delete_group(&GroupCode::new(code), audit(Vec::new(), 0)).await;
    assert_eq!(delete("AAAAA").await.expect("an answer"), GroupDeletion::HasPatients);
    let values = Map::from_iter([("goal".to_owned(), json!(5))]);
    users.set_group_settings(&GroupCode::new("BBBBB"), values, goals(1), audit(Vec::new(), 0)).await.expect("set");
    assert_eq!(delete("BBBBB").await.expect("an answer"), GroupDeletion::Deleted);
    assert!(matches!(delete("BBBBB").await, Err(StoreError::Gone("group"))));
    assert!(users.group_settings(&GroupCode::new("BBBBB")).await.expect("a list").is_empty());
    assert_eq!(users.groups_of(&AccountId::new("uuid-ada"), None).await.expect("a list"), [expected]);
}

async fn a_group_keeps_somebody_who_manages_it(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let users = &stores.users;
    let hcp = crate::Account { role: Role::Hcp, ..account("hal") };
    for new in [account("bob"), hcp] {
        users.add_account(new).await.expect("an account");
    }
    let admit = async |name: &str| {
        users
            .admit_member(&AccountId::new(name), &GroupCode::new("AAAAA"), 5, audit(Vec::new(), 0))
            .await
            .expect("an answer")
    };
    let remove = async |name: &str| {
        users.remove_member(&AccountId::new(name), &GroupCode::new("AAAAA"), message(name, 0)).await.expect("an answer")
    };
    assert_eq!((admit("uuid-hal").await, admit("uuid-hal").await), (true, false));
    assert_eq!(remove("uuid-ada").await, MemberRemoval::LastManager);
    assert_eq!(remove("uuid-bob").await, MemberRemoval::NoMember);
    assert!(admit("uuid-bob").await);
    assert_eq!(remove("uuid-ada").await, MemberRemoval::Removed);
    assert_eq!(remove("uuid-hal").await, MemberRemoval::Removed);
    let left: Vec<String> = users
        .members(&GroupCode::new("AAAAA"))
        .await
        .expect("a list")
        .into_iter()
        .map(|member| member.uuid.to_string())
        .collect();
    assert_eq!(left, ["uuid-bob"]);
}

fn readers_end(id: &str) -> HealthMessage {
    let change = HealthChange::EndReadersOfPatient { uuid: PatientId::new("uuid-grace"), at_ms: 0 };
    HealthMessage { change, ..message(id, 0) }
}

async fn a_patient_is_in_one_group_at_least(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let attach = async |patient: &str| {
        users.attach_patient(&GroupCode::new("BBBBB"), &PatientId::new(patient), goals(9), audit(Vec::new(), 0)).await
    };
    let detach = async |code: &str, id: &str| {
        users
            .detach_patient(&GroupCode::new(code), &PatientId::new("uuid-grace"), goals(10), readers_end(id))
            .await
            .expect("an answer")
    };
    assert_eq!(detach("AAAAA", "d1").await, PatientDetachment::LastGroup);
    assert_eq!(detach("BBBBB", "d2").await, PatientDetachment::NotHeld);
    assert!(attach("uuid-grace").await.expect("an answer"));
    assert!(!attach("uuid-grace").await.expect("an answer"));
    assert!(matches!(attach("uuid-nobody").await, Err(StoreError::Gone("patient"))));
    assert_eq!(detach("AAAAA", "d3").await, PatientDetachment::Detached);
    assert_eq!(
        users.first_group_of(&PatientId::new("uuid-grace")).await.expect("an answer"),
        Some(GroupCode::new("BBBBB"))
    );
}

async fn settings_follow_the_groups_of_a_patient(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    let set = async |code: &str, goal: i64, at_ms: i64| {
        let values = Map::from_iter([("goal".to_owned(), json!(goal))]);
        let effective = goals(at_ms);
        users.set_group_settings(&GroupCode::new(code), values, effective, audit(Vec::new(), 0)).await.expect("set")
    };
    assert!(set("AAAAA", 1, 1).await.is_empty());
    users.add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 2), goals(2)).await.expect("a patient");
    assert_eq!(set("AAAAA", 3, 3).await, [PatientId::new("uuid-grace")]);
    users
        .attach_patient(&GroupCode::new("BBBBB"), &PatientId::new("uuid-grace"), goals(4), audit(Vec::new(), 0))
        .await
        .expect("attached");
    set("BBBBB", 5, 5).await;
    users
        .detach_patient(&GroupCode::new("AAAAA"), &PatientId::new("uuid-grace"), goals(6), readers_end("r"))
        .await
        .expect("detached");
    let undelivered = users.messages_of(&PatientId::new("uuid-grace")).await.expect("a list");
    let settings = undelivered.iter().filter_map(|undelivered| match &undelivered.change {
        HealthChange::SetSettings { values, at_ms, .. } => Some((*at_ms, values["goal"].clone())),
        _ => None,
    });
    let expected = [(2, json!(1)), (3, json!(3)), (4, json!(3)), (5, json!(3)), (6, json!(5))];
    assert_eq!(settings.collect::<Vec<_>>(), expected);
    // Events of the same patient lie between them.
    assert_eq!(undelivered.iter().map(|undelivered| undelivered.key.sequence).collect::<Vec<_>>(), [2, 3, 5, 6, 8, 9]);

    // Making them leaves a row for each time at which the value changed.
    let put = HealthChange::PutPatient {
        uuid: PatientId::new("uuid-grace"),
        record_id: crate::ids::RecordId::new(""),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(put).await.expect("made");
    for undelivered in undelivered.iter().chain(&undelivered) {
        stores.health.apply_numbered(undelivered.change.clone(), undelivered.key.sequence).await.expect("made");
    }
    let rows = stores.health.patient_settings(&PatientId::new("uuid-grace")).await.expect("a list");
    let rows: Vec<_> = rows.into_iter().map(|row| (row.valid_from_ms, row.body)).collect();
    assert_eq!(rows, [(2, "1".to_owned()), (3, "3".to_owned()), (6, "5".to_owned())]);
}

async fn changes_of_a_patient_are_made_in_their_order(stores: Stores) {
    let weight = |weight: f64| HealthChange::PutPatient {
        uuid: PatientId::new("uuid-grace"),
        record_id: crate::ids::RecordId::new(""),
        customer_code: None,
        profile: Profile { weight: Some(weight), ..Profile::default() },
        at_ms: 1,
    };
    let known = async || {
        let found = stores.health.patient(&PatientId::new("uuid-grace")).await.expect("an answer");
        found.and_then(|patient| patient.profile.weight)
    };
    let session = HealthChange::EndSessionsOfPatient { uuid: PatientId::new("uuid-grace"), at_ms: 1 };
    stores.health.apply_numbered(session, 1).await.expect("nothing to do");
    for (number, expected) in [(2, 60.0), (3, 61.0), (2, 61.0), (3, 61.0)] {
        stores.health.apply_numbered(weight(58.0 + f64::from(number)), i64::from(number)).await.expect("made");
        assert_eq!(known().await, Some(expected));
    }
}
