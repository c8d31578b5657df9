//! The first and the last value that each attribute of a person may have, wherever it can be set.

use serde_json::{Value, json};

use crate::common::PASSWORD;
use crate::common::study::{Study, wrong_fields};

/// An attribute with values that are taken and values that are not.
struct Limit {
    field: &'static str,
    taken: Vec<Value>,
    refused: Vec<Value>,
}

fn limit(field: &'static str, taken: Value, refused: Value) -> Limit {
    let values = |list: Value| list.as_array().expect("a list").clone();
    Limit { field, taken: values(taken), refused: values(refused) }
}

/// The clock of the stories says 20 November 2025 in UTC.
fn limits() -> Vec<Limit> {
    let (longest, too_long) = ("ä".repeat(200), "ä".repeat(201));
    // An address has at most 254 characters (of RFC 5321, 4.5.3.1.3, with the brackets taken off, where each is a byte).
    let address = |length: usize| format!("{}@example.org", "g".repeat(length - "@example.org".len()));
    vec![
        limit("first_name", json!([longest, "G", "Ann Marie", "O'Hara", "名"]), json!([too_long, 7, ["G"], {}])),
        limit("last_name", json!([longest, "H"]), json!([too_long, true])),
        limit("country", json!([longest, "Côte d'Ivoire"]), json!([too_long, 41])),
        limit(
            "email",
            json!([address(254), address(254).replace('g', "ä"), "a@b"]),
            json!([address(255), "a@", "@b", "a@b@c", "a b@c", "a\n@b", "a\u{feff}@b", "", 5]),
        ),
        limit(
            "birthday",
            json!(["1880-01-01", "2024-02-29", "2025-11-20"]),
            json!(["1879-12-31", "2025-11-21", "2025-02-29", "2025-13-01", "1980-1-1", "19800101", "", 1980]),
        ),
        limit("gender", json!(["female", "male", "other"]), json!(["", "Female", "f", "unknown", 1])),
        limit("height", json!([20, 20.0, 165.5, 300]), json!([19.999, 300.001, 0, -170, 1e300, "170", [170]])),
        limit("weight", json!([0.2, 61, 700]), json!([0.199, 700.001, 0, -61, "61 kg"])),
        limit("skin_color", json!([1, 6]), json!([0, 7, -1, 2.5, "2", 9_223_372_036_854_775_807_i64])),
        limit("hair_density", json!([1, 4]), json!([0, 5, 1.5, "1"])),
    ]
}

#[tokio::test]
async fn staff_sets_every_attribute_up_to_its_limits() {
    let study = Study::begin().await;
    let path = study.of_grace("/profile");
    for Limit { field, taken, refused } in limits() {
        for value in taken {
            let row = study.ask("PUT", &path, json!({ field: value })).await.ok();
            let is_same = row[field] == value || row[field].as_f64() == value.as_f64();
            assert!(is_same && !row[field].is_null(), "{field} {value}: {row}");
        }
        let before = study.row().await;
        for value in refused {
            let answer = study.ask("PUT", &path, json!({ field: value })).await;
            assert_eq!(wrong_fields(&answer), [field], "{value}");
            assert_eq!(study.row().await, before, "{field} {value} was stored");
        }
    }
}

#[tokio::test]
async fn patients_set_their_own_attributes_up_to_the_same_limits() {
    let study = Study::begin().await;
    let token = &study.grace.users_token;
    let change = async |mut body: Value| {
        if body.get("email").is_some() {
            body["password"] = json!(PASSWORD);
        }
        study.story.ask("PATCH", "/users/me", token, body).await
    };
    let own = async || study.story.get_as("/users/me", token).await.ok();
    for Limit { field, taken, refused } in limits() {
        for value in taken {
            change(json!({ field: value })).await.ok();
            let row = study.row().await;
            let is_same = row[field] == value || row[field].as_f64() == value.as_f64();
            assert!(is_same && !row[field].is_null(), "{field} {value}: {row}");
        }
        let before = (study.row().await, own().await);
        for value in refused {
            assert_eq!(wrong_fields(&change(json!({ field: value })).await), [field], "{value}");
        }
        assert_eq!((study.row().await, own().await), before, "{field}");
    }
    for zone in ["UTC", "Europe/Zurich", "America/Argentina/Buenos_Aires", "Pacific/Apia", "Etc/GMT+12"] {
        change(json!({"time_zone": zone})).await.ok();
    }
    for zone in [json!("Mars/Olympus"), json!("+01:00"), json!("Europe/"), json!(1)] {
        assert_eq!(wrong_fields(&change(json!({"time_zone": zone})).await), ["time_zone"], "{zone}");
    }
    for agreed in [true, false] {
        let user = change(json!({"agreement_to_terms_of_use": agreed})).await.ok();
        assert_eq!(user["agreement_to_terms_of_use"], agreed);
    }
    assert_eq!(wrong_fields(&change(json!({"agreement_to_terms_of_use": "yes"})).await), ["agreement_to_terms_of_use"]);
}

