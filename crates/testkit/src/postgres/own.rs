//! A server of one test alone, which that test may stop.

use std::path::PathBuf;
use std::process::Stdio;

use super::cluster::{Cluster, PostgresError, as_server_user, count, failed, url_of};

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
        match Cluster::start() {
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

    /// Port that the server listens on.
    pub fn port(&self) -> u16 {
        self.cluster.port
    }

    /// How many connections of the service there are.
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
        let folder: PathBuf = self.cluster.log.parent().map(PathBuf::from).unwrap_or_default();
        // The server keeps what it inherits open, so nothing may be a pipe that somebody reads to its end.
        let restarted = as_server_user(&self.cluster.programs.join("pg_ctl"))
            .args(["-m", "immediate", "-w", "-t", "55", "restart", "-D"])
            .arg(folder.join("data"))
            .arg("-l")
            .arg(&self.cluster.log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match restarted {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{}", failed("pg_ctl", status)),
            Err(error) => panic!("{}", failed("pg_ctl", error)),
        }
    }
}
