//! Prints how long the answers over many patients take, and how much memory: `cargo run --release -p api --example
//! answers -- 10000 500 3` enrols 10,000 patients, each with a row and 500 of them with a whole day, and
//! asks three times. A fourth argument names the only answer that is asked for, which an instruction count needs:
//! the difference between runs of one round and of more is that answer's.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::sync::Arc;
use std::time::Instant;

use api::{ApiState, Limits};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use futures::StreamExt;
use platform::{Environment, NewAccount, NewApiKey, Platform, Settings, SubscriptionStart};
use rand::{Rng, SeedableRng};
use store::engine::Address;
use store::{
    Activation, DeviceReport, HealthChange, HealthDb, HealthMessage, MessageId, Objects, PatientId, Profile, Role,
    SerialNumber, Sync, UsersDb,
};
use tower::ServiceExt;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

type Failure = Box<dyn std::error::Error + Send + std::marker::Sync>;

/// 2025-11-20T00:00Z, ms.
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const DAY_MINUTES: i64 = 1440;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let only = std::env::args().nth(4);
    let mut numbers = std::env::args().skip(1).take(3).map(|number| number.parse::<usize>());
    let patients = numbers.next().transpose()?.unwrap_or(10_000);
    let whole_days = numbers.next().transpose()?.unwrap_or(500);
    let rounds = numbers.next().transpose()?.unwrap_or(3);
    let folder = tempfile::tempdir()?;
    let objects = Objects::folder(&folder.path().join("objects"))?;
    let users = UsersDb::open(Address::File(folder.path().join("users.sqlite"))).await?;
    let health = HealthDb::open(Address::File(folder.path().join("health.sqlite")), objects.clone()).await?;
    let random = std::sync::Mutex::new(rand_chacha::ChaCha8Rng::seed_from_u64(1));
    let random = move |bytes: &mut [u8]| {
        if let Ok(mut random) = random.lock() {
            random.fill_bytes(bytes);
        }
    };
    let clock = Arc::new(|| MIDNIGHT_MS + DAY_MINUTES * 60_000);
    let platform = Platform::new(Environment {
        users,
        health,
        objects,
        clock,
        random: Arc::new(random),
        master_key: [1; 32],
        settings: Settings::default(),
    });

    let account = NewAccount {
        email: "ada@example.org".to_owned(),
        role: Role::Researcher,
        first_name: None,
        last_name: None,
        password: None,
        subscription: SubscriptionStart::Active,
    };
    let (account, password) = platform.identity.create_account(account).await?;
    let (_, key) = platform.identity.create_api_key(&account, NewApiKey::default()).await?;
    let researcher = platform.identity.researcher(&key).await?;
    let group = platform.people.create_group(&researcher, "Many", "").await?.code;
    let begin = Instant::now();
    let enrol = |number: usize| {
        let (platform, researcher, group) = (&platform, &researcher, &group);
        async move {
            let patient = platform.people.enrol_patient(researcher, group).await?.uuid;
            confirm(platform, &patient).await?;
            let device = DeviceReport::new(SerialNumber::new(format!("B{number:06}")));
            let rows = if number < whole_days { DAY_MINUTES } else { 1 };
            let received_ms = platform.core.now_ms();
            let blocks = vec![activity(rows)];
            let sync = Sync { patient, received_ms, id: None, device: Some(device), blocks };
            platform.core.health().store_sync(sync).await?;
            Ok::<(), Failure>(())
        }
    };
    let mut enrolled = futures::stream::iter((0..patients).map(enrol)).buffer_unordered(256);
    while let Some(result) = enrolled.next().await {
        result?;
    }
    drop(enrolled);
    platform.core.deliver_pending(0).await?;
    let derivations = platform::jobs::drain(&platform.upkeep, &["derive"]).await?;
    println!("prepared {patients} patients, {derivations} derivations, in {:.1} s", begin.elapsed().as_secs_f64());

    let router = api::router(ApiState::new(platform, Limits::default()));
    let cookie = sign_in(&router, &account.email, &password).await?;
    let board = format!("/portal/api/groups/{group}/board");
    let group = format!("/integration/v1/groups/{group}");
    for (name, path) in [
        ("patient list", format!("{group}/patients?token={key}")),
        ("with latest values", format!("{group}/patients?token={key}&with_latest_values=1")),
        ("latest values only", format!("{group}/patients?token={key}&with_latest_values=1&fields[]=uuid")),
        ("summaries", format!("{group}/summaries?token={key}&date=2025-11-20")),
        ("with slots", format!("{group}/summaries?token={key}&date=2025-11-20&include_slots=1")),
        ("board", board),
    ] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        for _ in 0..rounds {
            measure(&router, name, &path, &cookie).await?;
        }
    }
    Ok(())
}

