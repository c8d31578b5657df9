//! The engines' own checks: damage is a finding, and what cannot be checked is not.

use std::os::unix::fs::FileExt as _;

use super::derivations::enrol;
use super::{Stores, activity_row};
use crate::Sync;
use crate::engine::Address;
use crate::ids::PatientId;

const NOON_MS: i64 = 1_763_640_000_000;

/// A store of a role that is no superuser, in two databases of a server.
async fn stores_of_ordinary_role(server: &testkit::OwnServer) -> (Stores, String) {
    let (users, health) = (server.database(), server.database());
    for (number, url) in [&users, &health].into_iter().enumerate() {
        if number == 0 {
            server.execute(url, "CREATE ROLE ordinary LOGIN");
        }
        server.execute(url, "GRANT ALL ON SCHEMA public TO ordinary");
    }
    let ordinary = |url: &str| Address::Postgres(url.replace("pulseward@", "ordinary@"));
    let folder = tempfile::tempdir().expect("a folder");
    (Stores::open(ordinary(&users), ordinary(&health), folder).await, health)
}

fn flip(path: &std::path::Path, byte: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("a file");
    let mut found = [0];
    file.read_exact_at(&mut found, byte).expect("a byte");
    file.write_all_at(&[found[0] ^ 1], byte).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_damage_of_an_index_is_a_finding() {
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let (stores, url) = stores_of_ordinary_role(&server).await;
    enrol(&stores, "ada").await;
    for minute in 0..20 {
        let blocks = vec![activity_row(NOON_MS + minute * 60_000, "bpm", 60)];
        let sync = Sync { patient: PatientId::new("ada"), received_ms: NOON_MS, id: None, device: None, blocks };
        stores.health.store_sync(sync).await.expect("stored");
    }
    let health = &stores.health;
    let reason = async || health.files().await.expect("an answer").cannot_check.unwrap_or_default();
    assert!(reason().await.contains("CREATE EXTENSION amcheck"), "{}", reason().await);
    let absent = health.engine_check().await.expect("an answer");
    assert_eq!((absent.findings.len(), absent.unchecked.len()), (0, 1), "{absent:?}");

    server.execute(&url, "CREATE EXTENSION amcheck");
    assert!(reason().await.contains("GRANT EXECUTE"), "{}", reason().await);
    let refused = health.engine_check().await.expect("an answer");
    assert_eq!((refused.findings.len(), refused.unchecked.len()), (0, 1), "{refused:?}");

    server.execute(&url, "GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean) TO ordinary");
    assert_eq!(reason().await, "");
    let sound = health.engine_check().await.expect("an answer");
    assert_eq!((sound.findings.len(), sound.unchecked.len()), (0, 0), "{sound:?}");

    let files = server.written_files(&url);
    let index = server.number(&url, "SELECT pg_relation_filenode('chunk_pkey')").to_string();
    // In the second page, since the first says where the others are.
    flip(&files.join(index), 8_192 + 8_000);
    let damaged = health.engine_check().await.expect("an answer");
    assert_eq!((damaged.findings.len(), damaged.unchecked.len()), (1, 0), "{damaged:?}");
    assert!(damaged.findings[0].starts_with("index chunk_pkey: "), "{damaged:?}");
}

#[tokio::test]
async fn sound_files_are_found_sound() {
    let stores = Stores::sqlite().await;
    for found in [stores.users.engine_check().await, stores.health.engine_check().await] {
        assert_eq!(found.expect("an answer"), crate::EngineCheck::default());
    }
}