#[tokio::test]
async fn activation_takes_the_same_values_and_names_every_wrong_one_at_once() {
    let study = Study::begin().await;
    let code = study.voucher().await;
    let (mut worst, mut best) =
        (json!({"code": code, "password": PASSWORD}), json!({"code": code, "password": PASSWORD}));
    let mut fields = Vec::new();
    for Limit { field, taken, refused } in limits() {
        worst[field] = refused[0].clone();
        best[field] = taken[0].clone();
        fields.push(field.to_owned());
    }
    fields.sort_unstable();
    let refused = study.story.post("/users/activate", worst).await;
    assert_eq!(wrong_fields(&refused), fields);
    let check = format!("/v1/check-voucher-code/{code}");
    assert_eq!(study.read(&check).await["state"], "pre_created", "a refused activation uses no voucher");
    let activated = study.story.post("/users/activate", best.clone()).await.ok();
    for field in ["first_name", "last_name", "country", "email", "birthday", "gender"] {
        assert_eq!(activated["user"][field], best[field], "{field}");
    }
    assert_eq!(study.read(&check).await["state"], "confirmed");
}

#[tokio::test]
async fn unreadable_fields_and_fields_out_of_range_are_refused_together() {
    let study = Study::begin().await;
    let before = study.row().await;
    let body = json!({"birthday": "2030-01-01", "gender": "unknown", "height": 3, "weight": "61 kg", "email": 5});
    let fields = ["birthday", "email", "gender", "height", "weight"];
    let by_staff = study.ask("PUT", &study.of_grace("/profile"), body.clone()).await;
    assert_eq!(wrong_fields(&by_staff), fields);
    let own = study.story.ask("PATCH", "/users/me", &study.grace.users_token, body.clone()).await;
    assert_eq!(wrong_fields(&own), fields);
    let mut activation = body;
    activation["code"] = json!(study.voucher().await);
    let refused = study.story.post("/users/activate", activation).await;
    assert_eq!(wrong_fields(&refused), ["birthday", "email", "gender", "height", "password", "weight"]);
    assert_eq!(refused.body["errors"]["password"], json!(["is required"]), "one reason for one field");
    let body = json!({"external_patient_id": 7, "customer_tag": "AB", "time_zone": "Nowhere"});
    let refused = study.ask("PATCH", &study.of_grace(""), body).await;
    assert_eq!(wrong_fields(&refused), ["customer_tag", "external_patient_id", "time_zone"]);
    let alone = study.ask("PUT", &study.of_grace("/profile"), json!({"gender": "unknown"})).await;
    assert_eq!(wrong_fields(&alone), ["gender"], "an unreadable field is not a missing one");
    assert_eq!(study.row().await, before);
}

#[tokio::test]
async fn several_wrong_attributes_leave_the_right_ones_unstored() {
    let study = Study::begin().await;
    let before = study.row().await;
    let body = json!({"first_name": "Grace", "height": 165, "weight": 0, "skin_color": 9, "gender": "other"});
    let refused = study.ask("PUT", &study.of_grace("/profile"), body).await;
    assert_eq!(wrong_fields(&refused), ["skin_color", "weight"]);
    assert_eq!(study.row().await, before);
    let body = json!({"external_patient_id": "7", "customer_tag": "AB", "time_zone": "Nowhere"});
    let refused = study.ask("PATCH", &study.of_grace(""), body).await;
    assert_eq!(wrong_fields(&refused), ["customer_tag", "time_zone"]);
    assert_eq!(study.row().await, before);
    // A duplicate e-mail is found when it is written, and takes the other fields back with it.
    let body = json!({"first_name": "Grace", "height": 165, "email": "ada@example.org"});
    let refused = study.ask("PUT", &study.of_grace("/profile"), body).await;
    assert_eq!(refused.error(), (409, "duplicate_email"));
    assert_eq!(study.row().await, before);
}

#[tokio::test]
async fn attributes_of_a_study_have_limits_of_their_own() {
    let study = Study::begin().await;
    let path = study.of_grace("");
    for (field, taken, refused) in [
        ("external_patient_id", json!("x".repeat(200)), json!("x".repeat(201))),
        ("customer_tag", json!("a1B2c"), json!("a1B2")),
        ("customer_tag", json!("00000"), json!("a1B2c3")),
        ("customer_tag", json!("ZZZZZ"), json!("äbcde")),
        ("customer_tag", json!("AAAAA"), json!("A A A")),
    ] {
        let row = study.ask("PATCH", &path, json!({ field: taken })).await.ok();
        assert_eq!(row[field], taken);
        let answer = study.ask("PATCH", &path, json!({ field: refused })).await;
        assert_eq!(wrong_fields(&answer), [field], "{refused}");
        assert_eq!(study.row().await[field], taken);
    }
}

