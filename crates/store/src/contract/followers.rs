//! Readers that follow the event log while transactions are held, rolled back and cut off.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use testkit::Rounds;

use super::events::{event, settle, with_patients};
use super::{Stores, on_both_engines};
use crate::engine::Tx;
use crate::error::Result;
use crate::events::{self, Event, Followed, NewEvent};
use crate::ids::PatientId;
use crate::{HealthDb, StoreError};

on_both_engines! { every_committed_event_is_followed_once_and_in_order }

/// Writers, and how often they write together.
const WRITERS: usize = 3;
const PATIENTS: [&str; 4] = ["a", "b", "c", "d"];
/// The patient that the held transaction reaches before it waits.
const HELD: &str = "0";

/// What the tasks of the test send each other.
#[derive(Default)]
struct Progress {
    polls: AtomicU64,
    are_writers_done: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    /// Waits, without giving the thread up, until readers have looked a few times more.
    #[allow(clippy::disallowed_methods, reason = "it holds the thread that writes")]
    fn wait_for_polls(&self) {
        let until = self.polls.load(Ordering::SeqCst) + 4;
        while self.polls.load(Ordering::SeqCst) < until {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Follows the log from its beginning until the test is over and nothing is left.
async fn follow(health: HealthDb, limit: usize, progress: Arc<Progress>) -> Vec<Event> {
    let mut cursor = loop {
        if let Ok(cursor) = health.events().oldest().await {
            break cursor;
        }
    };
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let was_over = progress.is_over.load(Ordering::SeqCst);
        // A connection that was ended in the middle of the answer.
        let Ok(followed) = health.events().read_after(&cursor, limit).await else { continue };
        let Followed::Page(page) = followed else { panic!("the cursor does not hold: {followed:?}") };
        progress.polls.fetch_add(1, Ordering::SeqCst);
        cursor = page.next;
        let is_end = page.events.is_empty() && !page.more;
        seen.extend(page.events);
        if is_end {
            if was_over {
                return seen;
            }
            runtime::sleep(Duration::from_micros(300)).await;
        }
    }
}

/// One transaction of a writer: some events of some patients, always in the same order of patients, and sometimes rolled
/// back at its end.
async fn write(health: &HealthDb, writer: usize, round: u64) {
    let number = round * WRITERS as u64 + writer as u64;
    let _ = health
        .db
        .write(async move |tx| {
            for (at, patient) in PATIENTS.iter().enumerate() {
                let count = (number >> at) % 3;
                let label = format!("{writer} in {round}");
                let events: Vec<NewEvent> = (0..count).map(|_| event(&label)).collect();
                events::append(tx, &PatientId::new(*patient), &events).await?;
            }
            if number % 7 == 3 { Err(StoreError::LeaseLost) } else { Ok(()) }
        })
        .await;
}

/// A transaction that begins before the writers' and ends after them. It reaches one of their patients late.
async fn hold(health: &HealthDb, round: u64, is_sqlite: bool, progress: Arc<Progress>) {
    let begun = Arc::new(tokio::sync::Notify::new());
    let at_work = begun.clone();
    let waiting = progress.clone();
    let work = async move |tx: &Tx<'_>| {
        events::append(tx, &PatientId::new(HELD), &[event(&format!("held in {round}"))]).await?;
        if is_sqlite {
            // The only writer: the others wait for it, readers do not.
            at_work.notify_one();
            waiting.wait_for_polls();
        } else {
            // An answer shows that the transaction has its number.
            tx.query("SELECT position FROM event_clock", &[], |row| row.get::<i64>(0)).await?;
            at_work.notify_one();
            while !waiting.are_writers_done.load(Ordering::SeqCst) {
                runtime::sleep(Duration::from_micros(200)).await;
            }
        }
        events::append(tx, &PatientId::new(PATIENTS[3]), &[event(&format!("late in {round}"))]).await
    };
    let held = health.clone();
    let holding = runtime::spawn("held transaction", async move { held.db.write(work).await });
    begun.notified().await;
    let writers = (0..WRITERS).map(|writer| write(health, writer, round));
    if round % 4 == 1 {
        tokio::join!(futures::future::join_all(writers), interrupt(health, is_sqlite));
    } else {
        futures::future::join_all(writers).await;
    }
    progress.are_writers_done.store(true, Ordering::SeqCst);
    let _ = holding.await.expect("no panic");
    progress.are_writers_done.store(false, Ordering::SeqCst);
}

/// Ends every connection on PostgreSQL, whatever it is doing; on SQLite leaves a transaction of another process open
/// until its connection is gone, and lets one panic.
async fn interrupt(health: &HealthDb, is_sqlite: bool) {
    const KILL: &str = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    const FILE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    const DOUBLE: &str = "INSERT INTO event (patient, sequence, time_ms, type, body)
        SELECT uuid, events + 1, 0, 'sync.stored', '{}' FROM patient";
    if !is_sqlite {
        let _ = health.db.read_single(async |tx| tx.query_opt(KILL, &[], |row| row.get::<i64>(0)).await).await;
        return;
    }
    let file = health.db.read(async |tx| tx.query_opt(FILE, &[], |row| row.get::<String>(0)).await).await;
    let file = file.expect("an answer").expect("a file");
    let other = runtime::blocking("another process", move || {
        let other = rusqlite::Connection::open(file).expect("a connection");
        other.busy_timeout(Duration::from_secs(5)).expect("set");
        other.execute_batch("BEGIN IMMEDIATE").expect("begun");
        other.execute(DOUBLE, []).expect("written");
    });
    other.await.expect("no panic");
    let panicked: Result<()> = health
        .db
        .write(async |tx| {
            events::append(tx, &PatientId::new(PATIENTS[0]), &[event("lost")]).await?;
            panic!("part of the test")
        })
        .await;
    assert!(panicked.is_err());
}

async fn every_committed_event_is_followed_once_and_in_order(stores: Stores) {
    const NUMBERS: &str = "SELECT uuid, events FROM patient";
    let is_sqlite = stores.health.db.is_sqlite();
    with_patients(&stores, &PATIENTS).await;
    with_patients(&stores, &[HELD]).await;
    let progress = Arc::new(Progress::default());
    let follow = |limit| runtime::spawn("follower", follow(stores.health.clone(), limit, progress.clone()));
    let followers = [1, 3, 100].map(follow);
    let rounds = Rounds::count_of_test("followers of the event log", 200) as u64;
    for round in 0..rounds {
        hold(&stores.health, round, is_sqlite, progress.clone()).await;
    }
    settle(&stores.health).await;
    progress.is_over.store(true, Ordering::SeqCst);

    let numbers = stores
        .health
        .db
        .read(async |tx| tx.query(NUMBERS, &[], |row| Ok((row.get::<PatientId>(0)?, row.get::<i64>(1)?))).await);
    let numbers: BTreeMap<PatientId, i64> = numbers.await.expect("the patients").into_iter().collect();
    assert!(numbers.values().all(|events| *events > rounds as i64 / 4), "{numbers:?}");
    let mut orders = Vec::new();
    for follower in followers {
        let seen = follower.await.expect("no panic");
        let mut last: BTreeMap<PatientId, i64> = BTreeMap::new();
        for event in &seen {
            let last = last.entry(event.patient.clone()).or_default();
            assert_eq!(event.sequence, *last + 1, "{event:?}");
            *last = event.sequence;
        }
        assert_eq!(last, numbers);
        assert!(seen.windows(2).all(|pair| pair[0].next < pair[1].next));
        orders.push(
            seen.into_iter().map(|event| (event.next, event.patient, event.sequence, event.body)).collect::<Vec<_>>(),
        );
    }
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "readers see the same log");
}
