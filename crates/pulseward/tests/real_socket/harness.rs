//! Starts the program, ends it by the id of the process that was started, and runs its commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

/// The password of every patient.
pub const PATIENT_PASSWORD: &str = "a password for tests";

/// A command of the program that sees nothing of this process's configuration.
pub fn pulseward(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pulseward"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PULSEWARD_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A database file of a store, opened as the program does: what is written gets its checksums.
pub fn database_file(path: &Path) -> Connection {
    page_sums::install().unwrap();
    Connection::open(path).unwrap()
}

/// Runs a command of the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    pulseward(arguments).output().unwrap()
}

/// Runs an administrator's command on a data folder, in which the store is made before the first account.
pub fn admin(data: &Path, arguments: &[&str]) -> Value {
    let is_elsewhere = arguments.contains(&"--users-db");
    if arguments[0] == "create-account" && !is_elsewhere && !data.join("users.db").exists() {
        store_command(data, &["migrate"]);
    }
    store_command(data, &[&["admin"], arguments].concat())
}

/// Runs a command that works on a data folder; what it prints must be exactly one JSON object.
pub fn store_command(data: &Path, arguments: &[&str]) -> Value {
    let data = data.to_str().unwrap();
    let output = run(&[arguments, &["--data", data, "--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value.is_object());
    value
}

/// A running service.
pub struct Service {
    child: Child,
    /// Where it listens.
    pub url: String,
    /// What it said before.
    pub said: Vec<String>,
    /// Memory when it began to listen, MiB.
    began_mib: u64,
}

/// What everything but uploads may take above rest.
const MOST_ABOVE_REST_MIB: u64 = 256;

impl Service {
    /// Starts the service on a free port and waits until it says that it listens.
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// Starts a service whose tokens outlive it: they name the service by its public address, which without this is
    /// the one listened on, and that is another after each start here.
    pub fn start_named(data: &Path) -> Self {
        Self::start_with(data, &["--public-url", "http://study.example"])
    }

    /// Starts the service with more options.
    pub fn start_with(data: &Path, options: &[&str]) -> Self {
        Self::start_in(data, options, &[])
    }

    /// The same with variables of the environment.
    pub fn start_in(data: &Path, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let data = data.to_str().unwrap();
        // Tests ask more often than anybody should, but for those of the limit.
        let basic = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
        let unlimited: &[&str] = if options.contains(&"--rate-limit") { &[] } else { &["--rate-limit", "off"] };
        let mut command = pulseward(&[&basic, unlimited, options].concat());
        command.envs(environment.iter().copied());
        Self::start_command(command)
    }

    /// Starts what is or becomes the service.
    pub fn start_command(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the service ended: {said:?}")).unwrap();
            match line.strip_prefix("listening on ") {
                Some(url) => break url.to_owned(),
                None => said.push(line),
            }
        };
        // A pipe that nobody reads would fill and hold the service up. The lines are shown by a test that fails.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| println!("service: {line}")));
        let mut service = Service { child, url, said, began_mib: 0 };
        service.began_mib = service.memory_kib("VmRSS") >> 10;
        service
    }

    /// Fails when it has taken more memory than whatever somebody sends, or whatever fails, may make it take.
    pub fn check_memory(&self, during: &str) {
        let (peak, began) = (self.memory_kib("VmHWM") >> 10, self.began_mib);
        println!("{during}: {peak} MiB at most, {began} at the start");
        assert!(peak <= began + MOST_ABOVE_REST_MIB, "{during}: {peak} MiB, {began} at the start");
    }

    /// The address that it listens on, without scheme.
    pub fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// Sends bytes as they are, and reads until the service closes the connection, which it has to do.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut client = TcpStream::connect(self.address()).unwrap();
        // A service that refuses early may close before it has read everything.
        let _ = client.write_all(bytes);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A figure of the process's memory, KiB, as Linux names it: `VmRSS` now, `VmHWM` the most since the last time that it was
    /// forgotten.
    pub fn memory_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Forgets the most memory that the process has had.
    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
    }

    /// Sends a signal to the process that was started.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end.
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Ended already, or ended here: a test that fails leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A researcher with a group, speaking to a service.
pub struct Researcher {
    http: reqwest::Client,
    url: String,
    /// Their API key.
    pub key: String,
    /// The code of their group.
    pub group: String,
}

/// A patient of the group, logged in to the Health Cloud.
#[derive(Clone)]
pub struct Patient {
    /// Identity.
    pub uuid: String,
    /// Their voucher code.
    pub code: String,
    /// Token for the Health Cloud.
    pub token: String,
}

/// An answer: its status and its JSON.
pub type Answer = (u16, Value);

impl Researcher {
    /// Makes an account and a key alongside the running service, and a group through it.
    pub async fn new(data: &Path, url: &str) -> Self {
        Self::new_with(data, &[], url).await
    }

    /// The same on a store that more options name.
    pub async fn new_with(data: &Path, store: &[&str], url: &str) -> Self {
        Self::named(data, store, url, "rita@study.example").await
    }

    /// Another researcher, with a group of their own.
    pub async fn another(data: &Path, url: &str, email: &str) -> Self {
        Self::named(data, &[], url, email).await
    }

    async fn named(data: &Path, store: &[&str], url: &str, email: &str) -> Self {
        let account = ["create-account", "--email", email, "--role", "researcher"];
        admin(data, &[&account[..], store].concat());
        let key = ["create-api-key", "--account", email];
        let key = admin(data, &[&key[..], store].concat());
        let key = key["token"].as_str().unwrap().to_owned();
        // A connection that was left alone for long is closed by the service, just when it may be used again.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let mut researcher = Researcher { http, url: url.to_owned(), key, group: String::new() };
        let body = json!({"name": "Study", "description": "A study"});
        let (status, group) = researcher.post("/integration/v1/groups", None, &body).await;
        assert_eq!(status, 200, "{group}");
        group["code"].as_str().unwrap().clone_into(&mut researcher.group);
        researcher
    }

    /// A researcher whose key is all that is known.
    pub fn with_key(url: &str, key: &str, group: &str) -> Self {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        Researcher { http, url: url.to_owned(), key: key.to_owned(), group: group.to_owned() }
    }

    /// The same researcher at a service that has moved.
    pub fn at(&mut self, url: &str) {
        url.clone_into(&mut self.url);
    }

    /// The same researcher, speaking to another node.
    pub fn moved(&self, url: &str) -> Self {
        let (key, group) = (self.key.clone(), self.group.clone());
        Researcher { http: self.http.clone(), url: url.to_owned(), key, group }
    }

    /// Sends JSON, with the API key or with a Bearer token.
    pub async fn post(&self, path: &str, bearer: Option<&str>, body: &Value) -> Answer {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        answer(self.authenticated(request, bearer)).await.unwrap()
    }

    /// Replaces, with the API key.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        answer(self.authenticated(self.http.put(format!("{}{path}", self.url)).json(body), None)).await.unwrap()
    }

    /// Reads, with the API key or with a Bearer token.
    pub async fn get(&self, path: &str, bearer: Option<&str>) -> Answer {
        answer(self.authenticated(self.http.get(format!("{}{path}", self.url)), bearer)).await.unwrap()
    }

    /// Deletes; answers the status.
    pub async fn delete(&self, path: &str) -> u16 {
        answer(self.authenticated(self.http.delete(format!("{}{path}", self.url)), None)).await.unwrap().0
    }

    /// Sends a sync; an error when the service goes away meanwhile.
    pub async fn sync(&self, patient: &Patient, body: &Value) -> reqwest::Result<Answer> {
        let request = self.http.post(format!("{}/health/v1/sync", self.url)).json(body);
        answer(self.authenticated(request, Some(&patient.token))).await
    }

    fn authenticated(&self, request: reqwest::RequestBuilder, bearer: Option<&str>) -> reqwest::RequestBuilder {
        match bearer {
            Some(token) => request.bearer_auth(token),
            None => request.header("X-Api-Key", &self.key),
        }
    }

    /// Sends a sync; returns the status and after how many seconds to come again, where the answer says so. An error when
    /// the client does not wait for the answer any longer than `timeout`.
    pub async fn try_sync(
        &self,
        patient: &Patient,
        body: &Value,
        timeout: Duration,
    ) -> reqwest::Result<(u16, Option<u64>)> {
        let request = self.http.post(format!("{}/health/v1/sync", self.url)).json(body).timeout(timeout);
        let response = self.authenticated(request, Some(&patient.token)).send().await?;
        let seconds = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        Ok((response.status().as_u16(), seconds))
    }

    /// Enrols a patient as people are enrolled: voucher, activation, login.
    pub async fn enrol(&self) -> Patient {
        let (status, created) =
            self.post(&format!("/integration/v1/groups/{}/patients", self.group), None, &json!({})).await;
        assert_eq!(status, 200, "{created}");
        let body = json!({"code": created["code"], "password": PATIENT_PASSWORD, "time_zone": "Europe/Zurich"});
        let (status, login) = self.post("/users/activate", None, &body).await;
        assert_eq!(status, 200, "{login}");
        let (status, login) = self.post("/health/login", None, &json!({"user_api_token": login["token"]})).await;
        assert_eq!(status, 200, "{login}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Patient { uuid: text(&created["uuid"]), code: text(&created["code"]), token: text(&login["token"]) }
    }
}

async fn answer(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await?;
    Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}
