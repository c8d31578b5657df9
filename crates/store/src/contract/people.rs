//! Accounts, keys, groups, patients and sessions of the users database.

use std::collections::BTreeSet;

use super::example_rows::{account, activation, bracelet, group, message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines, until_waiting};
use crate::events::MessageKey;
use crate::ids::{AttachmentId, MessageId, PatientId, SerialNumber};
use crate::{
    Account, AccountId, Activation, ApiKey, ApiKeyId, BraceletId, GroupCode, Patient, PatientState, PersonChange, Role,
    SigningKey, StoreError,
};

on_both_engines! {
    an_account_is_found_by_uuid_and_by_email
    an_email_belongs_to_one_person
    account_with_unknown_role_is_damaged
    a_key_leads_to_its_holder
    a_scoped_key_acts_on_its_groups
    a_scoped_key_without_groups_opens_nothing
    an_email_wanted_by_two_at_once_goes_to_one
    what_is_sealed_is_returned
    access_follows_membership
    a_patient_is_activated_once
    activation_takes_nothing_back_that_was_written_meanwhile
    message_is_completed_once
    the_newest_signing_key_signs
}

pub(super) fn key(name: &str, account: &str) -> ApiKey {
    ApiKey {
        id: ApiKeyId::new(name),
        key_hash: name.as_bytes().to_vec(),
        prefix: "pwk_abc".to_owned(),
        account: AccountId::new(format!("uuid-{account}")),
        is_scoped: false,
        name: None,
        created_ms: 5,
        expires_ms: None,
        revoked_ms: None,
        last_used_ms: None,
    }
}

async fn an_account_is_found_by_uuid_and_by_email(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("an account");
    stores.users.add_account(account("bob")).await.expect("an account");
    assert_eq!(stores.users.account(&AccountId::new("uuid-ada")).await.expect("an answer"), Some(account("ada")));
    assert_eq!(stores.users.account_by_email("bob@example.org").await.expect("an answer"), Some(account("bob")));
    assert_eq!(stores.users.account_by_email("eve@example.org").await.expect("an answer"), None);
    assert_eq!(stores.users.accounts().await.expect("a list"), [account("ada"), account("bob")]);

    assert!(stores.users.set_subscription(&AccountId::new("uuid-ada"), None, 7).await.expect("set"));
    assert!(!stores.users.set_subscription(&AccountId::new("uuid-eve"), None, 7).await.expect("not set"));
    let changed = stores.users.account(&AccountId::new("uuid-ada")).await.expect("an answer").expect("ada");
    assert_eq!((changed.subscription_until_ms, changed.updated_ms), (None, 7));
}

async fn account_with_unknown_role_is_damaged(stores: Stores) {
    stores.users.add_account(account("ada")).await.expect("added");
    let to_nurse = "UPDATE account SET role = 'nurse' WHERE uuid = 'uuid-ada'";
    stores.users.db.write(async move |tx| tx.execute(to_nurse, &[]).await).await.expect("written");
    let found = stores.users.account(&AccountId::new("uuid-ada")).await;
    assert!(matches!(&found, Err(StoreError::Damaged(text)) if text == "a row: \"nurse\" is no Role"), "{found:?}");
}

async fn an_email_belongs_to_one_person(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let again = Account { uuid: AccountId::new("another"), id: crate::ids::RecordId::new("another"), ..account("ada") };
    assert!(matches!(stores.users.add_account(again).await, Err(StoreError::Conflict(_))));

    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let taken = stores.users.activate_patient(activation("grace", Some("ada@example.org")), message("i2", 0)).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))));
    let own = stores.users.activate_patient(activation("grace", Some("grace@example.org")), message("i2", 0)).await;
    assert!(own.expect("an answer"));
    assert!(matches!(stores.users.add_account(account("grace")).await, Err(StoreError::Conflict(_))));

    stores
        .users
        .add_patient(patient("hedy"), &GroupCode::new("AAAAA"), message("i3", 0), no_settings())
        .await
        .expect("a patient");
    let taken = stores.users.activate_patient(activation("hedy", Some("grace@example.org")), message("i4", 0)).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))));
}

