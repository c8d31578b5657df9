//! The cluster of a test binary, and a fresh database for each test.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::failover::FailoverProxy;
use super::log;
use super::log::{LINE_PREFIX, LogMark, Statement};
use super::open_transaction::OpenTransaction;
use super::proxy::CountingProxy;
use super::silent::SilentProxy;

static CLUSTER: OnceLock<Result<Cluster, PostgresError>> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Names the folder with the programs of another server than the installed one, which may have none of clients.
const SERVER_PROGRAMS: &str = "PULSEWARD_TEST_POSTGRESQL";

const LONGEST_START: Duration = Duration::from_mins(1);

/// Starts the server, waits until standard input closes, stops it by the id in its own file, removes its folder.
const WATCH: &str = r#"
"$1/pg_ctl" -D "$2/data" -l "$2/log" -w -t 55 -o "$3" start >"$2/started" 2>&1 </dev/null || exit 1
touch "$2/ready"
cat >/dev/null
# A frozen server takes no signal that ends it.
for pid in $(head -n 1 "$2/data/postmaster.pid" 2>/dev/null); do kill -CONT $pid $(ps -o pid= --ppid $pid); done 2>/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1
rm -rf "$2"
"#;

/// A database on a throw-away cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    /// Connection string.
    pub url: String,
}

/// Reason why there is no PostgreSQL to test with.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PostgresError {
    /// The server's programs are not installed.
    #[error("no initdb on the path or under /usr/lib/postgresql")]
    NotInstalled,
    /// A program of the server failed.
    #[error("{program}: {message}")]
    Failed {
        /// Which.
        program: &'static str,
        /// What it said.
        message: String,
    },
}

pub(super) struct Cluster {
    /// Folder of the programs of clients.
    pub programs: PathBuf,
    /// Folder of the programs of the server.
    pub server_programs: PathBuf,
    /// The server's log.
    pub log: PathBuf,
    pub port: u16,
    /// Closes when this program ends, and the server with it.
    _watched: ChildStdin,
}

