//! 2.1 to 2.3 and 2.11: studies, patients, vouchers and logins.

use serde_json::{Value, json};

use crate::common::{PASSWORD, START_MS, text};
use crate::scene::Scene;
use crate::table::Kind::{Boolean, Date, EpochMs, Integer, Null, Number, Object, RecordId, Text, UtcMs, Uuid};
use crate::table::{Table, always, assert_fields, or_null, when_set};

#[tokio::test]
async fn table_2_1_study() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("name", Text),
        always("description", Text),
        always("code", Text),
        always("hcpCode", Text),
        always("id", Text),
        always("timestamp", EpochMs),
    ]);
    let created = scene.post("/v1/groups", json!({"name": "Night shifts", "description": "Sleep of nurses"})).await;
    table.check(&created);
    let expected = json!({"name": "Night shifts", "description": "Sleep of nurses", "timestamp": START_MS});
    assert_fields(&created, &expected);
    let (code, id) = (text(&created["code"]), text(&created["id"]));
    assert!(code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_uppercase()), "{code}");
    assert!(id.len() == 10 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    let suffix = text(&created["hcpCode"]).strip_prefix(&format!("HCP-{code}-")).map(str::to_owned);
    let suffix = suffix.expect("HCP-<code>-<suffix>");
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    assert!(suffix.len() == 6 && suffix.bytes().all(is_small), "{suffix}");

    let listed = scene.get("/v1/groups").await;
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    for study in listed.as_array().expect("studies") {
        table.check(study);
    }
    assert!(listed.as_array().is_some_and(|studies| studies.contains(&created)));
}

/// Everything that can be said of a patient.
fn whole_profile() -> Value {
    json!({
        "first_name": "Grace", "last_name": "Hopper", "email": "grace@example.org", "birthday": "1966-12-09",
        "gender": "female", "country": "Switzerland", "height": 165.5, "weight": 61, "skin_color": 2,
        "hair_density": 3, "time_zone": "Europe/Zurich", "agreement_to_terms_of_use": true,
    })
}

#[tokio::test]
async fn table_2_2_patient() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("uuid", Uuid),
        when_set("first_name", Text),
        when_set("last_name", Text),
        when_set("email", Text),
        when_set("birthday", Date),
        when_set("gender", Text),
        when_set("country", Text),
        when_set("height", Number),
        when_set("weight", Number),
        when_set("skin_color", Integer),
        always("customer_tag", Text),
        when_set("external_patient_id", Text),
        always("state", Text),
        when_set("hair_density", Integer),
        when_set("device", Object),
        when_set("latest_values", Object),
    ])
    .and_ours(&[always("_id", RecordId), when_set("code", Text)]);
    let mut device = Table::of(&[]).and_ours(&[
        when_set("device_type", Text),
        always("serial_number", Text),
        when_set("firmware_version", Text),
        when_set("battery_level", Integer),
        always("updated_at", UtcMs),
    ]);

    let list = format!("/v1/groups/{}/patients", scene.group);
    let voucher = scene.post(&list, Value::Null).await;
    let unknown = scene.get(&list).await[0].clone();
    table.check(&unknown);
    let expected = json!({"uuid": voucher["uuid"], "_id": voucher["_id"], "code": voucher["code"],
        "state": "pre_created", "customer_tag": scene.group});
    assert_eq!(unknown, expected, "what is not set is left out");

    scene.story.pass_ms(1);
    let grace = scene.story.patient(&scene.key, &scene.group, whole_profile()).await;
    let path = format!("/integration/v1/patients/{}?token={}", grace.uuid, scene.key);
    let tagged = scene.story.ask("PATCH", &path, "", json!({"external_patient_id": "MRN 7"})).await.ok();
    table.check(&tagged);
    let sync = json!({
        "device": {"serial_number": "PW-7", "device_type": "bracelet", "firmware_version": "2.1", "battery_level": 87},
        "data": {"activity": {"timestamp": [START_MS - 1], "bpm": [60]}},
    });
    scene.story.post_as("/health/v1/sync", &grace.health_token, sync).await.ok();
    scene.story.derive().await;
    let whole = scene.get(&format!("{list}?with_latest_values=1")).await[1].clone();
    table.check(&whole);
    device.check(&whole["device"]);
    let expected = json!({
        "uuid": grace.uuid, "first_name": "Grace", "last_name": "Hopper", "email": "grace@example.org",
        "birthday": "1966-12-09", "gender": "female", "country": "Switzerland", "height": 165.5, "weight": 61.0,
        "skin_color": 2, "hair_density": 3, "customer_tag": scene.group, "external_patient_id": "MRN 7",
        "state": "confirmed", "latest_values": {"heart_rate": 60.0, "heart_rate_timestamp": START_MS - 1},
        "device": {"device_type": "bracelet", "serial_number": "PW-7", "firmware_version": "2.1", "battery_level": 87,
            "updated_at": "2025-11-20T00:53:20.001Z"},
    });
    assert_fields(&whole, &expected);

    // Each field can be had alone; the uuid always comes with it.
    for name in expected.as_object().expect("an object").keys() {
        let one = scene.get(&format!("{list}?fields[]={name}&with_latest_values=1")).await[1].clone();
        let mut names: Vec<&str> = one.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut wanted = vec!["latest_values", "uuid", name.as_str()];
        wanted.sort_unstable();
        wanted.dedup();
        names.sort_unstable();
        assert_eq!(names, wanted);
        assert_eq!(&one[name], &expected[name]);
    }
}

