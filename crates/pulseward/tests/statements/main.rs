//! How much PostgreSQL is asked: statements from the server's log, round trips from a proxy between service and server.
//!
//! One node takes the sync and another one derives, each through a proxy of its own, so that the statements of both can
//! be distinguished by the connection they came on. Everything that a node sends within a window counts, the look-up of
//! the session and idle polling included; the median of several windows leaves out what happens to fall into one of
//! them.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

#[allow(dead_code)] // other tests use the rest
#[path = "../real_socket/harness.rs"]
mod harness;
mod nodes;

use std::time::{Duration, Instant};

use testkit::Postgres;

use nodes::{Cost, Databases, median};

// The limits are what was measured last, to be lowered with every improvement. The goals are 8 statements and 3 round
// trips for the sync, 10 and 4 for its derivations, and 1 statement a second.

/// A sync of one row, from the request until its 200.
const SYNC: Limit = Limit { statements: 8, round_trips: 3 };
/// What is derived from that row, and what the node polls for meanwhile.
const DERIVATIONS: Limit = Limit { statements: 10, round_trips: 7 };
/// What is derived from rows of all types.
const DERIVATIONS_OF_ALL: Limit = Limit { statements: 10, round_trips: 7 };
/// Statements a second of a node with nothing to do.
const IDLE_STATEMENTS_PER_SECOND: f64 = 1.0;

/// Syncs before measuring, so that connections are open and their statements are prepared.
const WARMING: usize = 8;
/// Odd, so that one of them is the median.
const MEASURED: usize = 7;
/// As long as each of the tasks that run by themselves, but for a few, has its turn in it.
const IDLE: Duration = Duration::from_secs(90);

/// The most that an operation may ask of the server.
struct Limit {
    statements: usize,
    round_trips: u32,
}

impl Limit {
    fn check(&self, name: &str, costs: &[Cost]) {
        println!("{name}:");
        for cost in costs {
            println!("  {cost}");
        }
        let statements = median(costs.iter().map(|cost| cost.statements.len()));
        let round_trips = median(costs.iter().map(|cost| cost.round_trips));
        let texts = costs.iter().find(|cost| cost.statements.len() == statements).unwrap().texts();
        println!("  median: {statements} statements, {round_trips} round trips; by process of the server:\n{texts}");
        assert!(statements <= self.statements, "{name}: {statements} statements");
        assert!(round_trips <= self.round_trips, "{name}: {round_trips} round trips");
    }
}

#[tokio::test]
async fn a_sync_of_one_row_and_its_derivations_ask_little_of_the_server() {
    let Some(databases) = Databases::start() else { return };
    let taking = databases.node("taking", "integration,users,health");
    let deriving = databases.node("deriving", "worker");
    let mut wearer = databases.wearer(&taking).await;
    for _ in 0..WARMING {
        wearer.sync_and_derive(&deriving).await;
    }
    let (mut syncs, mut derivations) = (Vec::new(), Vec::new());
    for _ in 0..MEASURED {
        let (taken, derived) = (databases.window(&taking), databases.window(&deriving));
        wearer.sync().await;
        syncs.push(taken.cost());
        wearer.derived(&deriving).await;
        derivations.push(derived.cost());
    }
    assert!(syncs.iter().all(Cost::log_and_proxy_agree), "the log and the proxy count differently");
    SYNC.check("one-row sync until its 200", &syncs);
    DERIVATIONS.check("its derivations", &derivations);
}

/// Each type that anything is derived from would otherwise be read by itself, and not in one snapshot.
#[tokio::test]
async fn derivations_of_a_sync_of_all_types_ask_as_little_as_those_of_one() {
    let Some(databases) = Databases::start() else { return };
    let taking = databases.node("taking", "integration,users,health");
    let deriving = databases.node("deriving", "worker");
    let mut wearer = databases.wearer(&taking).await;
    let mut derivations = Vec::new();
    for number in 0..WARMING + MEASURED {
        let derived = databases.window(&deriving);
        wearer.sync_all_types().await;
        wearer.derived(&deriving).await;
        if number >= WARMING {
            derivations.push(derived.cost());
        }
    }
    DERIVATIONS_OF_ALL.check("derivations of all types", &derivations);
}

#[tokio::test]
async fn an_idle_node_asks_little_of_the_server() {
    let Some(databases) = Databases::start() else { return };
    let node = databases.node("idle", "integration,users,health,portal,worker");
    let mut wearer = databases.wearer(&node).await;
    wearer.sync_and_derive(&node).await;
    let window = databases.window(&node);
    let begun = Instant::now();
    tokio::time::sleep(IDLE).await;
    let cost = window.cost();
    let per_second = cost.statements.len() as f64 / begun.elapsed().as_secs_f64();
    println!("idle node: {cost} in {IDLE:?}, {per_second:.1} statements a second:\n{}", cost.texts());
    assert!(per_second <= IDLE_STATEMENTS_PER_SECOND, "{per_second:.1} statements a second");
}

#[tokio::test]
async fn statements_of_another_node_and_another_database_do_not_count() {
    let Some(databases) = Databases::start() else { return };
    let (one, other) = (databases.node("one", "users"), databases.node("other", "users"));
    let (window, of_other) = (databases.window(&one), databases.window(&other));
    let mark = Postgres::log_mark();
    for _ in 0..3 {
        assert_eq!(reqwest::get(format!("{}/readyz", other.url())).await.unwrap().status(), 200);
    }
    let asked = of_other.cost();
    assert!(asked.statements.len() >= 3 && asked.round_trips >= 3, "{asked}");
    assert_eq!(window.cost().statements.len(), 0);
    let Some(stranger) = Postgres::start() else { return };
    assert!(stranger.statements(mark, Postgres::log_mark()).is_empty());
}