impl Postgres {
    /// Returns a fresh, empty database on the cluster of this program. `None`, after saying so loudly, when PostgreSQL
    /// is not installed.
    ///
    /// # Panics
    /// When the variable `CI` is set and there is no PostgreSQL, or when there is one that does not work.
    pub fn start() -> Option<Self> {
        match CLUSTER.get_or_init(|| Cluster::start("")) {
            Ok(cluster) => Some(cluster.fresh_database().unwrap_or_else(|error| panic!("{error}"))),
            Err(PostgresError::NotInstalled) => {
                crate::skip::skip("PostgreSQL is not installed");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl Postgres {
    /// Everything that the tables hold, as text.
    ///
    /// # Panics
    /// When the server's own program for it fails.
    pub fn dump(&self) -> String {
        // Not by `pg_dump`, which reads no server that is newer than itself.
        const EACH_TABLE: &str = "SELECT format('SELECT row_to_json(t) FROM %I t', tablename) FROM pg_tables
            WHERE schemaname = 'public'\\gexec";
        let mut psql = Command::new(Self::cluster().programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", &self.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("psql: {error}"));
        // The command at the end of the statement is read from a script alone.
        psql.stdin.take().map(|mut script| script.write_all(EACH_TABLE.as_bytes()));
        let dumped = psql.wait_with_output().unwrap_or_else(|error| panic!("psql: {error}"));
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8_lossy(&dumped.stdout).into_owned()
    }

    /// Everything that makes the database again, as statements: tables, indexes, rows.
    ///
    /// # Panics
    /// When the server's own program for it fails.
    pub fn statements_of_all(&self) -> String {
        let options = ["--inserts", "--no-owner", "--no-privileges"];
        let dumped = Command::new(Self::cluster().programs.join("pg_dump")).args(options).arg(&self.url).output();
        let dumped = dumped.unwrap_or_else(|error| panic!("pg_dump: {error}"));
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8_lossy(&dumped.stdout).into_owned()
    }

    /// Carries out the statements of a file, such as those of [`Postgres::statements_of_all`].
    ///
    /// # Panics
    /// When one fails.
    pub fn execute_file(&self, file: &Path) {
        let psql = Command::new(Self::cluster().programs.join("psql"))
            .args(["-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(file)
            .arg(&self.url)
            .output();
        check("psql", psql).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Lets the server log every statement of this database, on connections that are opened from now on.
    ///
    /// # Panics
    /// When the server refuses that.
    pub fn log_statements(&self) {
        for setting in ["log_statement = 'all'", "log_parameter_max_length = 0"] {
            let command = format!("ALTER DATABASE {} SET {setting}", self.name());
            let psql = Command::new(Self::cluster().programs.join("psql"))
                .args(["-X", "-q", "-c", &command, &self.url])
                .output();
            check("psql", psql).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Carries a statement out.
    ///
    /// # Panics
    /// When it fails.
    pub fn execute(&self, statement: &str) {
        let psql = Command::new(Self::cluster().programs.join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, &self.url])
            .output();
        check("psql", psql).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Returns how many connections to this database have given themselves a name.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn connections(&self, application: &str) -> usize {
        self.count(&format!("SELECT COUNT(*) FROM {}", sessions(application)))
    }

    /// Ends the connections to this database that have given themselves a name, as an administrator would; returns how
    /// many there were.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn end_connections(&self, application: &str) -> usize {
        self.count(&format!("SELECT COUNT(pg_terminate_backend(pid)) FROM {}", sessions(application)))
    }

    /// Carries a statement out in a transaction that stays open.
    ///
    /// # Panics
    /// When the statement fails.
    pub fn begin(&self, statement: &str) -> OpenTransaction {
        OpenTransaction::begin(&Self::cluster().programs, &self.url, statement)
    }

    /// Returns how many connections that have given themselves a name are in a transaction and do nothing.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn open_transactions(&self, application: &str) -> usize {
        self.count(&format!("SELECT COUNT(*) FROM {} AND state LIKE 'idle in transaction%'", sessions(application)))
    }

    /// Returns how many statements of connections that have given themselves a name wait for a lock.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn waiting_for_locks(&self, application: &str) -> usize {
        self.count(&format!("SELECT COUNT(*) FROM {} AND wait_event_type = 'Lock'", sessions(application)))
    }

    fn count(&self, question: &str) -> usize {
        count(&Self::cluster().programs, &self.url, question)
    }

    /// Returns the present end of the server's log.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub fn log_mark() -> LogMark {
        log::end_of(&Self::cluster().log).unwrap_or_else(|error| panic!("the server's log: {error}"))
    }

    /// Statements of this database that the server executed between two marks.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub fn statements(&self, from: LogMark, to: LogMark) -> Vec<Statement> {
        let statements = log::read(&Self::cluster().log, self.name(), from, to);
        statements.unwrap_or_else(|error| panic!("the server's log: {error}"))
    }

    /// Starts a proxy in front of the server.
    pub fn proxy() -> CountingProxy {
        CountingProxy::start(Self::cluster().port)
    }

    /// Starts a proxy in front of the server whose connections can be let die.
    pub fn failover_proxy() -> FailoverProxy {
        FailoverProxy::start(Self::cluster().port)
    }

    /// Starts a proxy in front of the server whose link can be cut without a word.
    pub fn silent_proxy() -> SilentProxy {
        SilentProxy::start(Self::cluster().port)
    }

    /// Connection string that leads through a proxy.
    pub fn url_through(&self, proxy: &CountingProxy) -> String {
        self.url_at(proxy.port())
    }

    /// Connection string that leads through whatever listens on a port of this machine.
    pub fn url_at(&self, port: u16) -> String {
        url_of(port, self.name())
    }

    fn name(&self) -> &str {
        let path = self.url.rsplit('/').next().unwrap_or_default();
        path.split('?').next().unwrap_or_default()
    }

    /// Returns the cluster that every value of this type comes from.
    fn cluster() -> &'static Cluster {
        let Some(Ok(cluster)) = CLUSTER.get() else { panic!("no cluster runs") };
        cluster
    }
}

impl Cluster {
    /// Starts a server with some options more.
    pub(super) fn start(more_options: &str) -> Result<Self, PostgresError> {
        let programs = find_programs().ok_or(PostgresError::NotInstalled)?;
        let server_programs = std::env::var_os(SERVER_PROGRAMS).map_or_else(|| programs.clone(), PathBuf::from);
        let folder = make_folder()?;
        let initdb = as_server_user(&server_programs.join("initdb"))
            .args(["-A", "trust", "-U", "pulseward", "-E", "UTF8", "--no-locale", "--no-sync"])
            // As the guide for operators asks: without them a damaged page can hide rows.
            .args(["--data-checksums", "-D"])
            .arg(folder.join("data"))
            .output();
        check("initdb", initdb)?;
        let port = free_port()?;
        // A shell reads the options.
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200 \
             -c log_line_prefix='{LINE_PREFIX}' {more_options}"
        );
        let mut watch = as_server_user(Path::new("/bin/sh"))
            .args(["-c", WATCH, "watch"])
            .arg(&server_programs)
            .arg(&folder)
            .arg(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed("sh", error))?;
        let Some(mut watched) = watch.stdin.take() else { return Err(failed("sh", "no standard input")) };
        let deadline = Instant::now() + LONGEST_START;
        while !folder.join("ready").exists() {
            let ended = watch.try_wait().map_err(|error| failed("sh", error))?;
            if ended.is_some() || Instant::now() > deadline {
                let said = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(failed("pg_ctl", said));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        watched.flush().map_err(|error| failed("sh", error))?;
        Ok(Cluster { programs, server_programs, log: folder.join("log"), port, _watched: watched })
    }

    pub(super) fn fresh_database(&self) -> Result<Postgres, PostgresError> {
        let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let made = Command::new(self.programs.join("createdb"))
            .args(["-h", "127.0.0.1", "-U", "pulseward", "-T", "template0", "-p"])
            .arg(self.port.to_string())
            .arg(&name)
            .output();
        check("createdb", made)?;
        Ok(Postgres { url: url_of(self.port, &name) })
    }
}

/// Returns the server's list of connections to a database by the name that they gave themselves.
fn sessions(application: &str) -> String {
    format!("pg_stat_activity WHERE application_name = '{application}' AND datname = current_database()")
}

/// Returns a number that a database answers.
pub(super) fn count(programs: &Path, url: &str, question: &str) -> usize {
    let output = Command::new(programs.join("psql")).args(["-X", "-A", "-t", "-c", question, url]).output();
    let output = output.unwrap_or_else(|error| panic!("psql: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("psql: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

pub(super) fn url_of(port: u16, database: &str) -> String {
    format!("postgres://pulseward@127.0.0.1:{port}/{database}?sslmode=disable")
}

/// Returns the folder of the programs of the newest version that is installed.
fn find_programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}

/// Returns a folder that the server's user owns, outside any folder that only root can pass.
pub(super) fn make_folder() -> Result<PathBuf, PostgresError> {
    let folder = tempfile::Builder::new().prefix("pulseward-postgres-").tempdir();
    let folder = folder.map_err(|error| failed("mkdir", error))?.keep();
    if is_root() {
        check("chown", Command::new("chown").arg("postgres").arg(&folder).output())?;
    }
    Ok(folder)
}

/// Returns a program, run as a user that the server lets run it.
pub(super) fn as_server_user(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    // The server's user may not read the folder of the test.
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

pub(super) fn free_port() -> Result<u16, PostgresError> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| failed("port", error))?;
    Ok(listener.local_addr().map_err(|error| failed("port", error))?.port())
}

pub(super) fn check(program: &'static str, output: std::io::Result<std::process::Output>) -> Result<(), PostgresError> {
    let output = output.map_err(|error| failed(program, error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(program, String::from_utf8_lossy(&output.stderr)))
}

pub(super) fn failed(program: &'static str, message: impl std::fmt::Display) -> PostgresError {
    PostgresError::Failed { program, message: message.to_string() }
}
