//! A server of one test alone, which that test may stop.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::cluster::{Cluster, PostgresError, as_server_user, check, count, failed, url_of};

/// A throw-away server that no other test uses. It ends with the value.
pub struct OwnServer {
    cluster: Cluster,
}

impl std::fmt::Debug for OwnServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OwnServer").field("port", &self.cluster.port).finish_non_exhaustive()
    }
}

impl OwnServer {
    /// Starts a server. `None`, after saying so loudly, when PostgreSQL is not installed.
    ///
    /// # Panics
    /// When the variable `CI` is set and there is no PostgreSQL, or when there is one that does not work.
    pub fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts a server that keeps next to nothing in memory, so that it reads its files again and again.
    ///
    /// # Panics
    /// As [`OwnServer::start`].
    pub fn start_without_cache() -> Option<Self> {
        // Sixteen pages: the least that it takes.
        Self::start_with("-c shared_buffers=128kB -c autovacuum=off")
    }

    fn start_with(options: &str) -> Option<Self> {
        match Cluster::start(options) {
            Ok(cluster) => Some(OwnServer { cluster }),
            Err(PostgresError::NotInstalled) => {
                crate::skip::skip("PostgreSQL is not installed");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Connection string of a fresh, empty database.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn database(&self) -> String {
        self.cluster.fresh_database().unwrap_or_else(|error| panic!("{error}")).url
    }

    /// Connection string of a new database with everything of another one, whose connections end.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn copy_of(&self, url: &str) -> String {
        let administration = url_of(self.cluster.port, "postgres");
        let name_of = |url: &str| url.rsplit('/').next().and_then(|name| name.split('?').next()).map(str::to_owned);
        let (from, copy) = (name_of(url), self.database());
        let (Some(from), Some(to)) = (from, name_of(&copy)) else { panic!("{url} names no database") };
        self.execute(&administration, &format!("DROP DATABASE {to}"));
        let end = format!("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{from}'");
        self.number(&administration, &end);
        self.execute(&administration, &format!("CREATE DATABASE {to} TEMPLATE {from}"));
        copy
    }

    /// Removes a database, whose connections end.
    ///
    /// # Panics
    /// When it cannot be removed.
    pub fn drop_database(&self, url: &str) {
        let name = url.rsplit('/').next().and_then(|name| name.split('?').next()).unwrap_or_default();
        self.execute(&url_of(self.cluster.port, "postgres"), &format!("DROP DATABASE {name} WITH (FORCE)"));
    }

    /// Carries a statement out in a database.
    ///
    /// # Panics
    /// When it fails.
    pub fn execute(&self, url: &str, statement: &str) {
        let psql = Command::new(self.cluster.programs.join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, url])
            .output();
        check("psql", psql).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Returns a number that a question has for an answer.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn number(&self, url: &str, question: &str) -> usize {
        count(&self.cluster.programs, url, question)
    }

    /// Returns the folder with the files of a database, after everything that it holds has been written to them.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn written_files(&self, url: &str) -> PathBuf {
        let programs = &self.cluster.programs;
        let written = Command::new(programs.join("psql")).args(["-X", "-q", "-c", "CHECKPOINT", url]).output();
        check("psql", written).unwrap_or_else(|error| panic!("{error}"));
        let database = count(programs, url, "SELECT oid FROM pg_database WHERE datname = current_database()");
        let folder: PathBuf = self.cluster.log.parent().map(PathBuf::from).unwrap_or_default();
        folder.join("data/base").join(database.to_string())
    }

    /// Port that the server listens on.
    pub fn port(&self) -> u16 {
        self.cluster.port
    }

    /// Returns how many connections of the service there are.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn connections(&self) -> usize {
        const COUNT: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'pulseward'";
        count(&self.cluster.programs, &url_of(self.cluster.port, "postgres"), COUNT)
    }

    /// Stops the server as a crash would and starts it again; returns when it accepts connections.
    ///
    /// # Panics
    /// When the server does not come back.
    pub fn restart(&self) {
        self.control(&["-m", "immediate", "-w", "-t", "55", "restart"]);
    }

    /// Stops the server as a crash would.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn crash(&self) {
        self.control(&["-m", "immediate", "-w", "-t", "55", "stop"]);
    }

    /// Starts the server after a crash; returns when it accepts connections.
    ///
    /// # Panics
    /// When the server does not come back.
    pub fn come_back(&self) {
        // Of these two only a restart knows the options of the first start, and it starts what does not run.
        self.control(&["-w", "-t", "55", "restart"]);
    }

    /// Freezes every process of the server: connections stay open, the system takes what is sent and accepts new ones,
    /// and nothing is answered.
    ///
    /// # Panics
    /// When a process cannot be frozen.
    pub fn freeze(&self) {
        // First the one that starts the others, so that no further one comes.
        signal("-STOP", &[self.first_process()]);
        signal("-STOP", &self.processes());
    }

    /// Lets a frozen server go on.
    ///
    /// # Panics
    /// When a process cannot go on.
    pub fn thaw(&self) {
        signal("-CONT", &self.processes());
    }

    fn control(&self, arguments: &[&str]) {
        // The server keeps what it inherits open, so nothing may be a pipe that somebody reads to its end.
        let ended = as_server_user(&self.cluster.server_programs.join("pg_ctl"))
            .args(arguments)
            .arg("-D")
            .arg(self.folder().join("data"))
            .arg("-l")
            .arg(&self.cluster.log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match ended {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{}", failed("pg_ctl", status)),
            Err(error) => panic!("{}", failed("pg_ctl", error)),
        }
    }

    fn folder(&self) -> PathBuf {
        self.cluster.log.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// Returns the process that starts the others.
    fn first_process(&self) -> String {
        let file = std::fs::read_to_string(self.folder().join("data/postmaster.pid"));
        let file = file.unwrap_or_else(|error| panic!("{}", failed("postmaster.pid", error)));
        file.lines().next().unwrap_or_default().trim().to_owned()
    }

    /// Returns all processes of this server, the first one included.
    fn processes(&self) -> Vec<String> {
        let first = self.first_process();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let children = all.filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program is in brackets and may hold anything; state and parent follow it.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            (parent == first).then(|| entry.file_name().to_string_lossy().into_owned())
        });
        let children: Vec<String> = children.collect();
        [vec![first], children].concat()
    }
}

impl Drop for OwnServer {
    /// A frozen server could not be stopped, and would stay when the test has ended.
    fn drop(&mut self) {
        if self.folder().join("data/postmaster.pid").exists() {
            let _ = Command::new("kill").arg("-CONT").args(self.processes()).stderr(Stdio::null()).status();
        }
    }
}

fn signal(name: &str, processes: &[String]) {
    // One that has ended meanwhile needs no signal.
    let sent = Command::new("kill").arg(name).args(processes).stderr(Stdio::null()).status();
    sent.unwrap_or_else(|error| panic!("{}", failed("kill", error)));
}
