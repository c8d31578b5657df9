//! The life of a voucher: made, checked, used once, expired, withdrawn.

use serde_json::{Value, json};
use store::Role;

use crate::common::study::{Study, wrong_fields};
use crate::common::{Answer, PASSWORD, START_MS, text};

const DAY_MS: i64 = 24 * 3_600_000;

async fn activate(study: &Study, code: &str) -> Answer {
    study.story.post("/users/activate", json!({"code": code, "password": PASSWORD})).await
}

async fn check(study: &Study, code: &str) -> Value {
    study.read(&format!("/v1/check-voucher-code/{code}")).await
}

#[tokio::test]
async fn voucher_codes_leave_out_what_people_confuse() {
    let study = Study::begin().await;
    let mut codes = Vec::new();
    for _ in 0..60 {
        let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
        let mut names: Vec<&String> = created.as_object().expect("an object").keys().collect();
        names.sort_unstable();
        assert_eq!(names, ["_id", "code", "state", "uuid"]);
        assert_eq!(created["state"], "pre_created");
        let id = text(&created["_id"]);
        assert!(id.len() == 24 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        codes.push(text(&created["code"]));
    }
    for code in &codes {
        assert_eq!(code.len(), 8, "{code}");
        assert!(code.bytes().all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit()), "{code}");
        assert!(!code.contains(['0', 'O', '1', 'I']), "{code}");
    }
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 60, "a code was given twice");
}

#[tokio::test]
async fn voucher_is_checked_before_and_after_its_use() {
    let study = Study::begin().await;
    study.story.pass_ms(1234);
    let code = study.voucher().await;
    let before = json!({"exists": true, "state": "pre_created", "created_at": "2025-11-20T00:53:21.234Z"});
    assert_eq!(check(&study, &code).await, before);
    assert_eq!(check(&study, &code.to_lowercase()).await, before, "codes are typed in any case");
    study.story.pass_ms(DAY_MS);
    let activated = activate(&study, &code).await.ok();
    assert_eq!(activated["user"]["state"], "confirmed");
    let after = json!({"exists": true, "state": "confirmed", "created_at": "2025-11-20T00:53:21.234Z"});
    assert_eq!(check(&study, &code).await, after);
    for unknown in ["AAAAAAAA", "A", &"A".repeat(500), "%20"] {
        assert_eq!(check(&study, unknown).await, json!({"exists": false}), "{unknown}");
    }
}

#[tokio::test]
async fn voucher_is_used_once() {
    let study = Study::begin().await;
    let code = study.voucher().await;
    activate(&study, &code).await.ok();
    for again in [code.clone(), code.to_lowercase(), format!(" {code} ")] {
        assert_eq!(activate(&study, &again).await.error(), (409, "voucher_used"), "{again:?}");
    }
    // The password of the second try opens nothing.
    let other = json!({"code": code, "password": "a password of another"});
    assert_eq!(study.story.post("/users/activate", other.clone()).await.error(), (409, "voucher_used"));
    assert_eq!(study.story.post("/users/login", other).await.error(), (401, "unauthenticated"));
    study.story.post("/users/login", json!({"code": code, "password": PASSWORD})).await.ok();
}