/// Makes the patient of a voucher a confirmed one, which boards and lists show. Past the service's own operation, which
/// computes a hash for each password.
async fn confirm(platform: &Platform, patient: &PatientId) -> Result<(), Failure> {
    let now_ms = platform.core.now_ms();
    let change = HealthChange::PutPatient {
        uuid: patient.clone(),
        record_id: store::RecordId::new(patient.to_string()),
        customer_code: None,
        profile: Profile::default(),
        at_ms: now_ms,
    };
    let id = MessageId::new(format!("confirm-{patient}"));
    let message = HealthMessage { id, change, entries: Vec::new(), created_ms: now_ms };
    let enrolled = platform.core.users().patient(patient).await?.ok_or("a patient is not there")?;
    let activation = Activation {
        uuid: patient.clone(),
        email: None,
        password_hash: String::new(),
        known: enrolled.person,
        person: "{}".to_owned(),
        now_ms,
    };
    if !platform.core.users().activate_patient(activation, message).await? {
        return Err("a patient cannot be confirmed".into());
    }
    Ok(())
}

/// Returns a row a minute with every vital sign.
fn activity(rows: i64) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = (DAY_MINUTES - rows..DAY_MINUTES).map(|minute| (MIDNIGHT_MS + minute * 60_000) * 1000).collect();
    block.zones = ZoneRuns::constant("UTC".into(), block.rows());
    let vary = |from: i32, span: i32| Cells::Values((0..rows as i32).map(|row| from + row * 7 % span).collect());
    for (name, cells) in [
        ("bpm", vary(60, 30)),
        ("bpm_q", vary(2, 3)),
        ("last_steps", vary(0, 40)),
        ("respiration_rate", vary(120, 60)),
        ("spo2", vary(950, 40)),
        ("core_temp", vary(3650, 80)),
        ("nibp_systolic_combine", vary(115, 20)),
        ("nibp_diastolic_combine", vary(70, 15)),
    ] {
        if let Some(column) = DataType::Activity.column_index(name) {
            block.columns[column] = cells;
        }
    }
    block
}

async fn measure(router: &Router, name: &str, path: &str, cookie: &str) -> Result<(), Failure> {
    let (begin, cpu_before_ms) = (Instant::now(), cpu_ms());
    let request = Request::get(path);
    let is_page = path.starts_with("/portal");
    let request = if is_page { request.header("cookie", cookie) } else { request };
    let response = router.clone().oneshot(request.body(Body::empty())?).await?;
    let status = response.status().as_u16();
    let mut body = response.into_body().into_data_stream();
    let (mut bytes, mut first_ms) = (0, None);
    while let Some(piece) = body.next().await {
        bytes += piece?.len();
        first_ms.get_or_insert(begin.elapsed().as_secs_f64() * 1e3);
    }
    let all_ms = begin.elapsed().as_secs_f64() * 1e3;
    let cpu_ms = cpu_ms() - cpu_before_ms;
    let (first_ms, mib) = (first_ms.unwrap_or(all_ms), bytes as f64 / f64::from(1 << 20));
    println!(
        "{name:20} {status} first byte {first_ms:7.1} ms, all {all_ms:8.1} ms, cpu {cpu_ms:7.1} ms, {mib:7.1} MiB, {}",
        most_memory()
    );
    Ok(())
}

/// Returns a cookie of the portal.
async fn sign_in(router: &Router, email: &str, password: &str) -> Result<String, Failure> {
    let body = format!("{{\"email\":\"{email}\",\"password\":\"{password}\"}}");
    let request = Request::post("/portal/session").header("content-type", "application/json").body(Body::from(body))?;
    let response = router.clone().oneshot(request).await?;
    let cookie = response.headers().get("set-cookie").ok_or("no cookie")?.to_str()?;
    Ok(cookie.split(';').next().unwrap_or_default().to_owned())
}

/// Returns what all threads together have computed so far, ms, where the system reports it.
fn cpu_ms() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(Result::ok);
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0)
    };
    threads.map(of).sum::<f64>() / 1e6
}

/// Returns the most memory that the process has held, where the system reports it.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or_else(String::new, |line| format!("at most {} held", line.trim_start_matches("VmHWM:").trim()))
}