async fn a_key_leads_to_its_holder(stores: Stores) {
    with_ada_in(&stores, &[]).await;
    stores.users.add_api_key(key("k1", "ada"), Vec::new()).await.expect("a key");
    assert_eq!(stores.users.key_holder(b"other").await.expect("an answer"), None);
    let holder = stores.users.key_holder(b"k1").await.expect("an answer").expect("a holder");
    assert_eq!((holder.account.as_str(), holder.role), ("uuid-ada", Role::Researcher));
    assert_eq!((holder.key_scoped, holder.key_revoked_ms, holder.subscription_until_ms), (false, None, Some(1000)));

    stores.users.note_key_used(&ApiKeyId::new("k1"), 60).await.expect("noted");
    assert!(stores.users.revoke_api_key(&ApiKeyId::new("k1"), 70, message("i1", 70)).await.expect("an answer"));
    assert!(!stores.users.revoke_api_key(&ApiKeyId::new("k1"), 80, message("i2", 80)).await.expect("an answer"));
    let revoked = ApiKey { revoked_ms: Some(70), last_used_ms: Some(60), ..key("k1", "ada") };
    assert_eq!(
        stores.users.api_keys(&AccountId::new("uuid-ada")).await.expect("a list"),
        std::slice::from_ref(&revoked)
    );
    assert_eq!(stores.users.api_key(&ApiKeyId::new("k1")).await.expect("an answer"), Some(revoked));
    assert_eq!(stores.users.events().undelivered(1000, None).await.expect("a list").len(), 1);
}

async fn a_scoped_key_acts_on_its_groups(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    stores.users.add_api_key(key("all", "ada"), Vec::new()).await.expect("a key");
    stores
        .users
        .add_api_key(ApiKey { is_scoped: true, ..key("only", "ada") }, vec![GroupCode::new("BBBBB")])
        .await
        .expect("a key");
    assert!(stores.users.key_holder(b"only").await.expect("an answer").expect("a holder").key_scoped);

    let both = [group("AAAAA", 0), group("BBBBB", 1)];
    assert_eq!(stores.users.groups_of(&AccountId::new("uuid-ada"), None).await.expect("a list"), both);
    assert_eq!(
        stores.users.groups_of(&AccountId::new("uuid-ada"), Some(&ApiKeyId::new("only"))).await.expect("a list"),
        both[1..]
    );
    for (key, code, allowed) in [("all", "AAAAA", true), ("only", "AAAAA", false), ("only", "BBBBB", true)] {
        let access = stores
            .users
            .group_access(&GroupCode::new(code), &AccountId::new("uuid-ada"), Some(&ApiKeyId::new(key)))
            .await
            .expect("an answer")
            .expect("a group");
        assert_eq!(access.allowed, allowed, "{key} {code}");
    }
    for (key, allowed) in [("all", true), ("only", false)] {
        let access = stores
            .users
            .patient_access(&PatientId::new("uuid-grace"), &AccountId::new("uuid-ada"), Some(&ApiKeyId::new(key)))
            .await
            .expect("an answer");
        assert_eq!(access.expect("a patient").allowed, allowed, "{key}");
    }
}

