//! The server under test: the release binary in a folder of its own, with a study and activated patients.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Connection, json as json_request, request};

/// Returns the program to measure.
fn binary() -> std::ffi::OsString {
    std::env::var_os("PULSEWARD_BENCH_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_pulseward").into())
}

/// A running server with a researcher's key and a group.
pub struct Server {
    child: Child,
    data: tempfile::TempDir,
    pub address: SocketAddr,
    pub key: String,
    pub group: String,
}

/// A patient who can send.
#[derive(Clone)]
pub struct Sender {
    pub uuid: String,
    pub token: String,
}

impl Server {
    /// Starts with the rate limit counting, so that its cost is in every figure, and never refusing; on the disk of the
    /// working folder, not in memory: what is measured is durable. `options` are further ones of `serve`.
    pub fn start(options: &[&str]) -> Self {
        let data = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--rate-limit", "1000000000", "--data"])
            .arg(data.path())
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
        let line = lines.find_map(|line| line.ok()?.strip_prefix("listening on http://").map(str::to_owned));
        let address = line.expect("it listens").parse().expect("an address");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("server: {line}")));
        let mut server = Server { child, data, address, key: String::new(), group: String::new() };
        server.admin(&["create-account", "--email", "bench@example.org", "--role", "researcher"]);
        let key = server.admin(&["create-api-key", "--account", "bench@example.org"]);
        server.key = text_of(&key["token"]);
        let group = server.integration("POST", "/v1/groups", &json!({"name": "bench", "description": "bench"}));
        server.group = text_of(&group["code"]);
        server
    }

    /// Returns the folder of the store.
    pub fn data(&self) -> &std::path::Path {
        self.data.path()
    }

    fn admin(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(binary());
        command.arg("admin").args(arguments).args(["--json", "--data"]).arg(self.data.path());
        let output = command.output().expect("admin runs");
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time that the server has used, seconds.
    pub fn cpu_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("a process");
        let after_name = stat.rsplit_once(')').expect("a name").1;
        let ticks: f64 =
            after_name.split_whitespace().skip(11).take(2).map(|text| text.parse::<f64>().unwrap_or(0.0)).sum();
        ticks / 100.0
    }

    /// Resident memory now and at its worst, MiB.
    pub fn memory_mib(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a process");
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
        };
        (of("VmRSS"), of("VmHWM"))
    }

    /// Returns a request of the integration API and its answer.
    pub fn integration(&self, method: &str, path: &str, body: &Value) -> Value {
        let bytes = self.integration_request(method, path, body);
        let answer = Connection::open(self.address).send(&bytes);
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    pub fn integration_request(&self, method: &str, path: &str, body: &Value) -> Vec<u8> {
        let path = format!("/integration{path}");
        let headers = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        request(method, &path, &headers, &body)
    }

    /// Adds patients to the group who are not activated.
    pub fn vouchers(&self, count: usize) -> Vec<(String, String)> {
        let mut connection = Connection::open(self.address);
        let bytes = self.integration_request("POST", &format!("/v1/groups/{}/patients", self.group), &Value::Null);
        let one = |_| {
            let answer: Value = serde_json::from_slice(&connection.send(&bytes).body).expect("a patient");
            let text = |name: &str| answer[name].as_str().expect("a patient").to_owned();
            (text("uuid"), text("code"))
        };
        (0..count).map(one).collect()
    }

    /// Adds patients who can send. Activating costs a password hash each.
    pub fn senders(&self, count: usize) -> Vec<Sender> {
        let started = Instant::now();
        let vouchers = self.vouchers(count);
        let address = self.address;
        let half = count.div_ceil(2).max(1);
        let senders = std::thread::scope(|scope| {
            let parts: Vec<_> =
                vouchers.chunks(half).map(|part| scope.spawn(move || activate_all(address, part))).collect();
            parts.into_iter().flat_map(|part| part.join().expect("activations")).collect()
        });
        eprintln!("  ({count} patients activated in {:.0} s)", started.elapsed().as_secs_f64());
        let _ = std::io::stderr().flush();
        senders
    }
}

fn activate_all(address: SocketAddr, vouchers: &[(String, String)]) -> Vec<Sender> {
    let mut connection = Connection::open(address);
    let mut post = |path: &str, body: &Value| -> Value {
        let answer = connection.send(&json_request("POST", path, None, body));
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).expect("JSON")
    };
    let mut one = |(uuid, code): &(String, String)| {
        let activation = json!({"code": code, "password": "correct horse battery", "time_zone": "UTC"});
        let login = post("/users/activate", &activation);
        let login = post("/health/login", &json!({"user_api_token": login["token"]}));
        Sender { uuid: uuid.clone(), token: login["token"].as_str().expect("a token").to_owned() }
    };
    vouchers.iter().map(&mut one).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only ever the process that was started here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
