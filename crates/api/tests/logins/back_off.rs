//! How long somebody waits who guesses, and who does not.

use api::ClientAddress;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::common::study::Study;
use crate::common::{Answer, PASSWORD};

async fn log_in_from(study: &Study, address: &str, email: &str, password: &str) -> Answer {
    post_from(study, address, "/users/login", json!({"email": email, "password": password})).await
}

async fn post_from(study: &Study, address: &str, path: &str, body: Value) -> Answer {
    let request = Request::post(path).header("content-type", "application/json").body(Body::from(body.to_string()));
    let mut request = request.expect("a request");
    request.extensions_mut().insert(ClientAddress(Some(address.parse().expect("an address"))));
    study.story.send(request).await
}

const WRONG: &str = "not the password";
const HERE: &str = "192.0.2.1";

/// Seconds that an answer asks to wait; none when it was no refusal for that.
fn wait_s(answer: &Answer) -> Option<i64> {
    (answer.status == 429).then(|| answer.header("retry-after").parse().expect("seconds"))
}

#[tokio::test]
async fn wait_doubles_with_each_failure_up_to_a_quarter_of_an_hour() {
    let study = Study::begin().await;
    for _ in 0..5 {
        assert_eq!(wait_s(&log_in_from(&study, HERE, "ada@example.org", WRONG).await), None);
    }
    let mut waits = Vec::new();
    for _ in 0..12 {
        let wait = wait_s(&log_in_from(&study, HERE, "ada@example.org", PASSWORD).await).expect("a wait");
        waits.push(wait);
        study.story.pass_ms(wait * 1000 - 1);
        assert_eq!(wait_s(&log_in_from(&study, HERE, "ada@example.org", PASSWORD).await), Some(1), "{waits:?}");
        study.story.pass_ms(1);
        assert_eq!(log_in_from(&study, HERE, "ada@example.org", WRONG).await.error(), (401, "unauthenticated"));
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
}

#[tokio::test]
async fn success_forgets_what_was_wrong_before() {
    let study = Study::begin().await;
    for _ in 0..3 {
        for _ in 0..5 {
            assert_eq!(log_in_from(&study, HERE, "ada@example.org", WRONG).await.status, 401);
        }
        study.story.pass_ms(1000);
        log_in_from(&study, HERE, "ada@example.org", PASSWORD).await.ok();
    }
}

#[tokio::test]
async fn hour_without_a_failure_forgets_as_well() {
    let study = Study::begin().await;
    for _ in 0..5 {
        log_in_from(&study, HERE, "ada@example.org", WRONG).await;
    }
    study.story.pass_ms(3_600_001);
    for _ in 0..4 {
        assert_eq!(log_in_from(&study, HERE, "ada@example.org", WRONG).await.status, 401);
    }
    log_in_from(&study, HERE, "ada@example.org", PASSWORD).await.ok();
}

#[tokio::test]
async fn stranger_elsewhere_locks_nobody_out() {
    let study = Study::begin_with(json!({"email": "grace@example.org"})).await;
    for _ in 0..5 {
        log_in_from(&study, HERE, "ada@example.org", WRONG).await;
    }
    assert_eq!(wait_s(&log_in_from(&study, HERE, "ada@example.org", PASSWORD).await), Some(1));
    // The owner from another address, and another person from the same one.
    log_in_from(&study, "192.0.2.2", "ada@example.org", PASSWORD).await.ok();
    log_in_from(&study, HERE, "grace@example.org", PASSWORD).await.ok();
    // Addresses of one network of IPv6 are one: anyone who has one of them has them all.
    for host in 1..=5 {
        log_in_from(&study, &format!("2001:db8:1:2::{host}"), "ada@example.org", WRONG).await;
    }
    assert_eq!(wait_s(&log_in_from(&study, "2001:db8:1:2:ffff::9", "ada@example.org", PASSWORD).await), Some(1));
    log_in_from(&study, "2001:db8:1:3::1", "ada@example.org", PASSWORD).await.ok();
}

#[tokio::test]
async fn many_names_from_one_address_are_slowed_together() {
    let study = Study::begin().await;
    // Codes of vouchers share the brake with logins, and are refused without the time that a password takes.
    let guess = async |number: i64| {
        let body = json!({"code": format!("GUESS{number}"), "password": PASSWORD});
        post_from(&study, HERE, "/users/activate", body).await
    };
    for number in 0..100 {
        assert_eq!(guess(number).await.error(), (404, "voucher_not_found"), "{number}");
    }
    assert_eq!(wait_s(&guess(100).await), Some(1));
    assert_eq!(wait_s(&log_in_from(&study, HERE, "ada@example.org", PASSWORD).await), Some(1), "also what is right");
    log_in_from(&study, "192.0.2.2", "ada@example.org", PASSWORD).await.ok();
    study.story.pass_ms(1000);
    log_in_from(&study, HERE, "ada@example.org", PASSWORD).await.ok();
    assert_eq!(guess(101).await.error(), (404, "voucher_not_found"));
    assert_eq!(wait_s(&guess(102).await), Some(2), "a success of one name does not clear the address");
}

#[tokio::test]
async fn waiting_is_the_same_for_names_that_nobody_has() {
    let study = Study::begin().await;
    let mut reported = Vec::new();
    for email in ["ada@example.org", "nobody@example.org"] {
        let mut answers = Vec::new();
        for _ in 0..7 {
            let answer = log_in_from(&study, HERE, email, WRONG).await;
            answers.push(json!([answer.status.as_u16(), answer.header("retry-after"), answer.body]));
        }
        reported.push(Value::from(answers));
    }
    assert_eq!(reported[0], reported[1]);
}
