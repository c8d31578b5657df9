//! Reading: patient lists with latest values, group summaries with and without slots.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Connection, json as json_request, percentile_ms};
use crate::ingest::{assert_ok, send_all, today_ms};
use crate::server::Server;

/// Lists of 100 and of 10,000 patients with their latest values.
pub fn patient_list(server: &Server) {
    let senders = server.senders(100);
    let body = json!({"time_zone": "UTC", "data": {"activity": {"timestamp": [today_ms() - 60_000], "bpm": 61,
        "respiration_rate": 14, "spo2": 97, "core_temp": 36.8, "nibp_systolic": 121, "nibp_diastolic": 79}}});
    let requests: Vec<Vec<u8>> =
        senders.iter().map(|one| json_request("POST", "/health/v1/sync", Some(&one.token), &body)).collect();
    send_all(server, &requests, 8);
    time_list(server, 100, 300);
    server.vouchers(9_900);
    time_list(server, 10_000, 15);
}

fn time_list(server: &Server, patients: usize, times: usize) {
    let path = format!("/v1/groups/{}/patients?with_latest_values=1", server.group);
    let request = server.integration_request("GET", &path, &Value::Null);
    let mut connection = Connection::open(server.address);
    let mut each: Vec<Duration> = Vec::new();
    let before = server.cpu_s();
    for _ in 0..times {
        let (answer, bytes) = connection.drain(&request);
        assert_eq!(answer.status, 200);
        assert!(bytes > patients as u64 * 50, "all patients are listed");
        each.push(answer.whole);
    }
    println!(
        "  list of {patients}: p50 {:.1} ms, p99 {:.1} ms, {:.1} ms of server CPU each",
        percentile_ms(&mut each, 50),
        percentile_ms(&mut each, 99),
        (server.cpu_s() - before) / times as f64 * 1000.0
    );
}

/// Summaries of 1,000 patients with a full day each, then again with ten times the history.
pub fn summaries(server: &Server) {
    let senders = server.senders(1000);
    for (history, days) in [("a day", 1..=1), ("ten days", 2..=10)] {
        for day in days {
            let start = today_ms() - day * 86_400_000;
            let data = json!({"activity": {"timestamp": (0..1440).map(|row| start + row * 60_000).collect::<Vec<i64>>(),
                "bpm": (0..1440).map(|row| 55 + row % 40).collect::<Vec<i64>>(), "last_steps": 9, "respiration_rate": 14,
                "spo2": 97, "wearing": 4, "battery": 80, "core_temp": 36.7, "nibp_systolic": 120, "nibp_diastolic": 80},
                "temperature": {"timestamp": (0..288).map(|row| start + row * 300_000).collect::<Vec<i64>>(),
                "temp_sk1": 33.1, "temp_sk2": 33.4}});
            let body = json!({"time_zone": "UTC", "data": data});
            let requests: Vec<Vec<u8>> =
                senders.iter().map(|one| json_request("POST", "/health/v1/sync", Some(&one.token), &body)).collect();
            send_all(server, &requests, 8);
        }
        wait_for_derivations(server);
        time_summaries(server, history);
    }
    println!("  a static body through the same stack: {:.0} MB/s", static_rate());
}

/// Returns the rate at which the web server below ours sends 200 MB that lie ready, MB/s: the median of some times.
fn static_rate() -> f64 {
    let body = bytes::Bytes::from(vec![b'7'; 200_000_000]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = axum::Router::new().route("/", axum::routing::get(move || std::future::ready(body.clone())));
    runtime.spawn(async { axum::serve(listener, router).await });
    let mut connection = Connection::open(address);
    let request = crate::client::request("GET", "/", &[], b"");
    let mut rates: Vec<f64> = (0..5)
        .map(|_| {
            let (answer, bytes) = connection.drain(&request);
            assert_eq!((answer.status, bytes), (200, 200_000_000));
            bytes as f64 / 1e6 / answer.whole.as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn date_of_yesterday() -> String {
    jiff::Timestamp::from_millisecond(today_ms() - 86_400_000).expect("a time").strftime("%Y-%m-%d").to_string()
}

fn wait_for_derivations(server: &Server) {
    let path = format!("/v1/groups/{}/summaries?date={}", server.group, date_of_yesterday());
    let request = server.integration_request("GET", &path, &Value::Null);
    let mut connection = Connection::open(server.address);
    let mut idle_cpu = server.cpu_s();
    loop {
        std::thread::sleep(Duration::from_secs(2));
        let cpu = server.cpu_s();
        let answer = connection.send(&request);
        assert_ok(&answer);
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let done = body.as_object().is_some_and(|all| all.values().all(|day| day["activity"]["total_steps"] == 12_960));
        if done && cpu - idle_cpu < 0.1 {
            return;
        }
        idle_cpu = server.cpu_s();
    }
}

fn time_summaries(server: &Server, history: &str) {
    let path = format!("/v1/groups/{}/summaries?date={}", server.group, date_of_yesterday());
    let mut connection = Connection::open(server.address);
    let plain = server.integration_request("GET", &path, &Value::Null);
    let mut each: Vec<Duration> = (0..20).map(|_| connection.drain(&plain).0.whole).collect();
    let with_slots = server.integration_request("GET", &format!("{path}&include_slots=1"), &Value::Null);
    let before = server.cpu_s();
    let (answer, bytes) = connection.drain(&with_slots);
    println!(
        "  {history} of history: without slots p50 {:.1} ms; with slots {:.0} MB, first byte {:.0} ms, {:.0} MB/s, \
         {:.0} MB per CPU second; resident at worst {} MiB",
        percentile_ms(&mut each, 50),
        bytes as f64 / 1e6,
        answer.first_byte.as_secs_f64() * 1000.0,
        bytes as f64 / 1e6 / answer.whole.as_secs_f64(),
        bytes as f64 / 1e6 / (server.cpu_s() - before).max(0.01),
        server.memory_mib().1
    );
}
