//! Nodes on shared databases, each behind a counting proxy, and a patient whose rows they take and derive from.

use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use serde_json::json;
use tempfile::{TempDir, tempdir};
use testkit::{CountingProxy, LogMark, Postgres, Statement, Traffic, count_transactions};

use crate::harness::{Patient, Researcher, Service};

/// A node that has sent nothing for so long has done what there was to do. Idle polling is slower.
const QUIET: Duration = Duration::from_millis(300);
const LONGEST_WAIT: Duration = Duration::from_mins(1);
const FIVE_MINUTES_MS: i64 = 300_000;

/// Both databases of a store whose statements are logged.
pub struct Databases {
    folder: TempDir,
    users: Postgres,
    health: Postgres,
}

/// A node and the proxy that all its connections to the server go through.
pub struct Node {
    proxy: CountingProxy,
    service: Service,
}

/// What a node asks of the server from its beginning on.
pub struct Window<'test> {
    databases: &'test Databases,
    node: &'test Node,
    begun: LogMark,
}

/// What an operation has asked of the server.
pub struct Cost {
    /// Those on the users database, then those on the health database, each in the order of the log.
    pub statements: Vec<Statement>,
    /// Waits for the server, one after the other.
    pub round_trips: u32,
    traffic: Traffic,
}

/// A patient with a bracelet, and what is known of the rows that were sent.
pub struct Wearer {
    researcher: Researcher,
    patient: Patient,
    begin_ms: i64,
    sent: i64,
}

impl Databases {
    /// Makes both; `None`, after saying so, without PostgreSQL.
    pub fn start() -> Option<Self> {
        let (users, health) = (Postgres::start()?, Postgres::start()?);
        users.log_statements();
        health.log_statements();
        Some(Databases { folder: tempdir().unwrap(), users, health })
    }

    /// Starts a node with some roles.
    pub fn node(&self, name: &str, roles: &str) -> Node {
        let proxy = Postgres::proxy();
        let mut options = self.options(&self.users.url_through(&proxy), &self.health.url_through(&proxy));
        options.extend(["--public-url", "http://study.example", "--roles", roles].map(str::to_owned));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let service = Service::start_with(&self.folder.path().join(name), &options);
        Node { proxy, service }
    }

    /// Enrols a patient at a node.
    pub async fn wearer(&self, node: &Node) -> Wearer {
        let store = self.options(&self.users.url, &self.health.url);
        let store: Vec<&str> = store.iter().map(String::as_str).collect();
        let researcher = Researcher::new_with(&self.path("admin"), &store, &node.service.url).await;
        let patient = researcher.enrol().await;
        // Five minutes that ended at least five minutes ago: rows in one window, none of them in the future, of which
        // waveforms are derived at once too.
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let begin_ms = (now_ms / FIVE_MINUTES_MS - 2) * FIVE_MINUTES_MS;
        Wearer { researcher, patient, begin_ms, sent: 0 }
    }

    /// Begins to count what a node asks.
    pub fn window<'test>(&'test self, node: &'test Node) -> Window<'test> {
        node.proxy.begin_window();
        Window { databases: self, node, begun: Postgres::log_mark() }
    }

