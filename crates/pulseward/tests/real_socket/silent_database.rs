//! A database that gives no answer any more, or is gone: requests are refused soon, nothing that was acknowledged is lost,
//! and everything goes on by itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{OwnServer, RealLink, SilentProxy};
use tokio::task::JoinSet;

use crate::harness::{Patient, Researcher};
use crate::held_rows::{start_node, store_options};
use crate::meanwhile::Meanwhile;
use crate::took::Took;

const BEGIN_MS: i64 = 1_763_600_000_000;
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:00:00Z";
const PATIENTS: usize = 6;
/// Clients that enrol at each of two nodes: with those of a frozen one, more than a database has connections.
const WRITERS: usize = 20;
/// How long the outage lasts at least.
const OUTAGE: Duration = Duration::from_secs(5);
/// How long the phones send before a node freezes.
const BEFORE: Duration = Duration::from_secs(1);
/// Ten times what is promised of a refusal.
const LONGEST: Duration = Duration::from_secs(20);
/// Ten times what is promised of scores.
const LONGEST_STANDSTILL: Duration = Duration::from_secs(50);
/// An app gives up long after that.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(20);

/// What a phone was answered so far.
#[derive(Debug, Default)]
struct Answers {
    stored: AtomicI64,
    refused: AtomicI64,
}

/// A phone that sends.
struct Phone {
    patient: Patient,
    answers: Arc<Answers>,
}

/// Sends row after row, each until it is acknowledged, as an app does; returns how long the answers took.
async fn send_until(
    end: Arc<AtomicBool>,
    researcher: Arc<Researcher>,
    patient: Patient,
    answers: Arc<Answers>,
) -> Took {
    let mut took = Took::default();
    while !end.load(Ordering::SeqCst) {
        let time_ms = BEGIN_MS + answers.stored.load(Ordering::SeqCst) * 1000;
        let body = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [60]}}});
        let begun = Instant::now();
        let answer = researcher.try_sync(&patient, &body, LONGEST_WAIT).await.expect("an answer");
        took.add(begun);
        match answer {
            (200, _) => drop(answers.stored.fetch_add(1, Ordering::SeqCst)),
            (503, Some(seconds)) => {
                answers.refused.fetch_add(1, Ordering::SeqCst);
                assert!((1..=10).contains(&seconds), "{seconds}");
                // Sooner than the answer says, so that the outage is met often.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            other => panic!("{other:?}"),
        }
    }
    took
}

