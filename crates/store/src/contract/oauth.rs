//! OAuth: clients, consents, codes and refresh tokens.

use super::example_rows::{activation, message, patient, with_ada_in};
use super::sessions::{health_session, staff_password, successor, with_patients};
use super::{Stores, no_settings, on_both_engines};
use crate::ids::{FamilyId, PatientId, SessionId};
use crate::{
    AuthorizationCode, ClientId, Consent, ConsentId, GroupCode, HealthChange, HealthSession, OauthClient, Refreshed,
};

on_both_engines! {
    a_client_is_found_until_it_is_removed
    a_consent_ends_with_client_password_and_withdrawal
    a_code_is_redeemed_once
    a_refresh_token_is_used_once
    old_codes_and_refresh_tokens_are_purged
    a_consent_is_in_use_while_a_code_or_a_token_rests_on_it
}

fn client(id: &str) -> OauthClient {
    OauthClient {
        id: ClientId::new(id),
        secret_hash: Some(vec![1, 2, 3]),
        name: "Diary".to_owned(),
        privacy_policy_url: "https://diary.example/privacy".to_owned(),
        created_ms: 5,
        removed_ms: None,
    }
}

fn consent(id: &str, client: &str) -> Consent {
    Consent {
        id: ConsentId::new(id),
        patient: PatientId::new("uuid-grace"),
        client: ClientId::new(client),
        scope: "patient.read".to_owned(),
        given_ms: 7,
    }
}

fn code(name: &str) -> AuthorizationCode {
    AuthorizationCode {
        code_hash: name.as_bytes().to_vec(),
        client: ClientId::new("c1"),
        consent: ConsentId::new("g1"),
        patient: PatientId::new("grace"),
        redirect_uri: "https://diary.example/back".to_owned(),
        scope: "patient.read".to_owned(),
        challenge: Some("challenge".to_owned()),
        expires_ms: 60,
        family: None,
    }
}

fn token_of(name: &str) -> HealthSession {
    HealthSession {
        client: Some(ClientId::new("c1")),
        consent: Some(ConsentId::new("g1")),
        ..health_session(name, "grace")
    }
}

