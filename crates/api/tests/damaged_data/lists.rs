//! Lists of many patients where one is damaged: the others are as before, and that one is marked.

use platform::seal::Until;
use serde_json::{Value, json};
use store::{DamageTarget, PatientId};
use vitals::derivation::Output;

use crate::common::{Answer, Story};
use crate::{DAY, activity, damage, story_of_two};

/// The rows of a list, where the one of a damaged patient comes first.
fn marked_and_other(list: &Value) -> (&Value, &Value) {
    assert_eq!(list.as_array().map(Vec::len), Some(2), "{list}");
    assert_eq!((&list[0]["unreadable"], &list[1]["unreadable"]), (&json!(true), &Value::Null), "{list}");
    (&list[0], &list[1])
}

#[tokio::test]
async fn damaged_profile_is_left_out_of_the_list_and_all_else_is_there() {
    let (story, key, group, [grace, _]) = story_of_two().await;
    let path = format!("/integration/v1/groups/{group}/patients?token={key}&with_latest_values=1");
    let profile = format!("/integration/v1/patients/{}/profile?token={key}", grace.uuid);
    let body = json!({"first_name": "Grace", "height": 170, "weight": 61});
    story.ask("PUT", &profile, "", body).await.ok();
    let sound = story.get(&path).await.ok();
    assert_eq!((&sound[0]["weight"], &sound[0]["unreadable"]), (&json!(61.0), &Value::Null), "{sound}");

    damage(&story, &grace, DamageTarget::Profile).await;
    let list = story.get(&path).await.ok();
    let (marked, other) = marked_and_other(&list);
    assert_eq!(other, &sound[1]);
    for field in ["uuid", "_id", "first_name", "state", "latest_values"] {
        assert_eq!(marked[field], sound[0][field], "{field}");
    }
    for field in ["height", "weight"] {
        assert_eq!(marked[field], Value::Null, "{field}");
    }
    // A list that does not ask for what is damaged is whole.
    let names = story.get(&format!("{path}&fields[]=first_name")).await.ok();
    assert_eq!((&names[0]["first_name"], &names[0]["unreadable"]), (&json!("Grace"), &Value::Null));
}

#[tokio::test]
async fn patient_whose_own_row_is_damaged_has_a_place_in_the_list() {
    let (story, key, group, [grace, _]) = story_of_two().await;
    let path = format!("/integration/v1/groups/{group}/patients?token={key}&with_latest_values=1");
    let sound = story.get(&path).await.ok();
    story.platform.core.users().damage(&PatientId::new(grace.uuid.as_str())).await.expect("damaged");
    let list = story.get(&path).await.ok();
    let (marked, other) = marked_and_other(&list);
    assert_eq!(other, &sound[1]);
    let shown = json!({"uuid": grace.uuid, "latest_values": sound[0]["latest_values"], "unreadable": true});
    assert_eq!(marked, &shown, "what is measured can be read");
}

async fn summaries(story: &Story, key: &str, group: &str) -> Answer {
    let query = format!("token={key}&date={DAY}&include_slots=1&include_extra=1");
    story.get(&format!("/integration/v1/groups/{group}/summaries?{query}")).await
}

#[tokio::test]
async fn damaged_day_is_marked_among_those_of_a_study() {
    for output in [Output::Section, Output::Slots] {
        let (story, key, group, [grace, other]) = story_of_two().await;
        let newcomer = story.patient(&key, &group, json!({})).await;
        let sound = summaries(&story, &key, &group).await.ok();
        assert_ne!(sound[&grace.uuid]["heart_rate"], json!({}));
        damage(&story, &grace, DamageTarget::Derived(output)).await;
        let marked = summaries(&story, &key, &group).await.ok();
        assert_eq!(marked.as_object().map(serde_json::Map::len), Some(3), "{output:?}");
        for patient in [&other, &newcomer] {
            assert_eq!(marked[&patient.uuid], sound[&patient.uuid], "{output:?}");
        }
        // As the day of somebody without data, whose shape clients know.
        let mut day = sound[&newcomer.uuid].clone();
        assert_eq!(day["unreadable"], Value::Null);
        day["unreadable"] = json!(true);
        assert_eq!(marked[&grace.uuid], day, "{output:?}");
        let single = format!("/integration/v1/patients/{}/summary/{DAY}?token={key}", grace.uuid);
        let query = "&include_slots=1&include_extra=1";
        assert_eq!(story.get(&format!("{single}{query}")).await.error(), (503, "data_damaged"), "{output:?}");
    }
}

async fn lake(story: &Story, key: &str, group: &str, since: &str) -> Value {
    let path = format!("/integration/v1/groups/{group}/lake?token={key}&per_page=1&since={since}");
    story.get(&path).await.ok()
}

#[tokio::test]
async fn damaged_entry_of_the_catalog_leaves_the_other_files_in_the_lake() {
    let (story, key, group, [grace, other]) = story_of_two().await;
    let sleep = json!({"timestamp": activity(0)["timestamp"], "sleep_state": 1});
    for patient in [&grace, &other] {
        story.sync(patient, json!({ "sleep": sleep })).await;
    }
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    damage(&story, &grace, DamageTarget::Catalog).await;
    let (mut since, mut files, mut unreadable) = ("0".to_owned(), Vec::new(), Vec::new());
    for _ in 0..2 {
        let page = lake(&story, &key, &group, &since).await;
        unreadable.extend(page["unreadable"].as_array().cloned().unwrap_or_default());
        files.extend(page["files"].as_array().expect("files").iter().map(|file| file["patient"].clone()));
        assert_ne!(page["next_since"], json!(since), "a page leads on: {page}");
        page["next_since"].as_str().expect("a place").clone_into(&mut since);
    }
    assert_eq!(files, [json!(other.uuid), json!(other.uuid)]);
    let last = lake(&story, &key, &group, &since).await;
    assert_eq!((&last["files"], &last["more"]), (&json!([]), &json!(false)), "{last}");
    unreadable.extend(last["unreadable"].as_array().cloned().unwrap_or_default());
    // On each page that leads past one of their files.
    assert!(!unreadable.is_empty() && unreadable.iter().all(|uuid| *uuid == grace.uuid), "{unreadable:?}");
}
