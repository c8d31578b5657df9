//! Who may ask for an export, and who can open what it has written.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use store::{GroupCode, Role};

use crate::common::{START_MS, text};
use crate::{MIDNIGHT_MS, Study, day, path_of};

#[tokio::test]
async fn who_may_ask_and_what_for() {
    let study = Study::begin().await;
    let path = format!("/integration/v1/create-export/{}/ppg2", study.patient.uuid);
    assert_eq!(study.story.post(&path, day(&[])).await.error(), (401, "unauthenticated"));
    let stranger = study.story.key_of("eve@example.org", Role::Researcher).await;
    assert_eq!(study.story.post(&format!("{path}?token={stranger}"), day(&[])).await.error(), (403, "forbidden"));
    let hcp = study.story.key_of("ida@example.org", Role::Hcp).await;
    let account = study.story.platform.identity.account_by_email("ida@example.org").await.expect("an account").uuid;
    study
        .story
        .platform
        .core
        .users()
        .add_member(&account, &GroupCode::new(study.group.as_str()), START_MS)
        .await
        .expect("a member");
    assert_eq!(study.story.post(&format!("{path}?token={hcp}"), day(&[])).await.error(), (403, "forbidden"));
    let unknown = path.replace(&study.patient.uuid, "00000000-0000-4000-8000-000000000000");
    assert_eq!(
        study.story.post(&format!("{unknown}?token={}", study.key), day(&[])).await.error(),
        (404, "patient_not_found")
    );
    assert_eq!(study.create("/heart-rate", day(&[])).await.error(), (404, "data_type_not_found"));
    for (body, field) in [
        (json!({"client_date_to": "2025-11-19T00:00:00", "types": ["acc"]}), "client_date_from"),
        (
            json!({"client_date_from": "2025-11-19T00:00:00Z", "client_date_to": "2025-11-20T00:00:00"}),
            "client_date_from",
        ),
        (
            json!({"client_date_from": "2025-11-20T00:00:00", "client_date_to": "2025-11-19T00:00:00", "types": ["acc"]}),
            "client_date_to",
        ),
        (day(&[]), "types"),
        (day(&["heart-rate"]), "types"),
        (json!({"types": "acc"}), "types"),
    ] {
        let refused = study.create("", body.clone()).await;
        assert_eq!(refused.error(), (422, "invalid"), "{body}");
        assert!(refused.body["errors"][field].is_array(), "{refused:?}");
    }
    let mut odd = day(&["acc"]);
    odd["format"] = json!("xlsx");
    odd["compression"] = json!("rar");
    let refused = study.create("", odd).await;
    assert_eq!(
        refused.body["errors"].as_object().expect("fields").keys().collect::<Vec<_>>(),
        ["compression", "format"]
    );

    let created = text(&study.create("/acc", day(&[])).await.ok()["id"]);
    let status = format!("/integration/v1/export/{created}");
    assert_eq!(study.story.get(&status).await.error(), (401, "unauthenticated"));
    for other in [&stranger, &hcp] {
        assert_eq!(study.story.get(&format!("{status}?token={other}")).await.error(), (403, "forbidden"));
    }
    let unknown = format!("/integration/v1/export/{}?token={}", "0".repeat(24), study.key);
    assert_eq!(study.story.get(&unknown).await.error(), (404, "export_not_found"));
}

#[tokio::test]
async fn links_open_one_file_for_an_hour() {
    let study = Study::begin().await;
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS], "sleep_state": [1]}})).await;
    let created = study.create("/sleep", day(&[])).await.ok();
    study.work().await;
    let url = text(&study.status(&text(&created["id"])).await["downloadUrl"]);
    let whole = study.fetch(&url).await;
    let name = format!("{}_{}.zip", study.patient.uuid, text(&created["id"]));
    let get = |range: &'static str| {
        let request = Request::get(path_of(&url)).header("range", range).body(Body::empty()).expect("a request");
        study.story.raw(request)
    };
    let (parts, bytes) = get("bytes=2-5").await;
    assert_eq!((parts.status.as_u16(), &bytes[..]), (206, &whole[2..6]));
    assert_eq!(parts.headers["content-range"], format!("bytes 2-5/{}", whole.len()));
    assert_eq!(parts.headers["content-disposition"], format!("attachment; filename=\"{name}\""));
    assert_eq!(parts.headers["content-type"], "application/zip");
    let tag = parts.headers["etag"].clone();
    for (tag, status) in [(tag, 206), ("\"another\"".parse().expect("a tag"), 200)] {
        let request = Request::get(path_of(&url)).header("range", "bytes=2-5").header("if-range", tag);
        let (parts, _) = study.story.raw(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(parts.status, status);
    }
    let (parts, bytes) = get("bytes=-4").await;
    assert_eq!((parts.status.as_u16(), &bytes[..]), (206, &whole[whole.len() - 4..]));
    let (parts, _) = get("bytes=9999999-").await;
    assert_eq!(parts.status, 416);
    assert_eq!(parts.headers["content-range"], format!("bytes */{}", whole.len()));
    let (parts, bytes) = study.story.raw(Request::head(path_of(&url)).body(Body::empty()).expect("a request")).await;
    assert_eq!((parts.status.as_u16(), bytes.len()), (200, 0));
    assert_eq!(parts.headers["content-length"], whole.len().to_string());
    assert_eq!(parts.headers["accept-ranges"], "bytes");

    let forged = [
        path_of(&url).replace("signature=", "signature=A"),
        path_of(&url).replace("expires=17", "expires=27"),
        path_of(&url).replace(".zip?", ".exe?"),
        path_of(&url).replace("object=exports", "object=v1"),
        path_of(&url).split('?').next().expect("a path").to_owned(),
    ];
    for path in forged {
        assert_eq!(study.story.get(&path).await.error(), (403, "forbidden"), "{path}");
    }
    study.story.pass_ms(3_599_999 - study.story.now_ms() % 1000);
    assert_eq!(study.story.get(path_of(&url)).await.status, 200);
    study.story.pass_ms(1_000);
    assert_eq!(study.story.get(path_of(&url)).await.error(), (403, "forbidden"));
    let again = text(&study.status(&text(&created["id"])).await["downloadUrl"]);
    assert_eq!(study.fetch(&again).await, whole);
}