#[tokio::test]
async fn voucher_ends_after_ninety_days_to_the_millisecond() {
    let study = Study::begin().await;
    let [in_time, late] = [study.voucher().await, study.voucher().await];
    study.story.pass_ms(90 * DAY_MS - 1);
    activate(&study, &in_time).await.ok();
    study.story.pass_ms(1);
    assert_eq!(activate(&study, &late).await.error(), (409, "voucher_expired"));
    assert_eq!(check(&study, &late).await["state"], "pre_created", "an expired voucher is still known");
    let login = json!({"code": late, "password": PASSWORD});
    assert_eq!(study.story.post("/users/login", login).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn voucher_times_are_listed_when_asked_for_and_gone_with_its_use() {
    let study = Study::begin().await;
    study.story.pass_ms(1234);
    let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
    let row = async |query: &str| {
        let rows = study.read(&study.of_group(&format!("/patients{query}"))).await;
        let found = rows.as_array().expect("rows").iter().find(|row| row["uuid"] == created["uuid"]);
        found.expect("the patient of the voucher").clone()
    };
    let times = "?fields[]=voucher_created_at&fields[]=voucher_expires_at";
    let listed = row(times).await;
    assert_eq!(listed["voucher_created_at"], "2025-11-20T00:53:21.234Z");
    assert_eq!(listed["voucher_expires_at"], "2026-02-18T00:53:21.234Z", "after ninety days");
    let unasked = row("").await;
    assert_eq!((&unasked["code"], &unasked["voucher_expires_at"]), (&created["code"], &Value::Null));
    activate(&study, &text(&created["code"])).await.ok();
    assert_eq!(row(times).await, json!({"uuid": created["uuid"]}));
}

#[tokio::test]
async fn voucher_is_withdrawn_by_erasing_its_patient() {
    let study = Study::begin().await;
    let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
    let (uuid, code) = (text(&created["uuid"]), text(&created["code"]));
    let receipt = study.ask("DELETE", &format!("/v1/patients/{uuid}"), Value::Null).await.ok();
    assert_eq!(receipt["uuid"], uuid);
    assert_eq!(check(&study, &code).await, json!({"exists": false}));
    assert_eq!(activate(&study, &code).await.error(), (404, "voucher_not_found"));
    let again = study.ask("DELETE", &format!("/v1/patients/{uuid}"), Value::Null).await;
    assert_eq!(again.error(), (404, "patient_not_found"));
}

#[tokio::test]
async fn voucher_that_was_used_meanwhile_is_not_withdrawn() {
    let study = Study::begin().await;
    let [used, unused] = [study.voucher().await, study.voucher().await];
    let patients = study.read(&study.of_group("/patients")).await;
    let uuid_of = |code: &str| {
        let row = patients.as_array().expect("rows").iter().find(|row| row["code"] == code);
        text(&row.expect("a row")["uuid"])
    };
    activate(&study, &used).await.ok();
    let withdraw = async |code: &str, state: &str| {
        let path = format!("/v1/patients/{}?state={state}", uuid_of(code));
        study.ask("DELETE", &path, Value::Null).await
    };
    assert_eq!(withdraw(&used, "pre_created").await.error(), (409, "voucher_used"));
    for state in ["confirmed", "Pre_created", ""] {
        assert_eq!(withdraw(&used, state).await.error(), (400, "malformed_parameter"), "{state}");
    }
    study.story.post("/users/login", json!({"code": used, "password": PASSWORD})).await.ok();
    assert_eq!(withdraw(&unused, "pre_created").await.ok()["uuid"], uuid_of(&unused));
    assert_eq!(check(&study, &unused).await, json!({"exists": false}));
}

#[tokio::test]
async fn refused_activations_leave_the_voucher_as_it_was() {
    let study = Study::begin().await;
    let code = study.voucher().await;
    let post = async |body: Value| study.story.post("/users/activate", body).await;
    let long = |length: usize| PASSWORD.repeat(50).chars().take(length).collect::<String>();
    let of_length = |length: usize| json!({"code": code, "password": long(length)});
    assert_eq!(wrong_fields(&post(of_length(9)).await), ["password"]);
    assert_eq!(wrong_fields(&post(of_length(1025)).await), ["password"]);
    assert_eq!(wrong_fields(&post(json!({"code": code})).await), ["password"]);
    assert_eq!(wrong_fields(&post(json!({"password": PASSWORD})).await), ["code"]);
    assert_eq!(wrong_fields(&post(json!({"code": 7, "password": 7})).await), ["code", "password"]);
    let taken = json!({"code": code, "password": PASSWORD, "email": " Ada@Example.org "});
    assert_eq!(post(taken).await.error(), (409, "duplicate_email"));
    assert_eq!(check(&study, &code).await["state"], "pre_created");
    post(of_length(1024)).await.ok();
    let login = json!({"code": code, "password": long(1024)});
    study.story.post("/users/login", login).await.ok();
    let other = study.voucher().await;
    post(json!({"code": other, "password": long(10)})).await.ok();
}

#[tokio::test]
async fn guesses_of_a_code_are_slowed() {
    let study = Study::begin().await;
    for _ in 0..5 {
        assert_eq!(activate(&study, "GUESSED2").await.error(), (404, "voucher_not_found"));
    }
    let slowed = activate(&study, "GUESSED2").await;
    assert_eq!((slowed.error(), slowed.header("retry-after")), ((429, "too_many_requests"), "1"));
    let code = study.voucher().await;
    activate(&study, &code).await.ok();
    study.story.pass_ms(1000);
    assert_eq!(activate(&study, "GUESSED2").await.error(), (404, "voucher_not_found"));
    let longer = activate(&study, "GUESSED2").await;
    assert_eq!((longer.error(), longer.header("retry-after")), ((429, "too_many_requests"), "2"));
}

#[tokio::test]
async fn patient_before_activation_cannot_log_in_sync_or_get_a_new_password() {
    let study = Study::begin().await;
    let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
    let (uuid, code) = (text(&created["uuid"]), text(&created["code"]));
    let path = |what: &str| format!("/v1/patients/{uuid}{what}");
    for password in [PASSWORD, "", &code] {
        let login = study.story.post("/users/login", json!({"code": code, "password": password})).await;
        assert_eq!(login.error(), (401, "unauthenticated"), "{password:?}");
    }
    let reset = study.ask("POST", &path("/reset-password"), json!({"password": PASSWORD})).await;
    assert_eq!(reset.error(), (409, "patient_not_confirmed"));
    // What does not need the patient works: staff may file and read ahead.
    study.ask("PATCH", &path(""), json!({"external_patient_id": "P-1"})).await.ok();
    assert_eq!(study.read(&path("/summary/2025-11-20")).await["heart_rate"], json!({}));
    assert_eq!(study.read(&path("/raw-data-compliance/2025-11-20")).await, json!({}));
    let score = study.ask("GET", &path("/latest-news-score"), Value::Null).await;
    assert_eq!(score.error(), (404, "no_news_score"));
    let rows = study.read(&study.of_group("/patients?fields[]=code&fields[]=state&fields[]=external_patient_id")).await;
    let expected = json!({"uuid": uuid, "code": code, "state": "pre_created", "external_patient_id": "P-1"});
    assert!(rows.as_array().expect("a list").contains(&expected), "{rows}");
    activate(&study, &code).await.ok();
    let rows = study.read(&study.of_group("/patients")).await;
    assert!(!rows.to_string().contains(&code), "the voucher of a confirmed patient is not shown any more");
}

#[tokio::test]
async fn registration_is_in_the_log_of_the_patient_and_of_nobody_else() {
    let study = Study::begin().await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
    study.story.pass_ms(7);
    activate(&study, &text(&created["code"])).await.ok();
    let uuid = text(&created["uuid"]);
    let entries = study.story.audit_entries(&uuid, Some("USER_REGISTERED")).await;
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!((entry.time_ms, entry.user_role.as_str()), (START_MS + 7, "patient"));
    assert!(study.log_as(&bob).await.is_empty());
    let of_ada = study.log_as(&study.key).await;
    assert!(of_ada.iter().all(|entry| entry["action_type"] != "USER_REGISTERED"), "{of_ada:?}");
}

#[tokio::test]
async fn code_of_an_unused_voucher_is_shown_to_who_may_make_vouchers_and_to_nobody_else() {
    let study = Study::begin().await;
    let code = study.voucher().await;
    let admin = study.story.key_of("hal@example.org", Role::Admin).await;
    study.ask("POST", &study.of_group("/hcps"), json!({"email": "hal@example.org"})).await.ok();
    let hcp = study.practitioner("ida@example.org").await;
    for fields in ["", "?fields[]=code&fields[]=state", "?with_latest_values=1"] {
        let path = study.of_group(&format!("/patients{fields}"));
        for key in [&study.key, &admin] {
            let rows = study.ask_as(key, "GET", &path, Value::Null).await.ok();
            assert!(rows.to_string().contains(&code), "{fields}: {rows}");
        }
        let rows = study.ask_as(&hcp, "GET", &path, Value::Null).await.ok();
        let unused = rows.as_array().expect("a list").iter().find(|row| row["state"] == "pre_created");
        assert!(unused.expect("the row is there")["code"].is_null(), "{fields}: {rows}");
        assert!(!rows.to_string().contains(&code), "{fields}: {rows}");
    }
}