#[tokio::test]
async fn empty_text_takes_an_attribute_away_and_a_missing_one_leaves_it() {
    let study =
        Study::begin_with(json!({"first_name": "Grace", "last_name": "Hopper", "country": "Switzerland"})).await;
    study.ask("PATCH", &study.of_grace(""), json!({"external_patient_id": "7"})).await.ok();
    let row = study.ask("PUT", &study.of_grace("/profile"), json!({"last_name": ""})).await.ok();
    assert_eq!((&row["first_name"], &row["country"]), (&json!("Grace"), &json!("Switzerland")));
    assert!(row.get("last_name").is_none(), "what is not set is left out: {row}");
    let row = study.ask("PATCH", &study.of_grace(""), json!({"external_patient_id": " "})).await.ok();
    assert!(row.get("external_patient_id").is_none(), "{row}");
    assert_eq!(row["customer_tag"], study.group.as_str(), "the other attribute of a study stays");
    let user = study.story.ask("PATCH", "/users/me", &study.grace.users_token, json!({"country": ""})).await.ok();
    assert_eq!((&user["country"], &user["first_name"]), (&Value::Null, &json!("Grace")));
}

#[tokio::test]
async fn what_staff_has_entered_before_stays_where_the_patient_says_nothing() {
    let study = Study::begin().await;
    let created = study.ask("POST", &study.of_group("/patients"), Value::Null).await.ok();
    let (uuid, code) = (&created["uuid"], &created["code"]);
    let path = format!("/v1/patients/{}", uuid.as_str().expect("a uuid"));
    let body = json!({"first_name": "Hedy", "last_name": "L.", "height": 170, "gender": "female"});
    study.ask("PUT", &format!("{path}/profile"), body).await.ok();
    study.ask("PATCH", &path, json!({"external_patient_id": "H-1"})).await.ok();
    let activation = json!({"code": code, "password": PASSWORD, "first_name": "", "last_name": "Lamarr", "weight": 58});
    let user = study.story.post("/users/activate", activation).await.ok()["user"].clone();
    assert_eq!((&user["first_name"], &user["last_name"]), (&json!("Hedy"), &json!("Lamarr")));
    assert_eq!(user["gender"], "female");
    let rows = study.read(&study.of_group("/patients")).await;
    let row = rows.as_array().expect("a list").iter().find(|row| row["uuid"] == *uuid).expect("a row").clone();
    assert_eq!((&row["height"], &row["weight"]), (&json!(170.0), &json!(58.0)));
    assert_eq!(row["external_patient_id"], "H-1");
}

#[tokio::test]
async fn a_time_zone_is_shown_to_its_patient_and_to_staff_that_asks_for_it() {
    let study = Study::begin().await;
    let own = async || study.story.get_as("/users/me", &study.grace.users_token).await.ok();
    assert_eq!(own().await["time_zone"], "Europe/Zurich");
    study.ask("PATCH", &study.of_grace(""), json!({"time_zone": "Asia/Tokyo"})).await.ok();
    assert_eq!(own().await["time_zone"], "Asia/Tokyo");
    let rows = study.read(&study.of_group("/patients?fields=time_zone")).await;
    assert_eq!(rows, json!([{"uuid": study.grace.uuid, "time_zone": "Asia/Tokyo"}]));
    assert!(study.row().await.get("time_zone").is_none(), "the specification's row has none");
    let login = json!({"code": study.grace.code, "password": PASSWORD});
    let user = study.story.post("/users/login", login).await.ok()["user"].clone();
    assert!(user.get("time_zone").is_none(), "nor has the specification's login: {user}");
}

#[tokio::test]
async fn blank_names_at_activation_are_no_names() {
    let study = Study::begin().await;
    for blank in ["", "   ", "\t\n"] {
        let code = study.voucher().await;
        let names = json!({"first_name": blank, "last_name": blank, "country": blank});
        let mut activation = names.clone();
        activation["code"] = json!(code);
        activation["password"] = json!(PASSWORD);
        let user = study.story.post("/users/activate", activation).await.ok()["user"].clone();
        let rows = study.read(&study.of_group("/patients")).await;
        let row =
            rows.as_array().expect("a list").iter().find(|row| row["uuid"] == user["uuid"]).expect("a row").clone();
        for field in ["first_name", "last_name", "country"] {
            assert!(user[field].is_null(), "{field} {blank:?}: {user}");
            assert!(row.get(field).is_none(), "{field} {blank:?}: {row}");
        }
    }
}