async fn a_scoped_key_without_groups_opens_nothing(stores: Stores) {
    let users = &stores.users;
    with_ada_in(&stores, &["AAAAA"]).await;
    let (ada, only) = (AccountId::new("uuid-ada"), ApiKeyId::new("only"));
    let enrolled = users.add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings()).await;
    enrolled.expect("a patient");
    users.add_bracelet(bracelet("s1", "ada"), audit(Vec::new(), 0)).await.expect("a bracelet");
    let scoped = ApiKey { is_scoped: true, ..key("only", "ada") };
    users.add_api_key(scoped, vec![GroupCode::new("AAAAA")]).await.expect("a key");
    let taken = "DELETE FROM api_key_group";
    users.db.write(async move |tx| tx.execute(taken, &[]).await).await.expect("deleted");

    assert!(users.key_holder(b"only").await.expect("an answer").expect("a holder").key_scoped);
    assert!(users.groups_of(&ada, Some(&only)).await.expect("a list").is_empty());
    let of_group = users.group_access(&GroupCode::new("AAAAA"), &ada, Some(&only)).await.expect("an answer");
    assert!(!of_group.expect("a group").allowed);
    let of_patient = users.patient_access(&PatientId::new("uuid-grace"), &ada, Some(&only)).await.expect("an answer");
    assert!(!of_patient.expect("a patient").allowed);
    let allowed = async || {
        let found = users.bracelet(&SerialNumber::new("s1"), &ada, Some(&only)).await.expect("an answer");
        (found.expect("a bracelet").1, users.bracelets(&ada, Some(&only)).await.expect("a list").len())
    };
    assert_eq!(allowed().await, (false, 0), "idle");
    let worn = users
        .attach_bracelet(
            &AttachmentId::new("worn"),
            &BraceletId::new("id-s1"),
            &PatientId::new("uuid-grace"),
            2,
            message("worn", 0),
        )
        .await;
    worn.expect("attached");
    assert_eq!(allowed().await, (false, 0), "worn");
}

/// Makes what is waited for in a test wait: on PostgreSQL an account is about to be added under a record identifier that
/// another transaction has taken and gives back, so that the account has passed all its checks when a patient wants its
/// address. SQLite lets one write at a time.
async fn wanted_by_two(stores: &Stores, name: &str, by_patient: impl Future<Output = crate::error::Result<bool>>) {
    let users = &stores.users;
    if users.db.is_sqlite() {
        let (account, patient) = futures::join!(users.add_account(account(name)), by_patient);
        assert_eq!((account.is_ok(), matches!(patient, Err(StoreError::Conflict(_)))), (true, true), "{patient:?}");
        return;
    }
    let (taken, is_taken) = tokio::sync::oneshot::channel();
    let (waits, account_waits) = tokio::sync::oneshot::channel();
    let (mut taken, mut waits) = (Some(taken), Some(waits));
    let blocker = Account { email: "r@example.org".to_owned(), uuid: AccountId::new("r"), ..account(name) };
    let holding = users.db.write(async move |tx| {
        let add = "INSERT INTO account (uuid, id, email, role, password_hash, created_ms, updated_ms)
            VALUES ($1, $2, $3, 'hcp', 'hash', 1, 1)";
        tx.execute(add, &[&blocker.uuid, &blocker.id, &blocker.email]).await?;
        let _ = taken.take().map(|taken| taken.send(()));
        until_waiting(tx, 1).await?;
        let _ = waits.take().map(|waits| waits.send(()));
        until_waiting(tx, 2).await?;
        Err::<(), _>(StoreError::Gone("wish"))
    });
    let adding = async {
        is_taken.await.expect("it is taken");
        users.add_account(account(name)).await
    };
    let wishing = async {
        account_waits.await.expect("the account waits");
        by_patient.await
    };
    let (held, account, patient) = futures::join!(holding, adding, wishing);
    assert!(matches!(held, Err(StoreError::Gone("wish"))), "{held:?}");
    assert!(account.is_ok(), "{account:?}");
    assert!(matches!(patient, Err(StoreError::Conflict(_))), "{patient:?}");
}

async fn an_email_wanted_by_two_at_once_goes_to_one(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let users = &stores.users;
    let group = GroupCode::new("AAAAA");
    users.add_patient(patient("grace"), &group, message("i", 0), no_settings()).await.expect("a patient");
    let activating = users.activate_patient(activation("grace", Some("bob@example.org")), message("m", 0));
    Box::pin(wanted_by_two(&stores, "bob", activating)).await;
    let change = PersonChange {
        uuid: PatientId::new("uuid-grace"),
        email: Some("eve@example.org".to_owned()),
        removes_email: false,
        known: "{}".to_owned(),
        person: "{}".to_owned(),
        now_ms: 9,
    };
    Box::pin(wanted_by_two(&stores, "eve", users.change_person(change, message("n", 0)))).await;
    let grace = users.patient(&PatientId::new("uuid-grace")).await.expect("an answer").expect("grace");
    assert_eq!(grace.email, None);
}

