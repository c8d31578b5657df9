//! Every action code is written by a real operation, once, with the entities that the specification names.

mod common;

use common::{Enrolled, PASSWORD, Story, text};
use platform::Action;
use serde_json::{Value, json};
use store::Role;

/// An entry as the table names it: code, kind and id of the primary and of the secondary entity.
type Expected = (&'static str, (&'static str, String), Option<(&'static str, String)>);

/// Returns what an operation writes, taken from the entries since a number.
async fn entries_since(story: &Story, uuids: &[String], seen: &mut usize) -> Vec<Value> {
    // Nobody appears in all entries, so those of all who could have acted are put together.
    let mut found: Vec<(i64, Value)> = Vec::new();
    for uuid in uuids {
        for entry in story.audit_entries(uuid, None).await {
            let entity = |entity: &store::Entity| json!([entity.kind, entity.id]);
            let reported = json!([entry.action_type, entity(&entry.primary), entry.secondary.as_ref().map(entity)]);
            if !found.iter().any(|(number, _)| *number == entry.number) {
                found.push((entry.number, reported));
            }
        }
    }
    found.sort_by_key(|(number, _)| *number);
    let new = found.into_iter().map(|(_, reported)| reported).skip(*seen).collect::<Vec<Value>>();
    *seen += new.len();
    new
}

/// Codes that belong to exports.
const PENDING: [Action; 2] = [Action::PatientPortalExport, Action::PatientApiExport];

#[tokio::test]
async fn each_operation_writes_its_code() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    story.key_of("hcp@example.org", Role::Hcp).await;
    let account =
        async |email: &str| story.platform.identity.account_by_email(email).await.expect("an account").uuid.to_string();
    let (ada, hal) = (account("ada@example.org").await, account("hcp@example.org").await);
    let ask = async |method: &str, path: &str, body: Value| {
        let answer = story.ask(method, &format!("/integration{path}"), &key, body).await;
        assert!(answer.status.is_success(), "{method} {path}: {answer:?}");
        answer.body
    };
    let mut seen = 0;
    let mut written: Vec<String> = Vec::new();
    let mut check = async |uuids: &[&str], expected: Vec<Expected>| {
        let uuids: Vec<String> = uuids.iter().map(|uuid| (*uuid).to_owned()).collect();
        let new = entries_since(&story, &uuids, &mut seen).await;
        let expected: Vec<Value> = expected.into_iter().map(|row| json!(row)).collect();
        assert_eq!(new, expected);
        written.extend(new.iter().map(|entry| text(&entry[0])));
    };

    let group = ask("POST", "/v1/groups", json!({"name": "Sleep", "description": ""})).await;
    let other = ask("POST", "/v1/groups", json!({"name": "Other", "description": ""})).await;
    let (code, other_code) = (text(&group["code"]), text(&other["code"]));
    let of_group = || ("group.id", text(&group["id"]));
    let of_other = || ("group.id", text(&other["id"]));
    check(&[&ada], vec![("GROUP_CREATE", of_group(), None), ("GROUP_CREATE", of_other(), None)]).await;
    ask("PATCH", &format!("/v1/groups/{code}"), json!({"description": "of nurses"})).await;
    check(&[&ada], vec![("GROUP_UPDATE", of_group(), None)]).await;
    ask("PUT", &format!("/v1/groups/{code}/settings"), json!({"activity_goal_steps": 8000})).await;
    check(&[&ada], vec![("GROUP_SETTINGS_CHANGE", of_group(), None)]).await;

    let hcp = || ("hcp.uuid", hal.clone());
    let doctor = || Some(("doctor.uuid", ada.clone()));
    for _ in 0..2 {
        ask("POST", &format!("/v1/groups/{code}/hcps"), json!({"email": "hcp@example.org"})).await;
    }
    check(&[&ada], vec![("ADD_HCP", hcp(), doctor())]).await;
    ask("DELETE", &format!("/v1/groups/{code}/hcps/{hal}"), Value::Null).await;
    check(&[&ada], vec![("REMOVE_HCP", hcp(), doctor())]).await;

    let Enrolled { uuid: grace, users_token, .. } = story.patient(&key, &code, Value::Null).await;
    let patient = || ("patient.id", grace.clone());
    let user = |uuid: &str| ("user.id", uuid.to_owned());
    let expected = vec![
        ("PATIENT_CREATE", patient(), None),
        ("PATIENT_ATTACH_GROUP", patient(), Some(of_group())),
        ("USER_REGISTERED", user(&grace), None),
        ("USER_LOGIN", user(&grace), None),
    ];
    check(&[&ada, &grace], expected).await;
    for _ in 0..2 {
        ask("PUT", &format!("/v1/groups/{other_code}/patients/{grace}"), Value::Null).await;
    }
    check(&[&ada, &grace], vec![("PATIENT_ATTACH_GROUP", patient(), Some(of_other()))]).await;
    ask("DELETE", &format!("/v1/groups/{other_code}/patients/{grace}"), Value::Null).await;
    check(&[&ada, &grace], vec![("PATIENT_DETACH_GROUP", patient(), Some(of_other()))]).await;
    ask("DELETE", &format!("/v1/groups/{other_code}"), Value::Null).await;
    check(&[&ada, &grace], vec![("GROUP_DELETE", of_other(), None)]).await;

    let of_grace = |what: &str| format!("/v1/patients/{grace}{what}");
    ask("PATCH", &of_grace(""), json!({"external_patient_id": "7"})).await;
    check(&[&ada, &grace], vec![("PATIENT_UPDATE", patient(), None)]).await;
    let admin = || Some(("hcp_admin.id", ada.clone()));
    ask("PUT", &of_grace("/profile"), json!({"first_name": "Grace"})).await;
    check(&[&ada, &grace], vec![("PATIENT_PROFILE_UPDATE", patient(), admin())]).await;
    ask("PUT", &of_grace("/alarms"), json!({"alarms": []})).await;
    check(&[&ada, &grace], vec![("PATIENT_ALARM_CHANGE", patient(), admin())]).await;

    let bracelet = ask("POST", "/v1/bracelets", json!({"serial_number": "S 1", "device_type": "wrist"})).await;
    let of_bracelet = || ("bracelet.id", text(&bracelet["id"]));
    check(&[&ada, &grace], vec![("BRACELET_CREATE", user(&ada), Some(of_bracelet()))]).await;
    ask("PATCH", "/v1/bracelets/S%201", json!({"firmware_version": "2"})).await;
    check(&[&ada, &grace], vec![("BRACELET_UPDATE", of_bracelet(), None)]).await;
    for _ in 0..2 {
        ask("PUT", &of_grace("/bracelets/S%201"), Value::Null).await;
    }
    check(&[&ada, &grace], vec![("BRACELET_ATTACH", of_bracelet(), None)]).await;
    ask("DELETE", &of_grace("/bracelets/S%201"), Value::Null).await;
    check(&[&ada, &grace], vec![("BRACELET_DETACH", of_bracelet(), None)]).await;
    ask("DELETE", "/v1/bracelets/S%201", Value::Null).await;
    check(&[&ada, &grace], vec![("BRACELET_DELETE", of_bracelet(), None)]).await;

    // The patient's own change of the profile has no practitioner in it.
    story.ask("PATCH", "/users/me", &users_token, json!({"last_name": "Hopper"})).await.ok();
    check(&[&ada, &grace], vec![("PATIENT_PROFILE_UPDATE", patient(), None)]).await;
    ask("DELETE", &of_grace(""), Value::Null).await;
    check(&[&ada, &grace], vec![("PATIENT_DELETE", patient(), None)]).await;
    let login = story.post("/users/login", json!({"email": "hcp@example.org", "password": PASSWORD})).await.ok();
    story.ask("DELETE", "/users/me", &text(&login["token"]), Value::Null).await.ok();
    // The practitioner's two entries of before are counted again: they have not been looked for yet.
    let own = entries_since(&story, std::slice::from_ref(&hal), &mut 2).await;
    assert_eq!(own, [json!(["USER_LOGIN", user(&hal), null]), json!(["USER_DELETE", user(&hal), null])]);
    written.push("USER_DELETE".to_owned());

    let missing: Vec<&str> = Action::ALL
        .into_iter()
        .filter(|action| !PENDING.contains(action))
        .map(Action::code)
        .filter(|code| !written.iter().any(|written| written == code))
        .collect();
    assert!(missing.is_empty(), "nothing writes {missing:?}");
    assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer").1, None);
}