#[tokio::test]
async fn table_2_3_anonymous_patient() {
    let scene = Scene::begin().await;
    let mut table =
        Table::of(&[always("uuid", Uuid), always("code", Text), always("state", Text), always("_id", RecordId)]);
    let created = scene.post(&format!("/v1/groups/{}/patients", scene.group), Value::Null).await;
    table.check(&created);
    assert_eq!(created["state"], "pre_created");
    let code = text(&created["code"]);
    let is_of_alphabet = |byte: u8| (byte.is_ascii_uppercase() || byte.is_ascii_digit()) && !b"0O1I".contains(&byte);
    assert!(code.len() == 8 && code.bytes().all(is_of_alphabet), "{code}");
}

#[tokio::test]
async fn table_2_3_voucher_check() {
    let scene = Scene::begin().await;
    // A code that nobody has: only that it does not exist (decisions 4).
    let mut table = Table::of(&[always("exists", Boolean), when_set("state", Text), when_set("created_at", UtcMs)]);
    let created = scene.post(&format!("/v1/groups/{}/patients", scene.group), Value::Null).await;
    let check = format!("/v1/check-voucher-code/{}", text(&created["code"]));
    let fresh = scene.get(&check).await;
    table.check(&fresh);
    assert_eq!(fresh, json!({"exists": true, "state": "pre_created", "created_at": "2025-11-20T00:53:20.000Z"}));
    scene.story.pass_ms(5);
    scene.story.post("/users/activate", json!({"code": created["code"], "password": PASSWORD})).await.ok();
    let used = scene.get(&check).await;
    table.check(&used);
    assert_eq!(used, json!({"exists": true, "state": "confirmed", "created_at": "2025-11-20T00:53:20.000Z"}));
    let unknown = scene.get("/v1/check-voucher-code/NOTTHERE").await;
    table.check(&unknown);
    assert_eq!(unknown, json!({"exists": false}));
}