async fn activation_takes_nothing_back_that_was_written_meanwhile(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let users = &stores.users;
    users.add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i", 0), no_settings()).await.expect("added");
    let filed = "{\"external_patient_id\":\"17\"}";
    let change = PersonChange {
        uuid: PatientId::new("uuid-grace"),
        email: None,
        removes_email: false,
        known: "{}".to_owned(),
        person: filed.to_owned(),
        now_ms: 8,
    };
    assert!(users.change_person(change, message("m", 0)).await.expect("an answer"));
    // As read before the change.
    assert!(!users.activate_patient(activation("grace", None), message("n", 0)).await.expect("an answer"));
    let grace = async || users.patient(&PatientId::new("uuid-grace")).await.expect("an answer").expect("grace");
    assert_eq!((grace().await.state, grace().await.person.as_str()), (PatientState::PreCreated, filed));
    let known = Activation { known: filed.to_owned(), ..activation("grace", None) };
    assert!(users.activate_patient(known, message("o", 0)).await.expect("an answer"));
    assert_eq!(grace().await.state, PatientState::Confirmed);
}

async fn what_is_sealed_is_returned(stores: Stores) {
    with_ada_in(&stores, &[]).await;
    let (users, health) = (&stores.users, &stores.health);
    let reported =
        async || (users.holds_sealed().await.expect("an answer"), health.holds_sealed().await.expect("an answer"));
    assert_eq!(reported().await, (false, false));
    let ada = AccountId::new("uuid-ada");
    assert!(users.put_totp(&ada, vec![1]).await.expect("an answer"));
    assert_eq!(reported().await, (true, false), "a second factor");
    assert!(users.remove_totp(&ada).await.expect("an answer"));
    let key = |retired_ms| SigningKey {
        kid: crate::ids::SigningKeyId::new("k"),
        sealed_key: vec![1],
        public_key: vec![2],
        created_ms: 1,
        retired_ms,
    };
    health.rotate_signing_key(key(Some(2))).await.expect("a key");
    assert_eq!(reported().await, (false, true));
    users.rotate_signing_key(key(None)).await.expect("a key");
    assert_eq!(reported().await, (true, true));
}

async fn access_follows_membership(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    stores.users.add_account(account("bob")).await.expect("an account");
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let group_access = async || {
        stores.users.group_access(&GroupCode::new("AAAAA"), &AccountId::new("uuid-bob"), None).await.expect("an answer")
    };
    let patient_access = async || {
        stores
            .users
            .patient_access(&PatientId::new("uuid-grace"), &AccountId::new("uuid-bob"), None)
            .await
            .expect("an answer")
    };
    assert!(!group_access().await.expect("a group").allowed);
    assert!(!patient_access().await.expect("a patient").allowed);
    assert_eq!(
        stores
            .users
            .group_access(&GroupCode::new("ZZZZZ"), &AccountId::new("uuid-ada"), None)
            .await
            .expect("an answer"),
        None
    );
    assert_eq!(
        stores
            .users
            .patient_access(&PatientId::new("uuid-nobody"), &AccountId::new("uuid-ada"), None)
            .await
            .expect("an answer"),
        None
    );

    assert!(
        stores.users.add_member(&AccountId::new("uuid-bob"), &GroupCode::new("AAAAA"), 5).await.expect("an answer")
    );
    assert!(
        !stores.users.add_member(&AccountId::new("uuid-bob"), &GroupCode::new("AAAAA"), 6).await.expect("an answer")
    );
    assert!(group_access().await.expect("a group").allowed);
    assert!(patient_access().await.expect("a patient").allowed);
    let members = stores.users.members(&GroupCode::new("AAAAA")).await.expect("a list");
    assert_eq!(members.iter().map(|member| member.uuid.as_str()).collect::<Vec<_>>(), ["uuid-ada", "uuid-bob"]);
}

