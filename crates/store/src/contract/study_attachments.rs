//! Which studies held a patient at which time.

use super::example_rows::{message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::ids::PatientId;
use crate::{EffectiveSettings, GroupCode, HealthChange, HealthMessage, PatientErasure};

on_both_engines! {
    times_in_studies_are_kept_when_a_patient_leaves_and_go_with_the_patient
    study_that_is_deleted_takes_the_times_in_it_along
}

async fn times_of(stores: &Stores, names: &[&str]) -> Vec<(String, String, i64, Option<i64>)> {
    let patients = names.iter().map(|name| PatientId::new(format!("uuid-{name}"))).collect();
    let found = stores.users.study_attachments(patients).await.expect("attachments");
    let mut times: Vec<_> = found
        .into_iter()
        .map(|one| (one.patient.to_string(), one.group_code.to_string(), one.attached_ms, one.detached_ms))
        .collect();
    times.sort();
    times
}

async fn times_in_studies_are_kept_when_a_patient_leaves_and_go_with_the_patient(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let (users, grace) = (&stores.users, PatientId::new("uuid-grace"));
    let (first, second) = (GroupCode::new("AAAAA"), GroupCode::new("BBBBB"));
    for (name, id) in [("grace", "i1"), ("rosa", "i2")] {
        users.add_patient(patient(name), &first, message(id, 0), no_settings()).await.expect("a patient");
    }
    let at = |at_ms| EffectiveSettings { at_ms, ..no_settings() };
    let attach = async |code, at_ms| {
        users.attach_patient(code, &grace, at(at_ms), audit(Vec::new(), 5)).await.expect("an answer");
    };
    let detach = async |code, at_ms, id| {
        users.detach_patient(code, &grace, at(at_ms), message(id, 0)).await.expect("an answer");
    };
    attach(&second, 20).await;
    detach(&first, 30, "i3").await;
    attach(&first, 40).await;
    // Within the millisecond in which the patient came back: one time and not a failure.
    detach(&first, 40, "i4").await;
    attach(&first, 40).await;
    detach(&first, 50, "i5").await;
    let of_grace = |code: &str, from, to| ("uuid-grace".to_owned(), code.to_owned(), from, to);
    let expected = [of_grace("AAAAA", 2, Some(30)), of_grace("AAAAA", 40, Some(50)), of_grace("BBBBB", 20, None)];
    assert_eq!(times_of(&stores, &["grace"]).await, expected);
    assert_eq!(times_of(&stores, &["grace", "rosa", "nobody"]).await.len(), 4);
    let change = HealthChange::ErasePatient { uuid: grace.clone(), at_ms: 60 };
    users
        .erase_patient(&grace, PatientErasure::default(), 60, HealthMessage { change, ..message("i6", 60) })
        .await
        .expect("erased");
    assert_eq!(times_of(&stores, &["grace"]).await, []);
}

async fn study_that_is_deleted_takes_the_times_in_it_along(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let (users, grace) = (&stores.users, PatientId::new("uuid-grace"));
    let (first, second) = (GroupCode::new("AAAAA"), GroupCode::new("BBBBB"));
    users.add_patient(patient("grace"), &first, message("i1", 0), no_settings()).await.expect("a patient");
    users.attach_patient(&second, &grace, no_settings(), audit(Vec::new(), 5)).await.expect("an answer");
    users.detach_patient(&first, &grace, no_settings(), message("i2", 0)).await.expect("an answer");
    assert_eq!(times_of(&stores, &["grace"]).await.len(), 2);
    // Its code can be given to another study, which is to learn nothing of this one.
    users.delete_group(&first, audit(Vec::new(), 6)).await.expect("deleted");
    let left: Vec<String> = times_of(&stores, &["grace"]).await.into_iter().map(|(_, code, ..)| code).collect();
    assert_eq!(left, ["BBBBB"]);
}
