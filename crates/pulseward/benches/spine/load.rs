//! Many small syncs: a burst as fast as it goes, a steady stream, and patients who are watched live.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Connection, json as json_request, percentile_ms};
use crate::ingest::{assert_ok, today_ms};
use crate::server::{Sender, Server};

const PATIENTS: usize = 1000;
const CONNECTIONS: usize = 64;
/// Steps of each minute: what the derivations have to add up to.
const STEPS: u64 = 7;

/// One minute of one patient.
fn minute(sender: &Sender, start_ms: i64, minute: i64) -> Vec<u8> {
    let body = json!({"time_zone": "UTC", "data": {"activity": {"timestamp": [start_ms + minute * 60_000],
        "bpm": [60 + minute % 40], "bpm_q": 4, "last_steps": STEPS, "respiration_rate": [14], "spo2": [97], "wearing": 4,
        "battery": 80}}});
    json_request("POST", "/health/v1/sync", Some(&sender.token), &body)
}

/// As many syncs as go in ten seconds, then the time until all of them are derived; the CPU time is that of both.
pub fn burst(server: &Server) {
    let senders = server.senders(PATIENTS);
    let start_ms = today_ms() - 86_400_000;
    let next = AtomicU64::new(0);
    let times = Mutex::new(Vec::new());
    let before = server.cpu_s();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut connection = Connection::open(server.address);
                let mut own = Vec::new();
                while started.elapsed() < Duration::from_secs(10) {
                    let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let bytes = minute(&senders[number % PATIENTS], start_ms, (number / PATIENTS) as i64);
                    let answer = connection.send(&bytes);
                    assert_ok(&answer);
                    own.push(answer.whole);
                }
                times.lock().expect("the times").extend(own);
            });
        }
    });
    let took = started.elapsed().as_secs_f64();
    let mut times = times.into_inner().expect("the times");
    let syncs = times.len();
    let stopped = Instant::now();
    let date = jiff::Timestamp::from_millisecond(start_ms).expect("a time").strftime("%Y-%m-%d").to_string();
    let path = format!("/v1/groups/{}/summaries?date={date}", server.group);
    while total_steps(&server.integration("GET", &path, &Value::Null)) < syncs as u64 * STEPS {
        assert!(stopped.elapsed() < Duration::from_mins(5), "the derivations end");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (cpu, later) = (server.cpu_s() - before, stopped.elapsed());
    println!(
        "  burst: {:.0} syncs/s durable, p50 {:.1} ms, p99 {:.1} ms, {:.0} µs of server CPU each, derivations included",
        syncs as f64 / took,
        percentile_ms(&mut times, 50),
        percentile_ms(&mut times, 99),
        cpu / syncs as f64 * 1e6
    );
    println!("  all derived {:.1} s after the last sync", later.as_secs_f64());
}

/// Syncs of [`PATIENTS`] patients at an even pace, over some connections.
struct Pace {
    a_second: u64,
    seconds: u64,
    connections: usize,
}

impl Pace {
    fn syncs(&self) -> u64 {
        self.a_second * self.seconds
    }

    /// Calls `send` with each number when its time has come.
    fn keep(&self, server: &Server, send: impl Fn(&mut Connection, u64) + Sync) {
        let next = AtomicU64::new(0);
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..self.connections {
                scope.spawn(|| {
                    let mut connection = Connection::open(server.address);
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.syncs() {
                            return;
                        }
                        let due = Duration::from_secs_f64(number as f64 / self.a_second as f64);
                        std::thread::sleep(due.saturating_sub(started.elapsed()));
                        send(&mut connection, number);
                    }
                });
            }
        });
    }
}

