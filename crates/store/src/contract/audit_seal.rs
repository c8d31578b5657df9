//! The audit log: the code of its end, the keys that guard it, and what others know of its entries.

use super::audit::entry;
use super::{Stores, audit, audit_key, on_both_engines};
use crate::ids::StoreId;
use crate::{AuditVerdict, KnownEntry, Seal, SealState};

on_both_engines! {
    log_that_is_cut_with_its_head_set_is_reported
    entries_behind_an_altered_end_do_not_make_it_good
    every_column_of_the_head_is_bound
    seal_that_was_taken_away_is_no_seal
    log_of_before_is_sealed_when_it_is_opened_with_a_key
    entries_written_at_once_leave_a_sealed_end
    key_of_an_empty_log_may_be_lost
    key_that_replaces_another_keeps_it_known
    known_entries_are_compared
    end_of_another_store_is_altered
}

const CUT: [&str; 2] = [
    "DELETE FROM audit_entry WHERE number > 2",
    "UPDATE audit_head SET number = 2, entry_hash = (SELECT entry_hash FROM audit_entry WHERE number = 2)",
];

/// Seals the log of a store and writes so many entries.
async fn sealed(stores: &Stores, entries: i64) {
    stores.users.begin_store(&StoreId::new("store")).await.expect("begun");
    assert!(stores.users.seal_new_audit(&audit_key(1), 5).await.expect("an answer"));
    write(stores, 1..=entries).await;
}

async fn write(stores: &Stores, numbers: std::ops::RangeInclusive<i64>) {
    for number in numbers {
        let entries = vec![entry(&format!("e{number}"), "X", "ada", "grace", Some("bob"))];
        stores.users.record(audit(entries, number)).await.expect("written");
    }
}

async fn run(stores: &Stores, text: &'static str) {
    stores.users.db.write(async move |tx| tx.execute(text, &[]).await).await.expect(text);
}

async fn verdict(stores: &Stores) -> AuditVerdict {
    stores.users.verify_audit_against(&audit_key(1), Vec::new()).await.expect("a verdict")
}

async fn state(stores: &Stores) -> SealState {
    verdict(stores).await.end.state
}

async fn log_that_is_cut_with_its_head_set_is_reported(stores: Stores) {
    sealed(&stores, 4).await;
    assert_eq!((verdict(&stores).await.first_broken, state(&stores).await), (None, SealState::Sealed));
    for text in CUT {
        run(&stores, text).await;
    }
    let found = verdict(&stores).await;
    assert_eq!((found.entries, found.first_broken), (2, None), "the chain alone does not show it");
    assert_eq!(found.end.state, SealState::Altered);
}

/// Timeline of why: the log is cut, and then somebody logs in.
async fn entries_behind_an_altered_end_do_not_make_it_good(stores: Stores) {
    sealed(&stores, 4).await;
    for text in CUT {
        run(&stores, text).await;
    }
    write(&stores, 5..=7).await;
    let found = verdict(&stores).await;
    assert_eq!((found.entries, found.first_broken, found.end.state), (5, None, SealState::Altered));
    assert!(!stores.users.seal_new_audit(&audit_key(1), 9).await.expect("an answer"), "a start is no decision");
    assert_eq!(state(&stores).await, SealState::Altered);
    stores.users.seal_audit_again(&audit_key(1), 9).await.expect("sealed");
    let found = verdict(&stores).await.end;
    let seal = Seal { from: 5, at_ms: 9, by: "operator".to_owned() };
    assert_eq!((found.state, found.seal), (SealState::Sealed, Some(seal)));
    write(&stores, 8..=8).await;
    assert_eq!(state(&stores).await, SealState::Sealed);
    assert!(stores.users.retired_audit_keys(&audit_key(1)).await.expect("keys").is_empty());
}

async fn every_column_of_the_head_is_bound(stores: Stores) {
    const CHANGES: [(&str, SealState); 10] = [
        ("UPDATE audit_head SET number = 2", SealState::Altered),
        ("UPDATE audit_head SET entry_hash = mac", SealState::Altered),
        ("UPDATE audit_head SET entry_hash = NULL", SealState::Altered),
        ("UPDATE audit_head SET mac = entry_hash", SealState::Altered),
        ("UPDATE audit_head SET mac = NULL", SealState::Altered),
        ("UPDATE audit_head SET public_key = NULL", SealState::Altered),
        ("UPDATE audit_head SET public_key = mac", SealState::OtherKey),
        ("UPDATE audit_head SET sealed_from = 1", SealState::Altered),
        ("UPDATE audit_head SET sealed_ms = 6", SealState::Altered),
        ("UPDATE audit_head SET sealed_by = 'operator'", SealState::Altered),
    ];
    sealed(&stores, 3).await;
    run(&stores, "CREATE TABLE kept AS SELECT * FROM audit_head").await;
    for (text, expected) in CHANGES {
        run(&stores, text).await;
        assert_eq!(state(&stores).await, expected, "{text}");
        run(&stores, "DELETE FROM audit_head").await;
        run(&stores, "INSERT INTO audit_head SELECT * FROM kept").await;
        assert_eq!(state(&stores).await, SealState::Sealed);
    }
    // Readers raise the time.
    run(&stores, "UPDATE audit_head SET time_ms = 99").await;
    assert_eq!(state(&stores).await, SealState::Sealed);
}

