//! Whether the time of a refused login shows that there is such a person: `cargo run --release -p api --example
//! login_times -- 200` tries each kind of name 200 times, in an order that changes, and fails when two medians differ by
//! more than a tenth. On Linux it also prints the CPU time, which other work on the machine disturbs less.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::{ApiState, ClientAddress, Limits};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use platform::{
    Environment, FieldFaults, NewAccount, NewActivation, NewApiKey, Person, Platform, Settings, SubscriptionStart,
};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use store::engine::Address;
use store::{HealthDb, Objects, Profile, Role, UsersDb};
use tower::ServiceExt;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const MOST_DIFFERENCE: f64 = 0.10;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let tries: u32 = std::env::args().nth(1).map_or(Ok(200), |number| number.parse())?;
    let folder = tempfile::tempdir()?;
    let platform = open(folder.path()).await?;
    let codes = people(&platform).await?;
    let names = [
        ("a patient, by e-mail", json!({"email": "grace@example.org"})),
        ("a patient, by code", json!({"code": codes[0]})),
        ("a patient who has no password yet", json!({"code": codes[1]})),
        ("an account", json!({"email": "ada@example.org"})),
        ("a disabled account", json!({"email": "bob@example.org"})),
        ("nobody, by e-mail", json!({"email": "nobody@example.org"})),
        ("nobody, by code", json!({"code": "ZZZZZZZZ"})),
    ];
    let router = api::router(ApiState::new(platform, Limits::default()));
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    let mut cpu_times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    let mut order: Vec<usize> = (0..names.len()).collect();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(2);
    // By turns and shuffled, so that whatever else the machine does falls on all alike.
    for attempt in 0..tries {
        order.shuffle(&mut random);
        for kind in &order {
            let cpu_before = cpu_time();
            times[*kind].push(refused(&router, names[*kind].1.clone(), attempt).await?);
            cpu_times[*kind].push(cpu_time().saturating_sub(cpu_before));
        }
    }
    let medians: Vec<f64> = times.into_iter().map(median_ms).collect();
    let cpu_medians: Vec<f64> = cpu_times.into_iter().map(median_ms).collect();
    println!("     time    CPU time");
    for ((what, _), (time, cpu)) in names.iter().zip(medians.iter().zip(&cpu_medians)) {
        println!("{time:>9.3} {cpu:>9.3} ms  {what}");
    }
    let (difference, cpu_difference) = (spread(&medians), spread(&cpu_medians));
    println!(
        "the medians of {tries} differ by {:.1} %, of CPU time by {:.1} %",
        difference * 100.0,
        cpu_difference * 100.0
    );
    if difference > MOST_DIFFERENCE {
        return Err("the time reveals more than it should".into());
    }
    Ok(())
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// By how much the largest is more than the smallest, as a share of it.
fn spread(medians: &[f64]) -> f64 {
    let largest = medians.iter().copied().fold(0.0, f64::max);
    let smallest = medians.iter().copied().fold(f64::INFINITY, f64::min);
    largest / smallest - 1.0
}

/// CPU time of all threads of this process; zero where the system reports none.
fn cpu_time() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let of_thread = |thread: std::fs::DirEntry| {
        let reported = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        reported.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.flatten().filter_map(of_thread).sum())
}

/// Returns how long a login with a wrong password takes. Each attempt comes from another address, so that none has to
/// wait.
async fn refused(router: &Router, mut body: Value, attempt: u32) -> Result<Duration, Failure> {
    body["password"] = json!("not the password");
    let mut request =
        Request::post("/users/login").header("content-type", "application/json").body(Body::from(body.to_string()))?;
    let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + attempt));
    request.extensions_mut().insert(ClientAddress(Some(address)));
    let begin = Instant::now();
    let response = router.clone().oneshot(request).await?;
    let took = begin.elapsed();
    match response.status() {
        StatusCode::UNAUTHORIZED => Ok(took),
        other => Err(format!("answered {other}").into()),
    }
}

async fn open(folder: &std::path::Path) -> Result<Platform, Failure> {
    let objects = Objects::folder(&folder.join("objects"))?;
    let users = UsersDb::open(Address::File(folder.join("users.sqlite"))).await?;
    let health = HealthDb::open(Address::File(folder.join("health.sqlite")), objects.clone()).await?;
    let random = Mutex::new(rand_chacha::ChaCha8Rng::seed_from_u64(1));
    let random = move |bytes: &mut [u8]| {
        if let Ok(mut random) = random.lock() {
            random.fill_bytes(bytes);
        }
    };
    let clock = Arc::new(|| 1_763_600_000_000);
    Ok(Platform::new(Environment {
        users,
        health,
        objects,
        clock,
        random: Arc::new(random),
        master_key: [1; 32],
        settings: Settings::default(),
    }))
}

/// Makes the people; answers the codes of a patient who can log in and of one who cannot yet.
async fn people(platform: &Platform) -> Result<[String; 2], Failure> {
    let account = |email: &str| NewAccount {
        email: email.to_owned(),
        role: Role::Researcher,
        first_name: None,
        last_name: None,
        password: None,
        subscription: SubscriptionStart::Active,
    };
    let (ada, _) = platform.identity.create_account(account("ada@example.org")).await?;
    let (bob, _) = platform.identity.create_account(account("bob@example.org")).await?;
    platform.identity.disable_account(&bob).await?;
    let (_, key) = platform.identity.create_api_key(&ada, NewApiKey::default()).await?;
    let researcher = platform.identity.researcher(&key).await?;
    let group = platform.people.create_group(&researcher, "Study", "").await?.code;
    let grace = platform.people.enrol_patient(&researcher, &group).await?;
    let hedy = platform.people.enrol_patient(&researcher, &group).await?;
    let activation = NewActivation {
        code: grace.voucher_code.clone(),
        password: "correct horse battery".to_owned(),
        email: Some("grace@example.org".to_owned()),
        person: Person::default(),
        profile: Profile::default(),
        unreadable: FieldFaults::new(),
    };
    platform.people.activate(activation, "10.0.0.1").await?;
    Ok([grace.voucher_code.to_string(), hedy.voucher_code.to_string()])
}