/// 300 syncs a second for 30 s, each of the minute that is now, at an even pace: what a live sync costs with everything
/// that follows from it.
pub fn live(server: &Server) {
    const PACE: Pace = Pace { a_second: 300, seconds: 30, connections: 16 };
    /// What was sent last is derived within this time, and an idle node costs next to nothing.
    const AFTERWARDS: Duration = Duration::from_secs(2);
    let senders = server.senders(PATIENTS);
    let start_ms = jiff::Timestamp::now().as_millisecond() - 5 * 60_000;
    let times = Mutex::new(Vec::new());
    let before = server.cpu_s();
    PACE.keep(server, |connection, number| {
        // Rows of one patient are ten seconds apart, so that each sync is new.
        let row_ms = start_ms + (number as usize / PATIENTS) as i64 * 10_000;
        let answer = connection.send(&minute(&senders[number as usize % PATIENTS], row_ms, 0));
        assert_ok(&answer);
        times.lock().expect("the times").push(answer.whole);
    });
    std::thread::sleep(AFTERWARDS);
    let cpu = server.cpu_s() - before;
    let mut times = times.into_inner().expect("the times");
    println!(
        "  live: p50 {:.1} ms, p99 {:.1} ms, {:.0} µs of server CPU each, derivations included",
        percentile_ms(&mut times, 50),
        percentile_ms(&mut times, 99),
        cpu / times.len() as f64 * 1e6
    );
    let date = jiff::Timestamp::from_millisecond(start_ms).expect("a time").strftime("%Y-%m-%d").to_string();
    let path = format!("/v1/groups/{}/summaries?date={date}", server.group);
    let steps = total_steps(&server.integration("GET", &path, &Value::Null));
    println!("  derived of it {:.1} %", steps as f64 / (times.len() as u64 * STEPS) as f64 * 100.0);
}

fn total_steps(summaries: &Value) -> u64 {
    let days = summaries.as_object().into_iter().flat_map(|patients| patients.values());
    days.filter_map(|day| day["activity"]["total_steps"].as_u64()).sum()
}

/// 500 syncs a second for a minute; of some, how long until latest value and slot can be read.
pub fn sustained(server: &Server) {
    const PACE: Pace = Pace { a_second: 500, seconds: 60, connections: CONNECTIONS };
    let senders = server.senders(PATIENTS);
    let start_ms = today_ms() - 86_400_000;
    let date = jiff::Timestamp::from_millisecond(start_ms).expect("a time").strftime("%Y-%m-%d").to_string();
    let (times, visible) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let started = Instant::now();
    PACE.keep(server, |connection, number| {
        let sender = &senders[number as usize % PATIENTS];
        let at = number as i64 / PATIENTS as i64;
        let answer = connection.send(&minute(sender, start_ms, at));
        assert_ok(&answer);
        times.lock().expect("the times").push(answer.whole);
        if number.is_multiple_of(97) {
            let waited = until_visible(server, connection, sender, &date, (at as u64 + 1) * STEPS);
            visible.lock().expect("the times").push(waited);
        }
    });
    let (mut times, mut visible) = (times.into_inner().expect("the times"), visible.into_inner().expect("the times"));
    println!(
        "  sustained: {:.0} syncs/s, p95 {:.1} ms; from answer to visible slot p50 {:.0} ms, p95 {:.0} ms",
        PACE.syncs() as f64 / started.elapsed().as_secs_f64(),
        percentile_ms(&mut times, 95),
        percentile_ms(&mut visible, 50),
        percentile_ms(&mut visible, 95)
    );
}

fn until_visible(server: &Server, connection: &mut Connection, sender: &Sender, date: &str, steps: u64) -> Duration {
    let answered = Instant::now();
    let path = format!("/v1/patients/{}/summary/{date}?types=activity", sender.uuid);
    let request = server.integration_request("GET", &path, &Value::Null);
    loop {
        let answer = connection.send(&request);
        assert_ok(&answer);
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        if body["activity"]["total_steps"].as_u64().unwrap_or(0) >= steps {
            return answered.elapsed();
        }
        assert!(answered.elapsed() < Duration::from_mins(1), "the slot came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
