//! The log of security events.
#![allow(clippy::disallowed_methods, reason = "the writer is held up on purpose")]

use super::example_rows::{activation, message, patient, with_ada_in};
use super::held_head::HeldHead;
use super::sessions::{begin, session};
use super::{Stores, audit, no_settings, on_both_engines, until_waiting};
use crate::ids::MessageId;
use crate::{
    AccountErasure, AccountId, ActorRole, EntityId, GroupCode, HealthChange, HealthMessage, NameHashes,
    NewSecurityEvent, PatientErasure, PatientId, SecurityEvent, SecurityEventType, SecurityQuery, User, UserId,
    UserRole,
};

on_both_engines! {
    events_have_an_order_in_which_they_are_read
    a_good_login_is_written_in_its_transaction
    the_newest_event_is_kept
    the_erased_go_out_of_all_events
    event_that_waits_for_an_erasure_finds_it
    erasure_that_waits_for_an_event_finds_it
    what_was_counted_before_the_erasure_of_an_account_does_not_bring_it_back
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

/// Returns whether an event shows its actor, its subject and its address.
fn shown(event: &SecurityEvent) -> (bool, bool, bool) {
    (event.actor.is_some(), event.subject.is_some(), event.address.is_some())
}

/// A group of Ada's with Grace in it.
async fn with_grace(stores: &Stores) {
    with_ada_in(stores, &["AAAAA"]).await;
    let group = GroupCode::new("AAAAA");
    stores.users.add_patient(patient("grace"), &group, message("i1", 0), no_settings()).await.expect("a patient");
    stores.users.activate_patient(activation("grace", None), message("i2", 0)).await.expect("an answer");
}

/// The erasure of Grace at a time, ms.
fn erasure(at_ms: i64) -> HealthMessage {
    HealthMessage {
        id: MessageId::new("e1"),
        change: HealthChange::ErasePatient { uuid: PatientId::new("uuid-grace"), at_ms },
        entries: Vec::new(),
        created_ms: at_ms,
    }
}

async fn the_erased_go_out_of_all_events(stores: Stores) {
    with_grace(&stores).await;
    let events = || vec![failed("uuid-grace"), by("uuid-grace"), failed("uuid-ada")];
    stores.users.add_security_events(events(), 10).await.expect("written");
    let patient = PatientId::new("uuid-grace");
    stores.users.erase_patient(&patient, PatientErasure::default(), 20, erasure(20)).await.expect("erased");
    assert_eq!(
        stores.users.erasure(&patient).await.expect("an answer").expect("an erasure").counts["security_events"],
        2
    );
    // Counted before the erasure and written after it.
    stores.users.add_security_events(events(), 30).await.expect("written");
    let left = read(&stores, SecurityQuery::default()).await;
    assert_eq!(left.len(), 6, "readers go on behind numbers, so the rows stay");
    let nothing = (false, false, false);
    assert_eq!(left.iter().map(shown).collect::<Vec<_>>(), [nothing, nothing, (false, true, true)].repeat(2));
    let erased = stores
        .users
        .erase_account(&AccountId::new("uuid-ada"), NameHashes::default(), message("e2", 40))
        .await
        .expect("an answer");
    let AccountErasure::Erased(counts) = erased else { panic!("{erased:?}") };
    assert_eq!(counts["security_events"], 2);
    let left = read(&stores, SecurityQuery::default()).await;
    assert_eq!(left.iter().map(shown).collect::<Vec<_>>(), [nothing; 6]);
}

/// Begins two operations while another transaction holds the head of the log, the second once the first waits, and lets go
/// once both do.
async fn in_order<A: Send + 'static, B: Send + 'static>(
    stores: &Stores,
    first: impl Future<Output = A> + Send + 'static,
    second: impl Future<Output = B> + Send + 'static,
) -> (A, B) {
    let held = HeldHead::of(stores).await;
    let first = tokio::spawn(first);
    until_queued(stores, 1).await;
    let second = tokio::spawn(second);
    until_queued(stores, 2).await;
    held.release().await;
    (first.await.expect("joined"), second.await.expect("joined"))
}

/// Waits until so many operations wait: for the head, or for the writer of SQLite.
async fn until_queued(stores: &Stores, operations: usize) {
    if !stores.users.db.is_sqlite() {
        let waiting = i64::try_from(operations).expect("a count");
        return stores.users.db.read(async move |tx| until_waiting(tx, waiting).await).await.expect("waiting");
    }
    while stores.users.counts().writer_queue < Some(operations) {
        tokio::task::yield_now().await;
    }
}

/// Writes what failed of Grace and erases Grace, one waiting for the other; returns how many events the erasure has found,
/// and what each shows afterwards.
async fn left_after(stores: &Stores, first: First) -> (u64, Vec<(bool, bool, bool)>) {
    with_grace(stores).await;
    let patient = PatientId::new("uuid-grace");
    let (users, erased) = (stores.users.clone(), patient.clone());
    let erasing =
        async move { users.erase_patient(&erased, PatientErasure::default(), 20, erasure(20)).await.expect("erased") };
    let users = stores.users.clone();
    let writing = async move {
        users.add_security_events(vec![failed("uuid-grace"), by("uuid-grace")], 20).await.expect("written");
    };
    match first {
        First::Event => in_order(stores, writing, erasing).await,
        First::Erasure => in_order(stores, erasing, writing).await,
    };
    let erasure = stores.users.erasure(&patient).await.expect("an answer").expect("an erasure");
    let left = read(stores, SecurityQuery::default()).await;
    (erasure.counts["security_events"], left.iter().map(shown).collect())
}

/// Order of the two operations.
enum First {
    Event,
    Erasure,
}

async fn event_that_waits_for_an_erasure_finds_it(stores: Stores) {
    assert_eq!(left_after(&stores, First::Erasure).await, (0, vec![(false, false, false); 2]));
}

async fn erasure_that_waits_for_an_event_finds_it(stores: Stores) {
    assert_eq!(left_after(&stores, First::Event).await, (2, vec![(false, false, false); 2]));
}

/// A node counts failures for a minute, and may write them after the erasure and after the files were rewritten.
async fn what_was_counted_before_the_erasure_of_an_account_does_not_bring_it_back(stores: Stores) {
    with_ada_in(&stores, &[]).await;
    let users = &stores.users;
    let erased = users
        .erase_account(&AccountId::new("uuid-ada"), NameHashes::default(), message("e2", 40))
        .await
        .expect("an answer");
    assert!(matches!(erased, AccountErasure::Erased(_)));
    users.add_security_events(vec![failed("uuid-ada"), by("uuid-ada"), failed("uuid-bob")], 41).await.expect("written");
    let rewritten = users.erasures_to_overwrite().await.expect("a list");
    users.note_overwritten(rewritten, 60_000).await.expect("noted");
    users.add_security_events(vec![failed("uuid-ada")], 60_040).await.expect("written");
    let nothing = (false, false, false);
    let left = read(&stores, SecurityQuery::default()).await;
    assert_eq!(left.iter().map(shown).collect::<Vec<_>>(), [nothing, nothing, (false, true, true), nothing]);
    let again = users.erasures_to_overwrite().await.expect("a list");
    assert_eq!(again.accounts, [AccountId::new("uuid-ada")], "kept while events can come");
    users.note_overwritten(again, 3_600_000).await.expect("noted");
    assert_eq!(users.erasures_to_overwrite().await.expect("a list").count(), 0);
}