#[tokio::test]
async fn table_2_11_users_cloud_login() {
    let scene = Scene::begin().await;
    let mut login =
        Table::of(&[always("token", Text), always("ttl", Number), always("refresh_ttl", Text), always("user", Object)]);
    // Of the fields that nothing feeds the specification knows no meaning.
    let mut user = Table::of(&[
        always("_id", RecordId),
        always("uuid", Uuid),
        always("role", Text),
        or_null("first_name", Text),
        or_null("last_name", Text),
        or_null("birthday", Date),
        or_null("gender", Text),
        or_null("country", Text),
        or_null("state", Text),
        always("is_from_old_db", Boolean),
        or_null("email", Text),
        always("updated_at", UtcMs),
        always("created_at", UtcMs),
        or_null("customer_tag", Text),
        or_null("agreement_to_terms_of_use", Boolean),
        or_null("code", Text),
        or_null("customer_code", Text),
    ])
    .and_ours(&[
        always("avatar_id", Null),
        always("partner_b2b_study_center", Null),
        always("brand", Null),
        always("avatar", Null),
        always("must_change_password", Boolean),
    ]);
    let mut log_in = async |credentials: Value| {
        let answer = scene.story.post("/users/login", credentials).await.ok();
        login.check(&answer);
        assert_fields(&answer, &json!({"ttl": 60, "refresh_ttl": "518400"}));
        assert_eq!(text(&answer["token"]).split('.').count(), 3, "a JWT");
        user.check(&answer["user"]);
        answer["user"].clone()
    };
    let grace = scene.story.patient(&scene.key, &scene.group, whole_profile()).await;
    let by_email = log_in(json!({"email": "grace@example.org", "password": PASSWORD})).await;
    assert_eq!(log_in(json!({"code": grace.code, "password": PASSWORD})).await, by_email);
    let expected = json!({
        "uuid": grace.uuid, "role": "patient", "first_name": "Grace", "last_name": "Hopper", "birthday": "1966-12-09",
        "gender": "female", "country": "Switzerland", "state": "confirmed", "is_from_old_db": false,
        "email": "grace@example.org", "created_at": "2025-11-20T00:53:20.000Z",
        "updated_at": "2025-11-20T00:53:20.000Z", "customer_tag": scene.group, "agreement_to_terms_of_use": true,
        "code": grace.code, "customer_code": scene.group, "must_change_password": false,
    });
    assert_fields(&by_email, &expected);

    let nobody = scene.story.patient(&scene.key, &scene.group, json!({})).await;
    let nobody = log_in(json!({"code": nobody.code, "password": PASSWORD})).await;
    assert_fields(&nobody, &json!({"first_name": null, "email": null, "agreement_to_terms_of_use": null}));
    let ada = log_in(json!({"email": "ada@example.org", "password": PASSWORD})).await;
    assert_fields(&ada, &json!({"role": "researcher", "code": null, "state": null, "customer_code": null}));
}

#[tokio::test]
async fn table_2_11_health_cloud_login() {
    let scene = Scene::begin().await;
    let mut login =
        Table::of(&[always("token", Text), always("ttl", Number), always("refresh_ttl", Text), always("user", Object)]);
    // A patient of a study always has its code.
    let mut user = Table::of(&[
        always("_id", RecordId),
        always("uuid", Uuid),
        or_null("birthday", Date),
        always("created_at", UtcMs),
        always("customer_code", Text),
        or_null("gender", Text),
        or_null("height", Number),
        always("role", Text),
        always("updated_at", UtcMs),
        or_null("weight", Number),
        or_null("skin_color", Integer),
        or_null("hair_density", Integer),
    ]);
    let mut log_in = async |users_token: &str| {
        let answer = scene.story.post("/health/login", json!({"user_api_token": users_token})).await.ok();
        login.check(&answer);
        assert_fields(&answer, &json!({"ttl": 60, "refresh_ttl": "518400"}));
        user.check(&answer["user"]);
        answer["user"].clone()
    };
    let grace = scene.story.patient(&scene.key, &scene.group, whole_profile()).await;
    let expected = json!({
        "uuid": grace.uuid, "birthday": "1966-12-09", "created_at": "2025-11-20T00:53:20.000Z",
        "customer_code": scene.group, "gender": "female", "height": 165.5, "role": "patient",
        "updated_at": "2025-11-20T00:53:20.000Z", "weight": 61.0, "skin_color": 2, "hair_density": 3,
    });
    assert_fields(&log_in(&grace.users_token).await, &expected);
    let nobody = scene.story.patient(&scene.key, &scene.group, json!({})).await;
    log_in(&nobody.users_token).await;
}