async fn with_grace(stores: &Stores) {
    with_ada_in(stores, &["AAAAA"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    stores.users.activate_patient(activation("grace", None), message("i2", 0)).await.expect("an answer");
}

async fn a_client_is_found_until_it_is_removed(stores: Stores) {
    let redirects = ["https://b.example/", "https://a.example/"].map(str::to_owned).to_vec();
    stores.users.add_oauth_client(client("c1"), redirects).await.expect("a client");
    let public = OauthClient { secret_hash: None, created_ms: 6, ..client("c2") };
    stores.users.add_oauth_client(public.clone(), Vec::new()).await.expect("a client");
    assert_eq!(stores.users.oauth_client(&ClientId::new("c3")).await.expect("an answer"), None);
    let sorted = ["https://a.example/", "https://b.example/"].map(str::to_owned).to_vec();
    assert_eq!(
        stores.users.oauth_client(&ClientId::new("c1")).await.expect("an answer"),
        Some((client("c1"), sorted.clone()))
    );
    assert!(stores.users.remove_oauth_client(&ClientId::new("c1"), 9, message("i1", 0)).await.expect("an answer"));
    assert!(!stores.users.remove_oauth_client(&ClientId::new("c1"), 10, message("i2", 0)).await.expect("an answer"));
    let removed = OauthClient { removed_ms: Some(9), ..client("c1") };
    let expected = [(removed, sorted), (public, Vec::new())];
    assert_eq!(stores.users.oauth_clients().await.expect("a list"), expected);
    assert_eq!(stores.users.events().undelivered(0, None).await.expect("a list").len(), 1);
}

async fn a_consent_ends_with_client_password_and_withdrawal(stores: Stores) {
    with_grace(&stores).await;
    for id in ["c1", "c2"] {
        stores.users.add_oauth_client(client(id), Vec::new()).await.expect("a client");
    }
    let give = async |id: &str, client: &str, hash: &str| {
        stores.users.add_consent(consent(id, client), hash).await.expect("an answer")
    };
    let is_in_force = async |id: &str| stores.users.consent_is_in_force(&ConsentId::new(id)).await.expect("an answer");
    assert!(!give("g0", "c1", "another hash").await);
    assert!(!is_in_force("g0").await);
    for (id, client) in [("g1", "c1"), ("g2", "c1"), ("g3", "c2")] {
        assert!(give(id, client, "hash").await && is_in_force(id).await, "{id}");
    }
    let expected = [consent("g1", "c1"), consent("g2", "c1"), consent("g3", "c2")];
    assert_eq!(stores.users.consents_of(&PatientId::new("uuid-grace")).await.expect("a list"), expected);

    assert!(stores.users.end_consent(&ConsentId::new("g1"), 20, message("i3", 0)).await.expect("an answer"));
    assert!(!stores.users.end_consent(&ConsentId::new("g1"), 20, message("i4", 0)).await.expect("an answer"));
    assert!(!is_in_force("g1").await && is_in_force("g2").await);
    stores.users.remove_oauth_client(&ClientId::new("c1"), 21, message("i5", 0)).await.expect("an answer");
    assert!(!is_in_force("g2").await && is_in_force("g3").await);
    assert!(!give("g4", "c1", "hash").await);
    let set =
        stores.users.set_patient_password(&PatientId::new("uuid-grace"), staff_password(22), message("i6", 0)).await;
    assert!(set.expect("an answer"));
    assert!(!is_in_force("g3").await);
    assert!(stores.users.consents_of(&PatientId::new("uuid-grace")).await.expect("a list").is_empty());
}

async fn a_code_is_redeemed_once(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    stores.health.add_code(code("one")).await.expect("a code");
    assert_eq!(stores.health.code(b"one").await.expect("an answer"), Some(code("one")));
    assert_eq!(stores.health.code(b"other").await.expect("an answer"), None);
    let redeem = async |name: &str, id: &str| {
        let token_hash = format!("refresh-{id}").into_bytes();
        stores.health.redeem_code(name.as_bytes(), token_of(id), token_hash).await.expect("an answer")
    };
    assert!(!redeem("other", "s0").await);
    assert!(redeem("one", "s1").await);
    assert!(!redeem("one", "s2").await);
    let used = stores.health.code(b"one").await.expect("an answer").expect("it is kept");
    assert_eq!(used.family, Some(FamilyId::new("s1")));
    assert_eq!(stores.health.session(&SessionId::new("s1")).await.expect("an answer"), Some(token_of("s1")));
    assert_eq!(stores.health.session(&SessionId::new("s2")).await.expect("an answer"), None);

    stores.health.add_code(code("two")).await.expect("a code");
    stores.health.drop_code(b"two").await.expect("dropped");
    assert!(!redeem("two", "s3").await);
    stores.health.add_code(code("three")).await.expect("a code");
    let uuid = "grace".to_owned();
    stores
        .health
        .apply(HealthChange::EndSessionsOfPatient { uuid: PatientId::new(uuid), at_ms: 9 })
        .await
        .expect("made");
    assert!(!redeem("three", "s4").await);
    assert!(
        stores.health.session(&SessionId::new("s1")).await.expect("an answer").expect("a session").ended_ms.is_some()
    );
}

async fn a_refresh_token_is_used_once(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    stores.health.add_code(code("one")).await.expect("a code");
    let first = HealthSession { scope: "patient.read patient.sync".to_owned(), ..token_of("s1") };
    assert!(stores.health.redeem_code(b"one", first.clone(), b"r1".to_vec()).await.expect("an answer"));
    let found = stores.health.oauth_refresh_token(b"r1").await.expect("an answer").expect("a token");
    assert_eq!(
        (found.family.as_str(), found.client.as_ref().map(ClientId::as_str), found.patient.as_str()),
        ("s1", Some("c1"), "grace")
    );
    let use_token = async |old: &str, new: &str, id: &str, now_ms: i64| {
        let new_hash = new.as_bytes().to_vec();
        let used =
            stores.health.use_oauth_refresh_token(old.as_bytes(), new_hash, "patient.read", successor(id, now_ms));
        used.await.expect("an answer")
    };
    assert_eq!(use_token("r0", "x", "x", 10).await, Refreshed::Ended);
    let Refreshed::Done(second) = use_token("r1", "r2", "s2", 10).await else { panic!("not refreshed") };
    let narrower = HealthSession {
        id: SessionId::new("s2"),
        issued_ms: 10,
        expires_ms: 60,
        scope: "patient.read".to_owned(),
        ..first.clone()
    };
    assert_eq!(second, narrower);
    let next = stores.health.oauth_refresh_token(b"r2").await.expect("an answer").expect("a token");
    assert_eq!(next.scope, first.scope, "the refresh token keeps what was consented to");
    assert_eq!(use_token("r2", "x", "x", 1000).await, Refreshed::Late);
    assert_eq!(use_token("r1", "x", "x", 10).await, Refreshed::Reused, "at once, without a grace");
    for id in ["s1", "s2"] {
        assert!(
            stores.health.session(&SessionId::new(id)).await.expect("an answer").expect("a session").ended_ms.is_some()
        );
    }
    assert_eq!(use_token("r2", "x", "x", 11).await, Refreshed::Ended);
}

async fn old_codes_and_refresh_tokens_are_purged(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    for (name, id) in [("one", "s1"), ("two", "s2")] {
        stores.health.add_code(code(name)).await.expect("a code");
        assert!(stores.health.redeem_code(name.as_bytes(), token_of(id), id.into()).await.expect("an answer"));
    }
    assert_eq!(stores.health.purge_oauth(60, 1000).await.expect("purged"), 0);
    assert_eq!(stores.health.purge_oauth(61, 1000).await.expect("purged"), 2);
    assert_eq!(stores.health.code(b"one").await.expect("an answer"), None);
    assert_eq!(stores.health.purge_oauth(61, 1001).await.expect("purged"), 2);
    assert_eq!(stores.health.oauth_refresh_token(b"s1").await.expect("an answer"), None);
}

async fn a_consent_is_in_use_while_a_code_or_a_token_rests_on_it(stores: Stores) {
    with_patients(&stores, &["grace", "hedy"]).await;
    let in_use =
        async |now_ms: i64| stores.health.consents_in_use(&PatientId::new("grace"), now_ms).await.expect("a list");
    assert!(in_use(0).await.is_empty());
    stores.health.add_code(code("one")).await.expect("a code");
    assert_eq!(in_use(59).await, [ConsentId::new("g1")]);
    assert!(in_use(60).await.is_empty(), "the code has expired");
    assert!(stores.health.redeem_code(b"one", token_of("s1"), b"r1".to_vec()).await.expect("an answer"));
    let until_ms = token_of("s1").refresh_until_ms;
    assert_eq!(in_use(until_ms - 1).await, [ConsentId::new("g1")], "the token can be refreshed");
    assert!(in_use(until_ms).await.is_empty());
    let other = stores.health.consents_in_use(&PatientId::new("hedy"), 0).await.expect("a list");
    assert!(other.is_empty(), "another patient's");
    assert!(stores.health.end_family(&FamilyId::new("s1"), 10).await.expect("an answer"));
    assert!(in_use(11).await.is_empty());
}
