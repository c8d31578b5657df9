//! What it costs to know the caller: requests with API keys among 100,000.

use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};
use store::engine::Address;
use store::{ApiKey, ApiKeyId, UsersDb};

use crate::client::{Connection, request};
use crate::ingest::assert_ok;
use crate::server::Server;

const KEYS: usize = 100_000;
/// Of the keys, one in so many is used: each use notes its minute, and nobody has all keys used in a minute.
const ONE_IN: usize = 100;
const THREADS: usize = 2;
const CONNECTIONS_OF_A_THREAD: usize = 16;
const DURATION: Duration = Duration::from_secs(10);

/// Requests that need nobody, then the groups of the holder of a key.
pub fn keys(server: &Server) {
    let keys = add_keys(server);
    let open = vec![request("GET", "/livez", &[], &[])];
    let (_, base_us) = load(server, &open);
    let groups: Vec<Vec<u8>> = keys
        .iter()
        .step_by(ONE_IN)
        .map(|key| request("GET", "/integration/v1/groups", &[("x-api-key", key.as_str())], &[]))
        .collect();
    let (rate, each_us) = load(server, &groups);
    println!(
        "  groups with {KEYS} keys: {rate:.0} requests/s, {each_us:.0} µs of server CPU each; {base_us:.0} for a probe, so \
         {:.0} for key, rate limit and list",
        each_us - base_us
    );
}

/// As many requests as go, in turn; answers requests a second and CPU of the server for each, µs.
fn load(server: &Server, requests: &[Vec<u8>]) -> (f64, f64) {
    let before = server.cpu_s();
    let started = Instant::now();
    let answered: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || ask(server, requests, thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client")).sum()
    });
    let took_s = started.elapsed().as_secs_f64();
    (answered as f64 / took_s, (server.cpu_s() - before) / answered as f64 * 1e6)
}

fn ask(server: &Server, requests: &[Vec<u8>], thread: usize) -> usize {
    let mut connections: Vec<_> = (0..CONNECTIONS_OF_A_THREAD).map(|_| Connection::open(server.address)).collect();
    let started = Instant::now();
    let mut next = thread;
    let mut answered = 0;
    while started.elapsed() < DURATION {
        for connection in &mut connections {
            connection.ask(&requests[next % requests.len()]);
            next += THREADS;
        }
        for connection in &mut connections {
            assert_ok(&connection.take());
            answered += 1;
        }
    }
    answered
}

/// Adds keys of the account that the server began with, straight into its store.
fn add_keys(server: &Server) -> Vec<String> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let before = Instant::now();
    let keys: Vec<String> = (0..KEYS).map(|number| format!("pwk_bench_{:064x}", number * 2_654_435_761)).collect();
    runtime.block_on(async {
        let users = UsersDb::open(Address::File(server.data().join("users.db"))).await.expect("the store");
        let account = users.account_by_email("bench@example.org").await.expect("a store").expect("an account");
        let mut adding = tokio::task::JoinSet::new();
        for (number, key) in keys.iter().enumerate() {
            let key = ApiKey {
                id: ApiKeyId::new(format!("{number:024x}")),
                key_hash: Sha256::digest(key.as_bytes()).to_vec(),
                prefix: key[..8].to_owned(),
                account: account.uuid.clone(),
                is_scoped: false,
                name: None,
                created_ms: 0,
                expires_ms: None,
                revoked_ms: None,
                last_used_ms: None,
            };
            let users = users.clone();
            adding.spawn(async move { users.add_api_key(key, Vec::new()).await.expect("a key") });
        }
        adding.join_all().await;
    });
    println!("  ({KEYS} keys added in {:.1} s)", before.elapsed().as_secs_f64());
    let groups = server.integration("GET", "/v1/groups", &Value::Null);
    assert_eq!(groups.as_array().map(Vec::len), Some(1));
    keys
}