    fn options(&self, users: &str, health: &str) -> Vec<String> {
        let key_file = self.path("shared.key").display().to_string();
        let objects = format!("file://{}", self.path("objects").display());
        let options =
            ["--users-db", users, "--health-db", health, "--master-key-file", &key_file, "--objects", &objects];
        options.map(str::to_owned).to_vec()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Node {
    /// Returns where it listens.
    pub fn url(&self) -> &str {
        &self.service.url
    }

    async fn becomes_quiet(&self) {
        let deadline = Instant::now() + LONGEST_WAIT;
        while self.proxy.quiet_for() < QUIET {
            assert!(Instant::now() < deadline, "the node does not stop asking");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Window<'_> {
    /// Returns what the node has asked until now.
    pub fn cost(self) -> Cost {
        let traffic = self.node.proxy.traffic();
        let end = Postgres::log_mark();
        let mut statements = self.databases.users.statements(self.begun, end);
        statements.extend(self.databases.health.statements(self.begun, end));
        statements.retain(|statement| self.node.proxy.has_port(statement.client_port));
        Cost { statements, round_trips: traffic.round_trips, traffic }
    }
}

impl Cost {
    /// Returns whether the proxy has seen an answer for exactly the commands that the log reports.
    pub fn log_and_proxy_agree(&self) -> bool {
        self.statements.iter().map(Statement::commands).sum::<usize>() == self.traffic.statements as usize
    }

    /// Returns the statements, a line for each.
    pub fn texts(&self) -> String {
        let line = |statement: &Statement| {
            let text: Vec<&str> = statement.text.split_whitespace().collect();
            format!("  {}: {}\n", statement.process, text.join(" "))
        };
        self.statements.iter().map(line).collect()
    }
}

impl Display for Cost {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let transactions = count_transactions(&self.statements);
        let (statements, commands) = (self.statements.len(), self.traffic.statements);
        let Traffic { round_trips, batches, .. } = self.traffic;
        write!(
            formatter,
            "{statements} statements ({commands} commands) in {transactions} transactions, \
             {round_trips} round trips for {batches} batches"
        )
    }
}

impl Wearer {
    /// Sends the next row.
    pub async fn sync(&mut self) {
        self.sent += 1;
        let body =
            json!({"data": {"activity": {"timestamp": [self.begin_ms + self.sent * 1000], "bpm": [self.rate()]}}});
        let (status, receipt) = self.researcher.sync(&self.patient, &body).await.unwrap();
        assert_eq!((status, &receipt["types"]["activity"]["stored"]), (200, &json!(1)), "{receipt}");
    }

    /// Sends the next row of each type that anything is derived from: of the waveforms a second.
    pub async fn sync_all_types(&mut self) {
        self.sent += 1;
        let time_ms = self.begin_ms + self.sent * 1000;
        let even =
            |rate_hz: usize, value: i64| json!({"start": time_ms, "rate_hz": rate_hz, "value": vec![value; rate_hz]});
        let mut ppg2 = even(32, 900);
        ppg2["metric_id"] = json!("0x7e");
        let axis = vec![64; 32];
        let ppg1 = json!({"start": time_ms, "rate_hz": 25, "ppg": vec![900; 25]});
        let acc = json!({"start": time_ms, "rate_hz": 32, "accX": axis, "accY": axis, "accZ": axis});
        let ecg = json!({"start": time_ms, "rate_hz": 256, "ecg": vec![0.3; 256]});
        let data = json!({
            "activity": {"timestamp": [time_ms], "bpm": [self.rate()], "respiration_rate": 15, "spo2": 97},
            "tests": {"timestamp": [time_ms], "test_type": ["temperature"], "value": [36.8]},
            "rr-interval": {"timestamp": [time_ms], "rr": [800], "quality": 4},
            "temperature": {"timestamp": [time_ms], "temp_sk1": [33]},
            "sleep": {"timestamp": [time_ms], "sleep_state": [1]},
            "heart-rate-variability": {"timestamp": [time_ms], "rmssd": [40]},
            "acc": [acc], "ecg": [ecg], "ppg1": [ppg1], "ppg2": [ppg2],
        });
        let (status, receipt) = self.researcher.sync(&self.patient, &json!({ "data": data })).await.unwrap();
        assert_eq!(status, 200, "{receipt}");
        for (name, outcome) in receipt["types"].as_object().unwrap() {
            assert!(outcome["stored"].as_i64() > Some(0), "{name}: {outcome}");
        }
    }

    /// Waits until the day of the rows shows the last one and the node that derives is quiet.
    pub async fn derived(&self, node: &Node) {
        let zurich = TimeZone::get("Europe/Zurich").unwrap();
        let begin = jiff::Timestamp::from_millisecond(self.begin_ms).unwrap();
        let date = begin.to_zoned(zurich).date();
        let path = format!("/integration/v1/patients/{}/summary/{date}?types=heart_rate", self.patient.uuid);
        let deadline = Instant::now() + LONGEST_WAIT;
        loop {
            let (status, summary) = self.researcher.get(&path, None).await;
            if status == 200 && summary["heart_rate"]["max_daily_heart_rate"] == json!(self.rate()) {
                break;
            }
            assert!(Instant::now() < deadline, "the last row is not derived from: {summary}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        node.becomes_quiet().await;
    }

    /// Both.
    pub async fn sync_and_derive(&mut self, node: &Node) {
        self.sync().await;
        self.derived(node).await;
    }

    /// Returns the rate of the last row, which is the highest of the day.
    fn rate(&self) -> i64 {
        60 + self.sent
    }
}

/// Returns the middle one of an odd number of values.
pub fn median<T: Ord + Copy>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort();
    values[values.len() / 2]
}