async fn seal_that_was_taken_away_is_no_seal(stores: Stores) {
    const TAKE: &str = "UPDATE audit_head SET mac = NULL, public_key = NULL, sealed_from = NULL, sealed_ms = NULL,
        sealed_by = NULL";
    sealed(&stores, 4).await;
    for text in CUT {
        run(&stores, text).await;
    }
    run(&stores, TAKE).await;
    assert_eq!(state(&stores).await, SealState::Unsealed);
    write(&stores, 5..=5).await;
    assert_eq!(state(&stores).await, SealState::Unsealed);
    // It looks like a log of before, and shows when it was sealed.
    assert!(stores.users.seal_new_audit(&audit_key(1), 9).await.expect("an answer"));
    let seal = Seal { from: 3, at_ms: 9, by: "start".to_owned() };
    assert_eq!(verdict(&stores).await.end.seal, Some(seal));
}

async fn log_of_before_is_sealed_when_it_is_opened_with_a_key(stores: Stores) {
    stores.users.begin_store(&StoreId::new("store")).await.expect("begun");
    write(&stores, 1..=2).await;
    assert_eq!(state(&stores).await, SealState::Unsealed);
    assert!(!stores.users.holds_sealed().await.expect("an answer"));
    assert!(stores.users.seal_new_audit(&audit_key(1), 5).await.expect("an answer"));
    assert!(!stores.users.seal_new_audit(&audit_key(1), 6).await.expect("an answer"), "once");
    write(&stores, 3..=4).await;
    let end = verdict(&stores).await.end;
    let seal = Seal { from: 2, at_ms: 5, by: "start".to_owned() };
    assert_eq!((end.number, end.state, end.seal), (4, SealState::Sealed, Some(seal)));
    assert!(stores.users.holds_sealed().await.expect("an answer"));
}

async fn entries_written_at_once_leave_a_sealed_end(stores: Stores) {
    sealed(&stores, 0).await;
    let entries = |number: i64| vec![entry(&format!("e{number}"), "X", "ada", "grace", None)];
    let writes = (0..40).map(|number| stores.users.record(audit(entries(number), 5)));
    futures::future::try_join_all(writes).await.expect("written");
    let found = verdict(&stores).await;
    assert_eq!((found.entries, found.first_broken, found.end.state), (40, None, SealState::Sealed));
}

async fn key_of_an_empty_log_may_be_lost(stores: Stores) {
    sealed(&stores, 0).await;
    assert!(!stores.users.holds_sealed().await.expect("an answer"));
    let end = stores.users.audit_end(&audit_key(2)).await.expect("an end");
    assert_eq!((end.state, end.is_of_other_key()), (SealState::OtherKey, false));
    assert!(stores.users.seal_new_audit(&audit_key(2), 6).await.expect("an answer"));
    assert_eq!(stores.users.audit_end(&audit_key(2)).await.expect("an end").state, SealState::Sealed);
}

async fn key_that_replaces_another_keeps_it_known(stores: Stores) {
    sealed(&stores, 2).await;
    let users = &stores.users;
    assert!(users.audit_end(&audit_key(2)).await.expect("an end").is_of_other_key());
    assert!(!users.seal_new_audit(&audit_key(2), 9).await.expect("an answer"), "a start is no decision");
    let known = async |byte| {
        let keys = users.retired_audit_keys(&audit_key(byte)).await.expect("keys");
        keys.into_iter().map(|key| (key.public_key[0], key.until_number, key.retired_ms)).collect::<Vec<_>>()
    };
    users.seal_audit_again(&audit_key(2), 10).await.expect("sealed");
    assert_eq!(users.audit_end(&audit_key(2)).await.expect("an end").state, SealState::Sealed);
    assert_eq!(known(2).await, [(1, 2, 10)]);
    users.seal_audit_again(&audit_key(3), 20).await.expect("sealed");
    assert_eq!(known(3).await, [(1, 2, 10), (2, 2, 20)]);
    // A row that was not written with the key is nobody's.
    run(&stores, "UPDATE audit_key SET until_number = 99 WHERE retired_ms = 10").await;
    assert_eq!(known(3).await, [(2, 2, 20)]);
    // The lost key was found again.
    users.seal_audit_again(&audit_key(2), 30).await.expect("sealed");
    assert_eq!(known(2).await.iter().map(|key| key.0).collect::<Vec<_>>(), [3, 1]);
}

async fn known_entries_are_compared(stores: Stores) {
    sealed(&stores, 4).await;
    let mut hashes = Vec::new();
    for number in 1..=4_i64 {
        let text = "SELECT entry_hash FROM audit_entry WHERE number = $1";
        let hash: Option<Vec<u8>> = stores
            .users
            .db
            .read(async move |tx| tx.query_opt(text, &[&number], |row| row.get(0)).await)
            .await
            .expect("an answer");
        hashes.push(<[u8; 32]>::try_from(hash.expect("a row")).expect("a hash"));
    }
    let known = |number: i64, of: usize| KnownEntry { number, entry_hash: hashes[of] };
    let compared = async |all: Vec<KnownEntry>| {
        let found = stores.users.verify_audit_against(&audit_key(1), all).await.expect("a verdict");
        assert_eq!((found.entries, found.first_broken), (4, None));
        (found.compared, found.differing)
    };
    assert_eq!(compared(vec![known(1, 0), known(3, 2), known(4, 3)]).await, (3, vec![]));
    assert_eq!(compared(vec![known(1, 0), known(3, 1), known(3, 2), known(3, 0)]).await, (4, vec![1, 3]));
    assert_eq!(compared(vec![known(4, 3), known(5, 3), known(9, 0)]).await, (1, vec![]));
    assert_eq!(compared(vec![known(0, 0), known(2, 1)]).await, (2, vec![0]));
}

async fn end_of_another_store_is_altered(stores: Stores) {
    sealed(&stores, 2).await;
    run(&stores, "UPDATE store_identity SET id = 'other'").await;
    assert_eq!(state(&stores).await, SealState::Altered);
}
