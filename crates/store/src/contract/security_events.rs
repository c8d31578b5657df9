//! The log of security events.

use super::example_rows::{activation, message, patient, with_ada_in};
use super::sessions::{begin, session};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::ids::MessageId;
use crate::{
    AccountErasure, AccountId, ActorRole, EntityId, GroupCode, HealthChange, HealthMessage, NewSecurityEvent,
    PatientId, SecurityEvent, SecurityEventType, SecurityQuery, User, UserId, UserRole,
};

on_both_engines! {
    events_have_an_order_in_which_they_are_read
    a_good_login_is_written_in_its_transaction
    the_newest_event_is_kept
    the_erased_go_out_of_all_events
}

fn failed(subject: &str) -> NewSecurityEvent {
    NewSecurityEvent {
        subject: Some(EntityId::new(subject)),
        address: Some("192.0.2.1".to_owned()),
        ..NewSecurityEvent::new(SecurityEventType::LoginFailed)
    }
}

fn by(actor: &str) -> NewSecurityEvent {
    NewSecurityEvent {
        actor: Some(UserId::new(actor)),
        actor_role: Some(ActorRole::User(UserRole::Patient)),
        address: Some("192.0.2.2".to_owned()),
        detail: Some("users".to_owned()),
        ..NewSecurityEvent::new(SecurityEventType::LoginSucceeded)
    }
}

async fn read(stores: &Stores, query: SecurityQuery) -> Vec<SecurityEvent> {
    let query = SecurityQuery { limit: if query.limit == 0 { 100 } else { query.limit }, ..query };
    stores.users.security_events(query).await.expect("a page").events
}

async fn numbers(stores: &Stores, query: SecurityQuery) -> Vec<i64> {
    read(stores, query).await.into_iter().map(|event| event.number).collect()
}

async fn events_have_an_order_in_which_they_are_read(stores: Stores) {
    stores.users.add_security_events(vec![failed("a"), by("b")], 10).await.expect("written");
    stores.users.add_security_events(vec![NewSecurityEvent { count: 7, ..failed("a") }], 30).await.expect("written");
    let all = read(&stores, SecurityQuery::default()).await;
    assert_eq!(
        all.iter().map(|event| (event.number, event.time_ms, event.count)).collect::<Vec<_>>(),
        [(1, 10, 1), (2, 10, 1), (3, 30, 7)]
    );
    let expected = SecurityEvent {
        number: 2,
        time_ms: 10,
        event_type: "login_succeeded".to_owned(),
        count: 1,
        actor: Some(UserId::new("b")),
        actor_role: Some("patient".to_owned()),
        subject: None,
        name_hash: None,
        address: Some("192.0.2.2".to_owned()),
        detail: Some("users".to_owned()),
    };
    assert_eq!(all[1], expected);
    let query = SecurityQuery::default;
    assert_eq!(numbers(&stores, SecurityQuery { after: 1, limit: 1, ..query() }).await, [2]);
    assert_eq!(numbers(&stores, SecurityQuery { from_ms: Some(11), ..query() }).await, [3]);
    assert_eq!(numbers(&stores, SecurityQuery { to_ms: Some(10), ..query() }).await, [1, 2]);
    let failures = SecurityQuery { event_type: Some("login_failed".to_owned()), ..query() };
    assert_eq!(numbers(&stores, failures).await, [1, 3]);
}

async fn a_good_login_is_written_in_its_transaction(stores: Stores) {
    with_ada_in(&stores, &[]).await;
    assert!(begin(&stores, session("s1", "uuid-ada")).await);
    let user = User::Account(AccountId::new("uuid-ada"), crate::Role::Researcher);
    let login = || crate::Audit { security: vec![by("uuid-ada")], ..audit(Vec::new(), 40) };
    let add = async |hash: &str, id: &str| {
        stores.users.add_session(session(id, "uuid-ada"), &user, hash, login()).await.expect("an answer")
    };
    assert!(!add("another hash", "s2").await);
    assert_eq!(numbers(&stores, SecurityQuery::default()).await, Vec::<i64>::new(), "a login that came too late");
    assert!(add("hash", "s3").await);
    let written = read(&stores, SecurityQuery::default()).await;
    assert_eq!(written.iter().map(|event| (event.number, event.time_ms)).collect::<Vec<_>>(), [(1, 40)]);
}

async fn the_newest_event_is_kept(stores: Stores) {
    stores.users.add_security_events(vec![failed("a"), failed("b"), failed("c")], 10).await.expect("written");
    assert_eq!(stores.users.purge_security_events(10).await.expect("purged"), 0);
    assert_eq!(stores.users.purge_security_events(11).await.expect("purged"), 2);
    stores.users.add_security_events(vec![failed("d")], 12).await.expect("written");
    assert_eq!(numbers(&stores, SecurityQuery::default()).await, [3, 4], "no number is given twice");
}

async fn the_erased_go_out_of_all_events(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let group = GroupCode::new("AAAAA");
    stores.users.add_patient(patient("grace"), &group, message("i1", 0), no_settings()).await.expect("a patient");
    stores.users.activate_patient(activation("grace", None), message("i2", 0)).await.expect("an answer");
    let events = || vec![failed("uuid-grace"), by("uuid-grace"), failed("uuid-ada")];
    stores.users.add_security_events(events(), 10).await.expect("written");
    let patient = PatientId::new("uuid-grace");
    let erase = HealthMessage {
        id: MessageId::new("e1"),
        change: HealthChange::ErasePatient { uuid: patient.clone(), at_ms: 20 },
        entries: Vec::new(),
        created_ms: 20,
    };
    stores.users.erase_patient(&patient, 20, erase).await.expect("erased");
    assert_eq!(
        stores.users.erasure(&patient).await.expect("an answer").expect("an erasure").counts["security_events"],
        2
    );
    // Counted before the erasure and written after it.
    stores.users.add_security_events(events(), 30).await.expect("written");
    let left = read(&stores, SecurityQuery::default()).await;
    assert_eq!(left.len(), 6, "readers go on behind numbers, so the rows stay");
    let shows = |event: &SecurityEvent| (event.actor.is_some(), event.subject.is_some(), event.address.is_some());
    let nothing = (false, false, false);
    assert_eq!(left.iter().map(shows).collect::<Vec<_>>(), [nothing, nothing, (false, true, true)].repeat(2));
    let erased = stores.users.erase_account(&AccountId::new("uuid-ada"), message("e2", 40)).await.expect("an answer");
    let AccountErasure::Erased(counts) = erased else { panic!("{erased:?}") };
    assert_eq!(counts["security_events"], 2);
    let left = read(&stores, SecurityQuery::default()).await;
    assert_eq!(left.iter().map(shows).collect::<Vec<_>>(), [nothing; 6]);
}
