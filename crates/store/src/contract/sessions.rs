//! Sessions of both databases: how they begin, are refreshed and end.

use super::example_rows::{account, activation, message, patient, shown, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::ids::{MessageId, PatientId};
use crate::{
    AccountId, ApiKeyId, ClientId, ConsentId, FamilyId, GroupCode, HealthChange, HealthSession, NewPassword,
    NewPatientPassword, Profile, Refreshed, Role, Session, SessionId, StoreError, Successor, User, UserId, UserRole,
};

on_both_engines! {
    a_session_begins_while_the_password_is_in_force
    a_password_ends_sessions_and_consents
    a_login_ends_once_and_as_a_whole
    a_token_is_refreshed_and_its_reuse_ends_the_family
    a_health_token_is_refreshed_and_its_reuse_ends_the_family
    health_sessions_end_by_what_they_rest_on
    no_refresh_outlives_the_end_of_its_patient
    no_session_outlives_the_erasure_of_its_patient
    old_families_are_purged
}

pub(super) fn session(id: &str, owner: &str) -> Session {
    Session {
        id: SessionId::new(id),
        owner: UserId::new(owner),
        family: FamilyId::new(id),
        first_issued_ms: 1,
        issued_ms: 1,
        expires_ms: 50,
        refresh_until_ms: 1000,
        replaced_ms: None,
        ended_ms: None,
    }
}

pub(super) fn new_password(hash: &str) -> NewPassword {
    NewPassword { hash: hash.to_owned(), ..NewPassword::default() }
}

/// Returns a password of a patient that staff chose at a time, ms.
pub(super) fn staff_password(now_ms: i64) -> NewPatientPassword {
    NewPatientPassword { hash: "new".to_owned(), must_change: true, now_ms }
}

pub(super) fn health_session(id: &str, patient: &str) -> HealthSession {
    HealthSession {
        id: SessionId::new(id),
        patient: PatientId::new(patient),
        actor: None,
        api_key: None,
        login: None,
        client: None,
        consent: None,
        scope: "patient.read".to_owned(),
        family: FamilyId::new(id),
        first_issued_ms: 1,
        issued_ms: 1,
        expires_ms: 50,
        refresh_until_ms: 1000,
        replaced_ms: None,
        ended_ms: None,
    }
}

/// Puts patients into the health database.
pub(super) async fn with_patients(stores: &Stores, patients: &[&str]) {
    for patient in patients {
        let change = HealthChange::PutPatient {
            uuid: PatientId::new(*patient),
            record_id: crate::ids::RecordId::new(format!("id-{patient}")),
            customer_code: None,
            profile: Profile::default(),
            at_ms: 1,
        };
        stores.health.apply(change).await.expect("made");
    }
}

pub(super) fn successor(id: &str, issued_ms: i64) -> Successor {
    Successor { id: SessionId::new(id), issued_ms, expires_ms: issued_ms + 50 }
}

pub(super) async fn begin(stores: &Stores, session: Session) -> bool {
    let role = if session.owner.as_str() == "uuid-ada" { UserRole::Account(Role::Hcp) } else { UserRole::Patient };
    let owner = User::of(&session.owner, role);
    stores.users.add_session(session, &owner, "hash", audit(Vec::new(), 0)).await.expect("an answer")
}

pub(super) async fn ended_ms(stores: &Stores, id: &str) -> Option<i64> {
    stores.users.session(&SessionId::new(id)).await.expect("an answer").expect("a session").ended_ms
}

async fn a_session_begins_while_the_password_is_in_force(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    assert!(!begin(&stores, session("s0", "uuid-grace")).await, "the patient has no password yet");
    stores.users.activate_patient(activation("grace", None), message("i2", 0)).await.expect("an answer");
    assert!(begin(&stores, session("s1", "uuid-grace")).await);
    assert_eq!(
        stores.users.session(&SessionId::new("s1")).await.expect("an answer"),
        Some(session("s1", "uuid-grace"))
    );
    assert_eq!(stores.users.session(&SessionId::new("s0")).await.expect("an answer"), None);
    assert!(!begin(&stores, session("s2", "uuid-nobody")).await);
    let late = stores
        .users
        .add_session(
            session("s3", "uuid-grace"),
            &User::Patient(PatientId::new("uuid-grace")),
            "older hash",
            audit(Vec::new(), 0),
        )
        .await;
    assert!(!late.expect("an answer"));

    assert!(begin(&stores, session("a1", "uuid-ada")).await);
    assert!(stores.users.put_totp(&AccountId::new("uuid-ada"), vec![1]).await.expect("an answer"));
    assert!(stores.users.confirm_totp(&AccountId::new("uuid-ada"), shown(5), 6).await.expect("an answer"));
    assert_eq!(ended_ms(&stores, "a1").await, Some(6), "begun without a code");
    assert!(!begin(&stores, session("a2", "uuid-ada")).await, "without a code");
    assert!(stores.users.remove_totp(&AccountId::new("uuid-ada")).await.expect("an answer"));
    assert!(begin(&stores, session("a3", "uuid-ada")).await);
    assert!(stores.users.disable_account(&AccountId::new("uuid-ada"), 7, message("i3", 0)).await.expect("an answer"));
    assert!(!begin(&stores, session("a4", "uuid-ada")).await);
}

async fn a_password_ends_sessions_and_consents(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let set = async |id: &str| {
        let set =
            stores.users.set_patient_password(&PatientId::new("uuid-grace"), staff_password(20), message(id, 0)).await;
        set.expect("an answer")
    };
    assert!(!set("i2").await);
    stores.users.activate_patient(activation("grace", None), message("i3", 0)).await.expect("an answer");
    assert!(begin(&stores, session("s1", "uuid-grace")).await);
    assert!(begin(&stores, session("s2", "uuid-ada")).await);
    assert!(set("i4").await);
    let changed = stores.users.patient(&PatientId::new("uuid-grace")).await.expect("an answer").expect("a patient");
    assert_eq!((changed.password_hash.as_deref(), changed.must_change_password), (Some("new"), true));
    assert_eq!((ended_ms(&stores, "s1").await, ended_ms(&stores, "s2").await), (Some(20), None));
    let must_change = async |id: &str| {
        let holder = stores.users.session_holder(&SessionId::new(id)).await.expect("an answer").expect("a session");
        assert_eq!(Some(&holder.session), stores.users.session(&SessionId::new(id)).await.expect("an answer").as_ref());
        holder.must_change_password
    };
    assert_eq!((must_change("s1").await, must_change("s2").await), (true, false));
    assert!(
        stores
            .users
            .set_account_password(&AccountId::new("uuid-ada"), new_password("new"), 30)
            .await
            .expect("an answer")
    );
    assert_eq!(ended_ms(&stores, "s2").await, Some(30));
    let of_operator = NewPassword { hash: "other".to_owned(), must_change: true, kept_session: None };
    assert!(stores.users.set_account_password(&AccountId::new("uuid-ada"), of_operator, 40).await.expect("an answer"));
    assert!(must_change("s2").await);
    assert!(
        stores.users.account(&AccountId::new("uuid-ada")).await.expect("an answer").expect("ada").must_change_password
    );
}

async fn a_login_ends_once_and_as_a_whole(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(begin(&stores, session("s1", "uuid-ada")).await);
    let refreshed =
        stores.users.refresh_session(&SessionId::new("s1"), successor("s2", 10), 60, message("i1", 0)).await;
    assert!(matches!(refreshed.expect("an answer"), Refreshed::Done(_)));
    assert!(stores.users.end_login(&FamilyId::new("s1"), 20, message("i2", 0)).await.expect("an answer"));
    assert!(!stores.users.end_login(&FamilyId::new("s1"), 21, message("i3", 0)).await.expect("an answer"));
    assert_eq!((ended_ms(&stores, "s1").await, ended_ms(&stores, "s2").await), (Some(20), Some(20)));
    let undelivered = stores.users.events().undelivered(0, None).await.expect("a list");
    assert_eq!(undelivered, [crate::events::MessageKey::of_id(&MessageId::new("i2"))]);
}

async fn a_token_is_refreshed_and_its_reuse_ends_the_family(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(begin(&stores, session("s1", "uuid-ada")).await);
    let refresh = async |old: &str, new: &str, now_ms: i64| {
        let undelivered = message(&format!("i-{new}"), 0);
        stores
            .users
            .refresh_session(&SessionId::new(old), successor(new, now_ms), 60, undelivered)
            .await
            .expect("an answer")
    };
    let Refreshed::Done(second) = refresh("s1", "s2", 100).await else { panic!("not refreshed") };
    let expected = Session {
        id: SessionId::new("s2"),
        family: FamilyId::new("s1"),
        issued_ms: 100,
        expires_ms: 150,
        ..session("", "uuid-ada")
    };
    assert_eq!(second, expected);
    assert_eq!(stores.users.session(&SessionId::new("s2")).await.expect("an answer"), Some(expected));
    assert_eq!(
        stores.users.session(&SessionId::new("s1")).await.expect("an answer").expect("the old one").replaced_ms,
        Some(100)
    );

    assert!(matches!(refresh("s1", "s3", 159).await, Refreshed::Done(_)), "an answer can be lost");
    assert_eq!(refresh("nobody", "s4", 160).await, Refreshed::Ended);
    assert_eq!(refresh("s2", "s5", 1000).await, Refreshed::Late);
    assert!(stores.users.events().undelivered(0, None).await.expect("a list").is_empty());
    assert_eq!(refresh("s1", "s6", 160).await, Refreshed::Reused);
    for id in ["s1", "s2", "s3"] {
        assert_eq!(ended_ms(&stores, id).await, Some(160), "{id}");
    }
    assert_eq!(refresh("s2", "s7", 161).await, Refreshed::Ended);
    assert_eq!(stores.users.session(&SessionId::new("s6")).await.expect("an answer"), None);
    assert_eq!(stores.users.events().undelivered(0, None).await.expect("a list").len(), 1);
}

async fn a_health_token_is_refreshed_and_its_reuse_ends_the_family(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let first = HealthSession { login: Some(FamilyId::new("l1")), ..health_session("s1", "grace") };
    stores.health.add_session(first.clone()).await.expect("a session");
    let refresh = async |old: &str, new: &str, now_ms: i64| {
        stores.health.refresh_session(&SessionId::new(old), successor(new, now_ms), 60).await.expect("an answer")
    };
    let Refreshed::Done(second) = refresh("s1", "s2", 100).await else { panic!("not refreshed") };
    assert_eq!(second, HealthSession { id: SessionId::new("s2"), issued_ms: 100, expires_ms: 150, ..first });
    assert!(matches!(refresh("s1", "s3", 159).await, Refreshed::Done(_)));
    assert_eq!(refresh("s1", "s4", 160).await, Refreshed::Reused);
    for id in ["s1", "s2", "s3"] {
        assert!(
            stores.health.session(&SessionId::new(id)).await.expect("an answer").expect("a session").ended_ms.is_some(),
            "{id}"
        );
    }
    assert_eq!(refresh("s3", "s5", 161).await, Refreshed::Ended);
}

async fn health_sessions_end_by_what_they_rest_on(stores: Stores) {
    with_patients(&stores, &["grace", "hedy", "ida"]).await;
    let of = |id: &str, patient: &str| health_session(id, patient);
    let all = [
        HealthSession { login: Some(FamilyId::new("l1")), ..of("own", "grace") },
        HealthSession { actor: Some(AccountId::new("ada")), api_key: Some(ApiKeyId::new("k1")), ..of("ada", "grace") },
        HealthSession { actor: Some(AccountId::new("ada")), api_key: Some(ApiKeyId::new("k2")), ..of("ada2", "hedy") },
        HealthSession { actor: Some(AccountId::new("bob")), api_key: Some(ApiKeyId::new("k3")), ..of("bob", "hedy") },
        HealthSession { client: Some(ClientId::new("c1")), consent: Some(ConsentId::new("g1")), ..of("app1", "hedy") },
        HealthSession { client: Some(ClientId::new("c1")), consent: Some(ConsentId::new("g2")), ..of("app2", "ida") },
        HealthSession { client: Some(ClientId::new("c2")), consent: Some(ConsentId::new("g3")), ..of("app3", "ida") },
        of("ida", "ida"),
    ];
    for session in all.clone() {
        stores.health.add_session(session).await.expect("a session");
    }
    assert_eq!(stores.health.session(&SessionId::new("ada")).await.expect("an answer"), Some(all[1].clone()));
    let standing = async || {
        let mut standing = Vec::new();
        for session in &all {
            let found = stores.health.session(&session.id).await.expect("an answer").expect("a session");
            if found.ended_ms.is_none() {
                standing.push(found.id.to_string());
            }
        }
        standing.join(" ")
    };
    let (at_ms, named) = (5, |text: &str| text.to_owned());
    let changes = [
        (
            HealthChange::EndSessionsOfKey { key_id: ApiKeyId::new(named("k1")), at_ms },
            "own ada2 bob app1 app2 app3 ida",
        ),
        (
            HealthChange::EndSessionsOfActor { account: AccountId::new(named("ada")), at_ms },
            "own bob app1 app2 app3 ida",
        ),
        (HealthChange::EndReadersOfPatient { uuid: PatientId::new(named("hedy")), at_ms }, "own app1 app2 app3 ida"),
        (HealthChange::EndSessionsOfLogin { login: FamilyId::new(named("l1")), at_ms }, "app1 app2 app3 ida"),
        (HealthChange::EndSessionsOfConsent { consent: ConsentId::new(named("g1")), at_ms }, "app2 app3 ida"),
        (HealthChange::EndSessionsOfClient { client: ClientId::new(named("c1")), at_ms }, "app3 ida"),
    ];
    for (change, left) in changes {
        stores.health.apply(change).await.expect("made");
        assert_eq!(standing().await, left);
    }
    assert!(stores.health.end_family(&FamilyId::new("ida"), 5).await.expect("an answer"));
    assert!(!stores.health.end_family(&FamilyId::new("ida"), 6).await.expect("an answer"));
    assert_eq!(standing().await, "app3");
    let uuid = "ida".to_owned();
    stores
        .health
        .apply(HealthChange::EndSessionsOfPatient { uuid: PatientId::new(uuid), at_ms: 7 })
        .await
        .expect("made");
    assert_eq!(standing().await, "");
}

/// Whichever of the two comes first, no token is left in force.
async fn no_refresh_outlives_the_end_of_its_patient(stores: Stores) {
    for round in 0..40 {
        let (first, patient) = (format!("s{round}"), format!("p{round}"));
        with_patients(&stores, &[patient.as_str()]).await;
        stores.health.add_session(health_session(&first, &patient)).await.expect("a session");
        let refresh = {
            let (health, old, new) = (stores.health.clone(), first.clone(), format!("{first}-next"));
            runtime::spawn("race", async move {
                health.refresh_session(&SessionId::new(old.as_str()), successor(&new, 10), 60).await
            })
        };
        let end = {
            let health = stores.health.clone();
            let change = HealthChange::EndSessionsOfPatient { uuid: PatientId::new(patient), at_ms: 10 };
            runtime::spawn("race", async move { health.apply(change).await })
        };
        let refreshed = refresh.await.expect("no panic").expect("an answer");
        end.await.expect("no panic").expect("made");
        for id in [first.clone(), format!("{first}-next")] {
            let left = stores.health.session(&SessionId::new(id.as_str())).await.expect("an answer");
            assert!(left.is_none_or(|session| session.ended_ms.is_some()), "{id} is in force after {refreshed:?}");
        }
    }
}

/// Whichever of the two comes first, no row with the patient's uuid is left.
async fn no_session_outlives_the_erasure_of_its_patient(stores: Stores) {
    for round in 0..20 {
        let (first, patient) = (format!("s{round}"), format!("p{round}"));
        with_patients(&stores, &[patient.as_str()]).await;
        stores.health.add_session(health_session(&first, &patient)).await.expect("a session");
        let refresh = {
            let (health, old, new) = (stores.health.clone(), first.clone(), format!("{first}-next"));
            runtime::spawn("race", async move {
                health.refresh_session(&SessionId::new(old.as_str()), successor(&new, 10), 60).await
            })
        };
        let add = {
            let (health, session) = (stores.health.clone(), health_session(&format!("{first}-other"), &patient));
            runtime::spawn("race", async move { health.add_session(session).await })
        };
        let erase = {
            let (health, patient) = (stores.health.clone(), patient.clone());
            runtime::spawn("race", async move { health.erase_rows(&PatientId::new(patient.as_str()), 10).await })
        };
        for outcome in [refresh.await.expect("no panic").map(drop), add.await.expect("no panic")] {
            assert!(matches!(outcome, Ok(()) | Err(StoreError::Gone("patient"))), "{outcome:?}");
        }
        erase.await.expect("no panic").expect("erased");
        for id in [first.clone(), format!("{first}-next"), format!("{first}-other")] {
            assert_eq!(stores.health.session(&SessionId::new(id.as_str())).await.expect("an answer"), None, "{id}");
        }
    }
}

async fn old_families_are_purged(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(begin(&stores, session("s1", "uuid-ada")).await);
    assert!(begin(&stores, Session { refresh_until_ms: 2000, ..session("s2", "uuid-ada") }).await);
    let refreshed =
        stores.users.refresh_session(&SessionId::new("s1"), successor("s3", 10), 60, message("i1", 0)).await;
    assert!(matches!(refreshed.expect("an answer"), Refreshed::Done(_)));
    assert_eq!(stores.users.purge_sessions(1000).await.expect("purged"), 0);
    assert_eq!(stores.users.purge_sessions(1001).await.expect("purged"), 2);
    assert!(stores.users.session(&SessionId::new("s2")).await.expect("an answer").is_some());

    with_patients(&stores, &["grace"]).await;
    stores.health.add_session(health_session("h1", "grace")).await.expect("a session");
    assert_eq!(stores.health.purge_sessions(1000).await.expect("purged"), 0);
    assert_eq!(stores.health.purge_sessions(1001).await.expect("purged"), 1);
}
