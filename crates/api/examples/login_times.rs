//! Whether the time of a refused login tells if there is such a person: `cargo run --release -p api --example
//! login_times -- 200` tries each kind of name 200 times, in turn, and fails when two medians differ by more than a tenth.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::{ApiState, ClientAddress, Limits};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use platform::{NewAccount, NewActivation, NewApiKey, Person, Platform, Role, Settings, SubscriptionStart};
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use store::engine::Address;
use store::{HealthDb, Objects, Profile, UsersDb};
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
    // In turn, so that whatever else the machine does falls on all alike.
    for attempt in 0..tries {
        for ((_, name), times) in names.iter().zip(&mut times) {
            times.push(refused(&router, name.clone(), attempt).await?);
        }
    }
    let mut medians = Vec::new();
    for ((what, _), mut times) in names.iter().zip(times) {
        times.sort();
        let median = times[times.len() / 2];
        println!("{:>9.3} ms  {what}", median.as_secs_f64() * 1000.0);
        medians.push(median.as_secs_f64());
    }
    let slowest = medians.iter().copied().fold(0.0, f64::max);
    let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let difference = slowest / fastest - 1.0;
    println!("the medians of {tries} differ by {:.1} %", difference * 100.0);
    if difference > MOST_DIFFERENCE {
        return Err("the time tells more than it should".into());
    }
    Ok(())
}

/// How long a login with a wrong password takes. Each attempt comes from another address, so that none has to wait.
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
    Ok(Platform::new(users, health, objects, clock, Arc::new(random), [1; 32], Settings::default()))
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
    let (ada, _) = platform.create_account(account("ada@example.org")).await?;
    let (bob, _) = platform.create_account(account("bob@example.org")).await?;
    platform.disable_account(&bob).await?;
    let (_, key) = platform.create_api_key(&ada, NewApiKey::default()).await?;
    let researcher = platform.researcher(&key).await?;
    let group = platform.create_group(&researcher, "Study", "").await?.code;
    let grace = platform.enrol_patient(&researcher, &group).await?;
    let hedy = platform.enrol_patient(&researcher, &group).await?;
    let activation = NewActivation {
        code: grace.voucher_code.clone(),
        password: "correct horse battery".to_owned(),
        email: Some("grace@example.org".to_owned()),
        person: Person::default(),
        profile: Profile::default(),
    };
    platform.activate(activation, "10.0.0.1").await?;
    Ok([grace.voucher_code, hedy.voucher_code])
}
