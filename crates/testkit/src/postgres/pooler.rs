//! A pooler in transaction mode in front of a server: `PgBouncer`.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::cluster::{as_server_user, free_port, make_folder};

const LONGEST_START: Duration = Duration::from_secs(30);

/// A running `PgBouncer`. It ends with the value.
#[derive(Debug)]
pub struct Pooler {
    process: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Pooler {
    /// Starts a pooler that gives each transaction one of so many connections of the server on a port of this machine.
    /// `None`, after saying so loudly, when `PgBouncer` is not installed.
    ///
    /// # Panics
    /// When the variable `CI` is set and there is none, or when it does not start.
    pub fn start(server_port: u16, connections: usize) -> Option<Self> {
        Self::start_with(server_port, connections, "")
    }

    /// The same with the connections of the server in turns, so that two transactions in a row have two of them, once they
    /// are open.
    ///
    /// # Panics
    /// As [`Pooler::start`].
    pub fn start_in_turns(server_port: u16, connections: usize) -> Option<Self> {
        Self::start_with(server_port, connections, "server_round_robin = 1\n")
    }

    fn start_with(server_port: u16, connections: usize, settings_of_test: &str) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(std::path::Path::new);
        let Some(program) = program.into_iter().find(|program| program.exists()) else {
            crate::skip::skip("PgBouncer is not installed");
            return None;
        };
        let folder = make_folder().unwrap_or_else(|error| panic!("{error}"));
        let port = free_port().unwrap_or_else(|error| panic!("{error}"));
        let (settings, users) = (folder.join("pgbouncer.ini"), folder.join("users"));
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 500\nlog_connections = 0\nlog_disconnections = 0\n\
             {settings_of_test}",
            users.display()
        );
        for (file, text) in [(&settings, text), (&users, "\"pulseward\" \"\"\n".to_owned())] {
            std::fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
        let log = std::fs::File::create(folder.join("log")).unwrap_or_else(|error| panic!("a log: {error}"));
        let mut command = as_server_user(program);
        let process = command.arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let process = process.unwrap_or_else(|error| panic!("pgbouncer: {error}"));
        let mut pooler = Pooler { process, port, folder };
        pooler.wait();
        Some(pooler)
    }

    /// Port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn wait(&mut self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(!has_ended && begun.elapsed() < LONGEST_START, "pgbouncer does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // The process that was started passes the signal on where it is not the pooler itself.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