/// Waits until something holds of every phone. A busy machine takes its time, which is not what is tested here.
async fn until_each(phones: &[Phone], what: &str, holds: impl Fn(usize, &Answers) -> bool) {
    let begun = Instant::now();
    while !phones.iter().enumerate().all(|(at, phone)| holds(at, &phone.answers)) {
        let answers: Vec<&Answers> = phones.iter().map(|phone| &*phone.answers).collect();
        assert!(begun.elapsed() < LONGEST_WAIT, "not every phone was {what}: {answers:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is asked during an outage, until it has lasted long enough and every phone has met it: all of it is refused.
async fn ask_during_outage(researcher: &Researcher, phones: &[Phone]) -> Meanwhile {
    let (outage, mut meanwhile) = (Instant::now(), Meanwhile::default());
    let was_refused = |phone: &Phone| phone.answers.refused.load(Ordering::SeqCst) > 0;
    while outage.elapsed() < OUTAGE || !phones.iter().all(was_refused) {
        assert!(outage.elapsed() < LONGEST_WAIT, "a phone was not refused");
        meanwhile.ask_readiness(researcher, 503).await;
        let begun = Instant::now();
        let (status, _) = researcher.get(&format!("/integration/v1/groups/{}/patients", researcher.group), None).await;
        assert_eq!(status, 503);
        meanwhile.reads.add(begun);
        tokio::time::sleep(PAUSE).await;
    }
    meanwhile
}

/// Sends from phones, has an outage meanwhile, and checks what they and the operator are answered.
async fn check_outage(fault: &str, server: &OwnServer, at: SocketAddr, begin: impl FnOnce(), end: impl FnOnce()) {
    let at = |url: String| url.replace(&format!("@127.0.0.1:{}/", server.port()), &format!("@{at}/"));
    let (users, health) = (at(server.database()), at(server.database()));
    let folder = tempdir().unwrap();
    let store = store_options(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let service = start_node(&folder.path().join("node"), &store);
    let researcher = Arc::new(Researcher::new_with(&folder.path().join("node"), &store, &service.url).await);
    let stop = Arc::new(AtomicBool::new(false));
    let (mut sending, mut phones) = (JoinSet::new(), Vec::new());
    for _ in 0..PATIENTS {
        let phone = Phone { patient: researcher.enrol().await, answers: Arc::default() };
        let (patient, answers) = (phone.patient.clone(), phone.answers.clone());
        sending.spawn(send_until(stop.clone(), researcher.clone(), patient, answers));
        phones.push(phone);
    }
    until_each(&phones, "answered before the outage", |_, answers| answers.stored.load(Ordering::SeqCst) > 0).await;
    begin();
    let meanwhile = ask_during_outage(&researcher, &phones).await;
    end();
    let back = Instant::now();
    while researcher.get("/readyz", None).await.0 != 200 {
        assert!(back.elapsed() < LONGEST, "not ready {:?} after the outage", back.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    let ready_after = back.elapsed();
    let stored: Vec<i64> = phones.iter().map(|phone| phone.answers.stored.load(Ordering::SeqCst)).collect();
    until_each(&phones, "answered after the outage", |at, answers| answers.stored.load(Ordering::SeqCst) > stored[at])
        .await;
    stop.store(true, Ordering::SeqCst);
    let mut syncs = Took::default();
    sending.join_all().await.iter().for_each(|took| syncs.extend(took));
    meanwhile.report_refusals(fault);
    println!("syncs were answered or refused: {syncs}; ready {ready_after:.1?} after the outage");
    assert!(syncs.slowest() < LONGEST, "{syncs}");
    let moved_on = Instant::now();
    for Phone { patient, answers } in &phones {
        let stored = answers.stored.load(Ordering::SeqCst);
        check_rows(&researcher, patient, stored).await;
        while latest_ms(&researcher, patient).await < BEGIN_MS + (stored - 1) * 1000 {
            assert!(moved_on.elapsed() < LONGEST_STANDSTILL, "latest values do not move on after the outage");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    println!("everything is derived {:?} after the outage", back.elapsed());
    service.check_memory(fault);
}

/// When the newest value of a patient was measured that pages show.
async fn latest_ms(researcher: &Researcher, patient: &Patient) -> i64 {
    let path = format!("/integration/v1/patients/{}/latest-news-score", patient.uuid);
    researcher.get(&path, None).await.1["timestamp"].as_i64().unwrap_or_default()
}

/// Exactly what was acknowledged is there. The last row may have been stored and not acknowledged only while it was sent
/// again, which the phones did.
async fn check_rows(researcher: &Researcher, patient: &Patient, stored: i64) {
    let (status, rows) = researcher.get(ROWS, Some(&patient.token)).await;
    assert_eq!(status, 200, "{rows}");
    let times: Vec<i64> = rows.as_array().unwrap().iter().filter_map(|row| row["timestamp"].as_i64()).collect();
    let sent: Vec<i64> = (0..stored).map(|row| BEGIN_MS + row * 1000).collect();
    let found = times.len() as i64;
    assert!(times[..sent.len().min(times.len())] == sent && found <= stored + 1, "{found} of {stored} rows");
}

fn here(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_database_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    check_outage("a frozen database", &server, here(server.port()), || server.freeze(), || server.thaw()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_is_cut_off_silently_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    let proxy = SilentProxy::start(server.port());
    check_outage(
        "a connection to the database that goes silent",
        &server,
        here(proxy.port()),
        || proxy.cut(),
        || proxy.mend(),
    )
    .await;
}

/// The database is on another host, and the cable between them is pulled out.
#[tokio::test(flavor = "multi_thread")]
async fn database_behind_a_link_that_is_cut_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    let Some(link) = RealLink::start(server.port()) else { return };
    check_outage("a link to the database that is cut", &server, link.address(), || link.cut(), || link.mend()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_crashes_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    check_outage("a crash of the database", &server, here(server.port()), || server.crash(), || server.come_back())
        .await;
}

/// Enrols patient after patient, each of which is a write with audit entries; returns how long the answers took.
async fn enrol_until(end: Arc<AtomicBool>, researcher: Arc<Researcher>) -> Took {
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    let mut took = Took::default();
    while !end.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let (status, answer) = researcher.post(&path, None, &json!({})).await;
        took.add(begun);
        assert!(status == 200 || status == 503, "{answer}");
    }
    took
}

/// A node freezes while phones send to it and patients are enrolled. Next to it another node serves the same patients and
/// others, and enrols as well.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_node_stops_no_other() {
    let Some(server) = OwnServer::start() else { return };
    let (users, health) = (server.database(), server.database());
    let folder = tempdir().unwrap();
    let store = store_options(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let (frozen, other) = (start_node(&first, &store), start_node(&second, &store));
    let at_frozen = Arc::new(Researcher::new_with(&first, &store, &frozen.url).await);
    let (mut its_own, mut others) = (Vec::new(), Vec::new());
    for _ in 0..PATIENTS {
        its_own.push(at_frozen.enrol().await);
        others.push(at_frozen.enrol().await);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut phones = JoinSet::new();
    for patient in &its_own {
        phones.spawn(send_until(stop.clone(), at_frozen.clone(), patient.clone(), Arc::default()));
    }
    for _ in 0..WRITERS {
        phones.spawn(enrol_until(stop.clone(), at_frozen.clone()));
    }
    tokio::time::sleep(BEFORE).await;
    frozen.signal("-STOP");
    phones.abort_all();
    let at_other = at_frozen.moved(&other.url);
    let mut enrolling = JoinSet::new();
    let enrolling_at = Arc::new(at_frozen.moved(&other.url));
    for _ in 0..WRITERS {
        enrolling.spawn(enrol_until(stop.clone(), enrolling_at.clone()));
    }
    let sync = async |patient: &Patient, number: i64, took: &mut Took| {
        let time_ms = BEGIN_MS + (9_000 + number) * 1000;
        let body: Value = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [70]}}});
        let begun = Instant::now();
        let status = at_other.try_sync(patient, &body, LONGEST_WAIT).await.expect("an answer").0;
        took.add(begun);
        status
    };
    let (mut of_its_own, mut meanwhile, mut refused) = (Took::default(), Meanwhile::default(), 0);
    for number in 0..20 * PATIENTS {
        let at = number % PATIENTS;
        // Of its own patients a frozen node may hold a row until the server ends its transaction.
        if number < 5 * PATIENTS {
            let status = sync(&its_own[at], number as i64, &mut of_its_own).await;
            assert!(status == 200 || status == 503, "{status} at {number}");
            refused += usize::from(status == 503);
        }
        // By then the server has ended what the frozen node held; more would only slow the test down.
        stop.fetch_or(number >= 5 * PATIENTS, Ordering::SeqCst);
        meanwhile.ask(&at_other, &others[at], number as i64, 200).await;
    }
    let mut enrolments = Took::default();
    enrolling.join_all().await.iter().for_each(|took| enrolments.extend(took));
    println!("enrolments at the other node: {enrolments}");
    assert!(enrolments.slowest() < LONGEST, "{enrolments}");
    assert!(refused <= PATIENTS / 2, "{refused} refused");
    println!("syncs of the frozen node's patients at another: {of_its_own}");
    meanwhile.report("a frozen node");
    other.check_memory("a frozen node");
    assert!(of_its_own.slowest() < LONGEST, "{of_its_own}");
    assert!(meanwhile.syncs.slowest() < LONGEST && meanwhile.reads.slowest() < LONGEST, "{meanwhile:?}");
    frozen.signal("-CONT");
}
