//! Sessions of the portal, second factors, and what the board asks.

use super::example_rows::{account, message, shown};
use super::sessions::new_password;
use super::{Stores, audit, on_both_engines};
use crate::{AccountId, NameHashes, NewPassword, PortalSession, PortalSessionId, Role, UsedFactor};

on_both_engines! {
    a_session_is_found_by_its_cookie_until_it_ends
    a_code_works_once
    a_recovery_code_works_once
    a_password_and_a_disabled_account_end_sessions
    sessions_that_ended_by_themselves_are_purged
}

fn session(id: &str) -> PortalSession {
    PortalSession {
        id: PortalSessionId::new(id),
        token_hash: id.as_bytes().to_vec(),
        account: AccountId::new("uuid-ada"),
        view_only: false,
        address: "192.0.2.1".to_owned(),
        user_agent: "a browser".to_owned(),
        created_ms: 10,
        last_seen_ms: 10,
        ends_ms: 100,
    }
}

async fn begin(stores: &Stores, session: PortalSession, factor: UsedFactor) -> bool {
    let hash =
        stores.users.account(&AccountId::new("uuid-ada")).await.expect("an answer").expect("an account").password_hash;
    stores.users.add_portal_session(session, &hash, factor, audit(Vec::new(), 10)).await.expect("an answer")
}

async fn ids(stores: &Stores, now_ms: i64, idle_since_ms: i64) -> Vec<String> {
    let sessions =
        stores.users.portal_sessions(&AccountId::new("uuid-ada"), now_ms, idle_since_ms).await.expect("a list");
    sessions.into_iter().map(|session| session.id.to_string()).collect()
}

async fn a_session_is_found_by_its_cookie_until_it_ends(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(begin(&stores, session("s1"), UsedFactor::None).await);
    let late =
        stores.users.add_portal_session(session("s2"), "another hash", UsedFactor::None, audit(Vec::new(), 10)).await;
    assert!(!late.expect("an answer"));
    let holder = stores.users.portal_holder(b"s1").await.expect("an answer").expect("a session");
    assert_eq!(holder.session, session("s1"));
    assert_eq!((holder.role, holder.must_change_password, holder.has_totp), (Role::Researcher, false, false));
    stores.users.note_portal_seen(&PortalSessionId::new("s1"), 20).await.expect("noted");
    stores.users.note_portal_seen(&PortalSessionId::new("s1"), 15).await.expect("noted");
    let holder = stores.users.portal_holder(b"s1").await.expect("an answer").expect("a session");
    assert_eq!(holder.session.last_seen_ms, 20, "the last use counts, whatever came in last");
    assert!(
        !stores
            .users
            .end_portal_session(&PortalSessionId::new("s1"), &AccountId::new("uuid-eve"))
            .await
            .expect("an answer")
    );
    assert!(
        stores
            .users
            .end_portal_session(&PortalSessionId::new("s1"), &AccountId::new("uuid-ada"))
            .await
            .expect("an answer")
    );
    assert_eq!(stores.users.portal_holder(b"s1").await.expect("an answer"), None);
}

async fn a_code_works_once(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(stores.users.put_totp(&AccountId::new("uuid-ada"), vec![1]).await.expect("an answer"));
    assert!(
        stores.users.put_totp(&AccountId::new("uuid-ada"), vec![2]).await.expect("an answer"),
        "one that waits is replaced"
    );
    assert!(begin(&stores, session("s0"), UsedFactor::None).await, "one that waits is not asked for");
    assert!(!begin(&stores, session("s1"), UsedFactor::Step(5)).await);
    assert!(stores.users.confirm_totp(&AccountId::new("uuid-ada"), shown(5), 30).await.expect("an answer"));
    assert!(!stores.users.confirm_totp(&AccountId::new("uuid-ada"), shown(6), 30).await.expect("an answer"));
    assert!(!stores.users.put_totp(&AccountId::new("uuid-ada"), vec![3]).await.expect("an answer"));
    assert!(!begin(&stores, session("s2"), UsedFactor::None).await, "without a code");
    assert!(!begin(&stores, session("s3"), UsedFactor::Step(5)).await, "the code that confirmed it");
    assert!(begin(&stores, session("s4"), UsedFactor::Step(6)).await);
    assert!(!begin(&stores, session("s5"), UsedFactor::Step(6)).await);
    let holder = stores.users.portal_holder(b"s4").await.expect("an answer").expect("a session");
    assert!(holder.has_totp);
    let kept = stores.users.totp(&AccountId::new("uuid-ada")).await.expect("an answer").expect("a second factor");
    assert_eq!((kept.sealed_secret, kept.confirmed_ms, kept.last_step), (vec![2], Some(30), 6));
    assert!(stores.users.remove_totp(&AccountId::new("uuid-ada")).await.expect("an answer"));
    assert!(begin(&stores, session("s6"), UsedFactor::None).await);
}

