//! Keys that sign, of stores that were brought to another master key, and of stores that fail while they are tried.

use store::FailureMoment::BeforeItBegins;
use store::{AccountId, Address, HealthDb, Role, SessionId, SigningKey, User, UsersDb};

use super::study::Study;
use crate::identity::tokens::Unsigned;
use crate::test_service::Service;
use crate::{Cloud, SigningKeyFate};

const CLOUDS: [Cloud; 2] = [Cloud::Users, Cloud::Health];

async fn stored(service: &Service, cloud: Cloud) -> Vec<SigningKey> {
    match cloud {
        Cloud::Users => service.platform.core.users().signing_keys().await.unwrap(),
        Cloud::Health => service.platform.core.health().signing_keys().await.unwrap(),
    }
}

#[tokio::test]
async fn store_that_cannot_be_read_costs_no_key() {
    let study = Study::begin().await;
    let identity = &study.service.platform.identity;
    for cloud in CLOUDS {
        assert_eq!(identity.rotate_unopened_signing_key(cloud).await.unwrap(), SigningKeyFate::Kept);
        assert!(stored(&study.service, cloud).await.is_empty(), "none is made before it is needed");
        identity.public_keys(cloud).await.unwrap();
        let before = stored(&study.service, cloud).await;
        assert_eq!(before.len(), 1);
        match cloud {
            Cloud::Users => study.break_users("signing_key.list", BeforeItBegins),
            Cloud::Health => study.break_health("signing_key.list", BeforeItBegins),
        }
        study.assert_unavailable(identity.rotate_unopened_signing_key(cloud).await);
        assert_eq!(stored(&study.service, cloud).await, before, "{cloud:?}");
        assert_eq!(identity.rotate_unopened_signing_key(cloud).await.unwrap(), SigningKeyFate::Kept);
    }
}

#[tokio::test]
async fn key_that_the_master_key_does_not_open_is_rotated_once() {
    let folder = tempfile::tempdir().unwrap();
    let address = |name: &str| Address::File(folder.path().join(name));
    let objects = store::Objects::folder(&folder.path().join("objects")).unwrap();
    let users = UsersDb::open(address("users.db")).await.unwrap();
    let health = HealthDb::open(address("health.db"), objects).await.unwrap();
    // Sealed by another master key, and so short that it holds nothing.
    let key = |kid: &str, sealed_key: Vec<u8>| SigningKey {
        kid: store::SigningKeyId::new(kid),
        sealed_key,
        public_key: vec![3; 32],
        created_ms: 1,
        retired_ms: None,
    };
    users.rotate_signing_key(key("sealed", vec![9; 60])).await.unwrap();
    health.rotate_signing_key(key("short", vec![9; 3])).await.unwrap();
    let service = Service::on(address("users.db"), address("health.db")).await;
    let identity = &service.platform.identity;
    for (cloud, before) in [(Cloud::Users, "sealed"), (Cloud::Health, "short")] {
        assert_eq!(identity.public_keys(cloud).await.unwrap().len(), 1, "old tokens are verified");
        let (session_id, user) = (SessionId::new("session"), User::Account(AccountId::new("rita"), Role::Researcher));
        let (issued_ms, expires_ms) = (1, 2);
        let unsigned = Unsigned {
            session_id: &session_id,
            issued_ms,
            expires_ms,
            user: &user,
            scope: None,
            actor: None,
            client: None,
        };
        assert!(identity.sign(cloud, unsigned).await.is_err_and(|error| error.is_damage()), "nothing signs");
        assert_eq!(identity.rotate_unopened_signing_key(cloud).await.unwrap(), SigningKeyFate::Rotated);
        assert_eq!(identity.rotate_unopened_signing_key(cloud).await.unwrap(), SigningKeyFate::Kept);
        let keys = stored(&service, cloud).await;
        assert_eq!((keys.len(), keys[0].kid.as_str(), keys[0].retired_ms.is_some()), (2, before, true));
        assert_eq!(identity.public_keys(cloud).await.unwrap().len(), 2, "old tokens are still verified");
    }
}