async fn a_patient_is_activated_once(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let taken = Patient { uuid: PatientId::new("u"), record_id: crate::ids::RecordId::new("r"), ..patient("grace") };
    assert!(matches!(
        stores.users.add_patient(taken, &GroupCode::new("AAAAA"), message("i2", 0), no_settings()).await,
        Err(StoreError::Conflict(_))
    ));
    assert_eq!(
        stores.users.patient_by_voucher(&crate::ids::VoucherCode::new("GRACE")).await.expect("an answer"),
        Some(patient("grace"))
    );
    assert_eq!(
        stores.users.first_group_of(&PatientId::new("uuid-grace")).await.expect("an answer"),
        Some(GroupCode::new("AAAAA"))
    );

    let done = stores.users.activate_patient(activation("grace", None), message("i3", 0)).await;
    assert!(done.expect("an answer"));
    let again = stores.users.activate_patient(activation("grace", None), message("i4", 0)).await;
    assert!(!again.expect("an answer"));
    let confirmed = Patient {
        state: PatientState::Confirmed,
        password_hash: Some("hash".to_owned()),
        person: "{\"first_name\":\"Grace\"}".to_owned(),
        updated_ms: 9,
        ..patient("grace")
    };
    let uuids = stores.users.uuids_of(&GroupCode::new("AAAAA")).await.expect("a list");
    let found = stores.users.patients(uuids).await.expect("a list");
    assert_eq!(found.into_values().collect::<Vec<_>>(), [confirmed]);
    // Neither the failed one nor the repeated one enqueues anything.
    assert_eq!(stores.users.events().undelivered(0, None).await.expect("a list").len(), 2);
}

async fn message_is_completed_once(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 10), no_settings())
        .await
        .expect("a patient");
    stores
        .users
        .add_patient(patient("hedy"), &GroupCode::new("AAAAA"), message("i2", 20), no_settings())
        .await
        .expect("a patient");
    let [first, second] = ["i1", "i2"].map(|id| MessageKey::of_id(&MessageId::new(id)));
    let keys = async |until_ms| stores.users.events().undelivered(until_ms, None).await.expect("a list");
    assert_eq!(keys(10).await, std::slice::from_ref(&first));
    assert_eq!(keys(20).await.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([first.clone(), second.clone()]));
    assert!(stores.users.message(&first).await.expect("an answer").is_some());
    assert!(stores.users.complete(&first, audit(Vec::new(), 30)).await.expect("an answer"));
    assert!(!stores.users.complete(&first, audit(Vec::new(), 30)).await.expect("an answer"));
    assert!(stores.users.message(&first).await.expect("an answer").is_none());
    assert_eq!(keys(20).await, [second]);
}

async fn the_newest_signing_key_signs(stores: Stores) {
    let key = |kid: &str, created_ms, retired_ms| SigningKey {
        kid: crate::ids::SigningKeyId::new(kid),
        sealed_key: vec![1, 2],
        public_key: vec![3],
        created_ms,
        retired_ms,
    };
    assert!(stores.users.signing_keys().await.expect("a list").is_empty());
    stores.users.rotate_signing_key(key("a", 1, None)).await.expect("a key");
    stores.users.rotate_signing_key(key("b", 9, None)).await.expect("a key");
    assert_eq!(stores.users.signing_keys().await.expect("a list"), [key("a", 1, Some(9)), key("b", 9, None)]);
    assert_eq!(stores.users.purge_signing_keys(9).await.expect("purged"), 0);
    assert_eq!(stores.users.purge_signing_keys(10).await.expect("purged"), 1);
    assert_eq!(stores.users.signing_keys().await.expect("a list"), [key("b", 9, None)]);
    stores.health.rotate_signing_key(key("c", 1, None)).await.expect("a key");
    assert_eq!(stores.health.signing_keys().await.expect("a list"), [key("c", 1, None)]);
}
