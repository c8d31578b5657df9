//! The list of exports that an account has asked for.

use serde_json::{Value, json};
use store::{GroupCode, Role};

use crate::common::{Answer, START_MS, text};
use crate::{MIDNIGHT_MS, Study, day};

async fn listed(study: &Study, key: &str, query: &str) -> Answer {
    study.story.get_as(&format!("/integration/v1/exports{query}"), key).await
}

fn ids(answer: Answer) -> Vec<String> {
    answer.ok().as_array().expect("a list").iter().map(|row| text(&row["id"])).collect()
}

#[tokio::test]
async fn own_exports_are_listed_newest_first_with_what_was_asked_for() {
    let study = Study::begin().await;
    assert_eq!(listed(&study, &study.key, "").await.ok(), json!([]));
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS], "sleep_state": [1]}})).await;
    let first = text(&study.create("/sleep", day(&[])).await.ok()["id"]);
    study.work().await;
    study.story.pass_ms(300_000);
    let mut body = day(&["acc", "activity"]);
    body["format"] = json!("parquet");
    let second = text(&study.create("", body.clone()).await.ok()["id"]);
    let rows = listed(&study, &study.key, "").await.ok();
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    let expected = json!({
        "id": second, "status": "in_progress", "patient": study.patient.uuid,
        "created_at": "2025-11-20T00:58:20.000Z", "types": ["activity", "acc"], "format": "parquet",
        "client_date_from": body["client_date_from"], "client_date_to": body["client_date_to"],
    });
    assert_eq!(rows[0], expected, "newest first");
    let done = &rows[1];
    assert_eq!((&done["id"], &done["status"], &done["format"]), (&json!(first), &json!("done"), &json!("csv")));
    let archive = study.fetch(&text(&study.status(&first).await["downloadUrl"])).await;
    assert_eq!(done["bytes"], archive.len());
    assert!(done["downloadUrl"].is_null(), "an address is made when it is asked for");
}

#[tokio::test]
async fn last_day_of_the_calendar_is_listed_as_it_was_asked_for() {
    let study = Study::begin().await;
    for end in ["9999-12-31T00:00:00.000", "9999-12-31T23:59:59.999"] {
        let body = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": end, "types": ["sleep"]});
        study.create("", body.clone()).await.ok();
        let rows = listed(&study, &study.key, "").await.ok();
        assert_eq!(rows[0]["client_date_from"], body["client_date_from"]);
        assert_eq!(rows[0]["client_date_to"], body["client_date_to"]);
        study.work().await;
        study.story.pass_ms(300_000);
    }
}

#[tokio::test]
async fn exports_of_others_and_of_patients_who_are_out_of_reach_are_not_listed() {
    let study = Study::begin().await;
    let export = text(&study.create("/sleep", day(&[])).await.ok()["id"]);
    let users = study.story.platform.core.users();
    let member = study.story.key_of("eve@example.org", Role::Researcher).await;
    let eve = study.story.platform.identity.account_by_email("eve@example.org").await.expect("an account").uuid;
    assert_eq!(listed(&study, &member, "").await.ok(), json!([]));
    users.add_member(&eve, &GroupCode::new(study.group.as_str()), START_MS).await.expect("a member");
    assert_eq!(listed(&study, &member, "").await.ok(), json!([]), "another member makes an export of their own");
    let hcp = study.story.key_of("ida@example.org", Role::Hcp).await;
    assert_eq!(listed(&study, &hcp, "").await.error(), (403, "forbidden"));
    assert_eq!(listed(&study, "", "").await.error(), (401, "unauthenticated"));

    let other = study.story.group(&study.key).await;
    let of = |query: String| listed(&study, &study.key, query.leak());
    for query in
        [format!("?group={}", study.group), format!("?patient={}", study.patient.uuid), "?patient=&group=".to_owned()]
    {
        assert_eq!(ids(of(query.clone()).await), [export.as_str()], "{query}");
    }
    assert_eq!(of(format!("?group={other}")).await.ok(), json!([]));
    assert_eq!(of(format!("?group={other}&patient={}", study.patient.uuid)).await.ok(), json!([]));
    let unknown = "00000000-0000-4000-8000-000000000000";
    assert_eq!(of(format!("?patient={unknown}")).await.error(), (404, "patient_not_found"));
    assert_eq!(of("?group=NOSUCH".to_owned()).await.error(), (404, "group_not_found"));
    for query in [format!("?group={other}"), format!("?patient={}", study.patient.uuid)] {
        let stranger = study.story.key_of(&format!("{}@example.org", query.len()), Role::Researcher).await;
        assert_eq!(listed(&study, &stranger, &query).await.error(), (403, "forbidden"), "{query}");
    }

    // Who has left the study cannot open the archive, and does not see it.
    let path = format!("/integration/v1/groups/{}/hcps", study.group);
    let members = study.story.get_as(&path, &study.key).await.ok();
    let ada = members.as_array().expect("members").iter().find(|member| member["email"] == "ada@example.org");
    let path = format!("{path}/{}", text(&ada.expect("ada")["uuid"]));
    study.story.ask("DELETE", &path, &member, Value::Null).await.done();
    assert_eq!(listed(&study, &study.key, "").await.ok(), json!([]));
}