async fn a_password_and_a_disabled_account_end_sessions(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    for id in ["s1", "s2", "s3"] {
        assert!(begin(&stores, session(id), UsedFactor::None).await);
    }
    let new = NewPassword { kept_session: Some(PortalSessionId::new("s2")), ..new_password("second") };
    assert!(stores.users.set_account_password(&AccountId::new("uuid-ada"), new, 20).await.expect("an answer"));
    assert_eq!(ids(&stores, 20, 0).await, ["s2"]);
    let new = NewPassword { must_change: true, ..new_password("third") };
    assert!(stores.users.set_account_password(&AccountId::new("uuid-ada"), new, 20).await.expect("an answer"));
    assert!(ids(&stores, 20, 0).await.is_empty());
    assert!(begin(&stores, session("s4"), UsedFactor::None).await);
    assert!(stores.users.portal_holder(b"s4").await.expect("an answer").expect("a session").must_change_password);
    assert!(stores.users.disable_account(&AccountId::new("uuid-ada"), 30, message("i1", 0)).await.expect("an answer"));
    assert!(ids(&stores, 20, 0).await.is_empty());
}

async fn sessions_that_ended_by_themselves_are_purged(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    assert!(begin(&stores, session("idle"), UsedFactor::None).await);
    assert!(begin(&stores, PortalSession { last_seen_ms: 50, ..session("used") }, UsedFactor::None).await);
    assert!(begin(&stores, PortalSession { view_only: true, ..session("wall") }, UsedFactor::None).await);
    assert_eq!(ids(&stores, 60, 20).await, ["used", "wall"]);
    assert_eq!(stores.users.purge_portal_sessions(60, 20).await.expect("a count"), 1);
    assert_eq!(ids(&stores, 60, 0).await, ["used", "wall"]);
    assert_eq!(stores.users.purge_portal_sessions(100, 0).await.expect("a count"), 2);
}

async fn a_recovery_code_works_once(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    stores.users.add_account(account("bob")).await.expect("an account");
    let (ada, bob) = (AccountId::new("uuid-ada"), AccountId::new("uuid-bob"));
    let left = async |who: &AccountId| stores.users.recovery_codes_left(who).await.expect("an answer");
    let with = |code: u8| UsedFactor::RecoveryCode(vec![code]);
    assert!(!stores.users.replace_recovery_codes(&ada, vec![vec![1]]).await.expect("an answer"), "without a factor");
    assert!(stores.users.put_totp(&ada, vec![1]).await.expect("an answer"));
    assert_eq!(left(&ada).await, None, "one that waits has no codes");
    assert!(stores.users.confirm_totp(&ada, shown(5), 30).await.expect("an answer"));
    assert_eq!((left(&ada).await, left(&bob).await), (Some(1), None));
    assert!(stores.users.has_recovery_code(&ada, &[7]).await.expect("an answer"));
    assert!(!stores.users.has_recovery_code(&bob, &[7]).await.expect("an answer"), "of another account");
    assert!(!begin(&stores, session("s1"), with(8)).await);
    assert!(begin(&stores, session("s2"), with(7)).await);
    assert!(!begin(&stores, session("s3"), with(7)).await);
    assert_eq!(left(&ada).await, Some(0));
    assert!(stores.users.replace_recovery_codes(&ada, vec![vec![1], vec![2]]).await.expect("an answer"));
    assert!(stores.users.replace_recovery_codes(&ada, vec![vec![3], vec![4]]).await.expect("an answer"));
    assert!(!begin(&stores, session("s4"), with(1)).await, "of before");
    assert!(begin(&stores, session("s5"), with(3)).await);
    assert!(begin(&stores, session("s6"), UsedFactor::Step(6)).await, "the app goes on");
    assert!(stores.users.remove_totp(&ada).await.expect("an answer"));
    assert!(!stores.users.has_recovery_code(&ada, &[4]).await.expect("an answer"), "they go with the factor");
    assert!(begin(&stores, session("s7"), UsedFactor::None).await);
    // The account can go while it has codes: they refer to it.
    assert!(stores.users.put_totp(&ada, vec![2]).await.expect("an answer"));
    assert!(stores.users.confirm_totp(&ada, shown(9), 31).await.expect("an answer"));
    stores.users.erase_account(&ada, NameHashes::default(), message("e1", 40)).await.expect("an answer");
    assert!(!stores.users.has_recovery_code(&ada, &[7]).await.expect("an answer"));
}
