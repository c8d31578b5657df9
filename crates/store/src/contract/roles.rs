//! Another role for an account.

use super::example_rows::{account, message, with_ada_in};
use super::people::key;
use super::sessions::{begin, ended_ms, session};
use super::{Stores, on_both_engines};
use crate::events::MessageKey;
use crate::ids::MessageId;
use crate::{AccountId, ApiKeyId, GroupCode, Role, RoleChange, StoreError};

on_both_engines! {
    another_role_ends_what_the_account_held
    the_last_manager_of_a_study_keeps_the_role
}

async fn another_role_ends_what_the_account_held(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let ada = AccountId::new("uuid-ada");
    stores.users.add_api_key(key("k1", "ada"), Vec::new()).await.expect("a key");
    assert!(begin(&stores, session("s1", "uuid-ada")).await);
    let change = async |role, id: &str| stores.users.change_role(&ada, role, 50, message(id, 50)).await;
    assert_eq!(change(Role::Researcher, "m1").await.expect("an answer"), RoleChange::Unchanged);
    assert_eq!(ended_ms(&stores, "s1").await, None);
    assert_eq!(change(Role::Admin, "m2").await.expect("an answer"), RoleChange::Changed { ended_keys: 1 });
    assert_eq!(ended_ms(&stores, "s1").await, Some(50));
    let ended = stores.users.api_key(&ApiKeyId::new("k1")).await.expect("an answer").expect("the key").revoked_ms;
    assert_eq!(ended, Some(50));
    assert_eq!(stores.users.account(&ada).await.expect("an answer").expect("ada").role, Role::Admin);
    let is_pending = async |id: &str| {
        stores.users.message(&MessageKey::of_id(&MessageId::new(id))).await.expect("an answer").is_some()
    };
    assert_eq!((is_pending("m1").await, is_pending("m2").await), (false, true), "tokens of the Health Cloud end too");
    let nobody = stores.users.change_role(&AccountId::new("nobody"), Role::Hcp, 50, message("m3", 50)).await;
    assert!(matches!(nobody, Err(StoreError::Gone("account"))));
}

async fn the_last_manager_of_a_study_keeps_the_role(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB", "CCCCC"]).await;
    let ada = AccountId::new("uuid-ada");
    let (bob, hal) = (account("bob"), crate::Account { role: Role::Hcp, ..account("hal") });
    for (member, group) in [(&bob, "BBBBB"), (&hal, "AAAAA"), (&hal, "BBBBB")] {
        if stores.users.account(&member.uuid).await.expect("an answer").is_none() {
            stores.users.add_account(member.clone()).await.expect("an account");
        }
        stores.users.add_member(&member.uuid, &GroupCode::new(group), 5).await.expect("a member");
    }
    let to_hcp = async |who: &AccountId, id: &str| {
        stores.users.change_role(who, Role::Hcp, 50, message(id, 50)).await.expect("an answer")
    };
    let alone = ["AAAAA", "CCCCC"].map(GroupCode::new).to_vec();
    assert_eq!(to_hcp(&ada, "m1").await, RoleChange::LastManager(alone), "a practitioner manages nothing");
    assert_eq!(stores.users.account(&ada).await.expect("an answer").expect("ada").role, Role::Researcher);
    for group in ["AAAAA", "CCCCC"] {
        stores.users.add_member(&bob.uuid, &GroupCode::new(group), 6).await.expect("a member");
    }
    assert_eq!(to_hcp(&ada, "m2").await, RoleChange::Changed { ended_keys: 0 });
    let all = ["AAAAA", "BBBBB", "CCCCC"].map(GroupCode::new).to_vec();
    assert_eq!(to_hcp(&bob.uuid, "m3").await, RoleChange::LastManager(all));
    assert_eq!(to_hcp(&ada, "m4").await, RoleChange::Unchanged, "one who has the role already keeps it");
}
