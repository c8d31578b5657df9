//! Starts a proxy with its file of `deploy/proxies`, on addresses of this machine and with a certificate of the test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use tempfile::{TempDir, tempdir};

use crate::certificates::Certificate;
use crate::harness::Service;

/// Public name in the files.
const NAME: &str = "study.example";
/// Address of the service in the files.
const SERVICE: &str = "127.0.0.1:8080";
/// Folder of the certificate in the files.
const CERTIFICATES: &str = "/etc/pulseward/";
const LONGEST_START: Duration = Duration::from_secs(30);
const LONGEST_END: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A proxy that can be started.
pub struct Program {
    /// Where packages put it: `/usr/sbin` is not in everybody's search path.
    paths: [&'static str; 2],
    /// Name of its file.
    file: &'static str,
    /// Arguments before the path of the configuration, and after it.
    arguments: (&'static [&'static str], &'static [&'static str]),
    /// Replaces ports, and adds folders that a test may write to.
    adapt: fn(&str, &Places) -> String,
}

/// Where things are in a test.
struct Places {
    folder: PathBuf,
    port: u16,
    other_port: u16,
}

impl Places {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }
}

/// Replaces what the file has exactly once: what is not there any more would be left as it is.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` in\n{text}");
    text.replace(from, to)
}

pub const NGINX: Program = Program {
    paths: ["/usr/sbin/nginx", "/usr/bin/nginx"],
    file: "nginx.conf",
    arguments: (&["-c"], &[]),
    adapt: nginx,
};

/// The file is one of those that `nginx.conf` of the package includes, so the test adds what is around it.
fn nginx(text: &str, places: &Places) -> String {
    let text = replaced(text, "listen 443 ", &format!("listen 127.0.0.1:{} ", places.port));
    let text = replaced(&text, "listen 80;", &format!("listen 127.0.0.1:{};", places.other_port));
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|name| format!("{name}_temp_path {};", places.path(name))).concat();
    let (pid, log) = (places.path("pid"), places.path("log"));
    // The folder of the test is closed to the user that workers are otherwise.
    format!("user root; daemon off; pid {pid}; error_log {log}; events {{}}\nhttp {{ {temporary}\n{text}}}\n")
}

pub const HAPROXY: Program = Program {
    paths: ["/usr/sbin/haproxy", "/usr/bin/haproxy"],
    file: "haproxy.cfg",
    arguments: (&["-db", "-f"], &[]),
    adapt: haproxy,
};

fn haproxy(text: &str, places: &Places) -> String {
    replaced(text, "bind :443", &format!("bind 127.0.0.1:{}", places.port))
}

pub const CADDY: Program = Program {
    paths: ["/usr/bin/caddy", "/usr/local/bin/caddy"],
    file: "Caddyfile",
    arguments: (&["run", "--config"], &["--adapter", "caddyfile"]),
    adapt: caddy,
};

fn caddy(text: &str, places: &Places) -> String {
    let address = format!("\nhttps://{NAME}:{} {{\n\tbind 127.0.0.1\n", places.port);
    let text = replaced(text, &format!("\n{NAME} {{\n"), &address);
    let options = "admin off\n\tauto_https disable_redirects\n\tstorage file_system";
    format!("{{\n\t{options} {}\n}}\n{text}", places.path("caddy"))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Program {
    /// Starts it in front of a service. `None`, after saying so loudly, where it is not installed.
    pub fn start(&self, service: &Service) -> Option<Proxy> {
        let Some(program) = self.paths.into_iter().find(|path| Path::new(path).exists()) else {
            testkit::skip(&format!("{} is not installed", self.paths[0]));
            return None;
        };
        let folder = tempdir().unwrap();
        let certificate = Certificate::make(folder.path(), &format!("DNS:{NAME}"))?;
        let places = Places { folder: folder.path().to_owned(), port: free_port(), other_port: free_port() };
        let pem = [&certificate.file, &certificate.key].map(|file| std::fs::read_to_string(file).unwrap());
        std::fs::write(places.path("cert-and-key.pem"), pem.concat()).unwrap();
        let configuration = places.path(self.file);
        std::fs::write(&configuration, self.configuration(service, &places)).unwrap();
        let said = std::fs::File::create(places.path("said")).unwrap();
        let process = Command::new(program)
            .args(self.arguments.0)
            .arg(&configuration)
            .args(self.arguments.1)
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut proxy = Proxy { process, port: places.port, certificate, _folder: folder };
        proxy.wait(&places);
        Some(proxy)
    }

    fn configuration(&self, service: &Service, places: &Places) -> String {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/proxies").join(self.file);
        let text = replaced(&std::fs::read_to_string(source).unwrap(), SERVICE, service.address());
        assert!(text.contains(CERTIFICATES), "{text}");
        (self.adapt)(&text.replace(CERTIFICATES, &places.path("")), places)
    }
}

/// A proxy in front of a service. It ends with the value.
pub struct Proxy {
    process: Child,
    port: u16,
    certificate: Certificate,
    _folder: TempDir,
}

impl Proxy {
    fn wait(&mut self, places: &Places) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            let said = || std::fs::read_to_string(places.path("said")).unwrap_or_default();
            assert!(!has_ended && begun.elapsed() < LONGEST_START, "it does not start: {}", said());
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns an address of the service as clients know it.
    pub fn url(&self, path: &str) -> String {
        format!("https://{NAME}:{}{path}", self.port)
    }

    /// Returns a client on another address of this machine.
    pub fn client(&self, address: Ipv4Addr) -> Client {
        let proxy = SocketAddr::from(([127, 0, 0, 1], self.port));
        let builder = self.certificate.client().resolve(NAME, proxy).local_address(IpAddr::from(address));
        builder.build().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It ends its own workers where it has some, which a signal that cannot be caught would leave behind.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let begun = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && begun.elapsed() < LONGEST_END {
            std::thread::sleep(PAUSE);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
