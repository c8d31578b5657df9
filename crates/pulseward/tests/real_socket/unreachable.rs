//! Commands that speak to a service, at addresses where none answers: they say why, soon, and end when asked to.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::tempdir;

use crate::certificates::Certificate;
use crate::harness::{Researcher, Service, pulseward, run};

/// Four times the five seconds that are promised: the machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(20);
const AT_ONCE: Duration = Duration::from_secs(2);

/// Every command, without `--url`.
fn commands(folder: &Path) -> [Vec<String>; 3] {
    let rows = folder.join("rows.csv");
    std::fs::write(&rows, "timestamp,bpm\n1763467200000,60\n").unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    [
        [words("import --bearer t --type activity"), vec![path("rows.csv")]].concat(),
        [words("lake copy --token t --group AAAAA"), vec![path("mirror")]].concat(),
        words("simulate --token t --patients 1"),
    ]
}

fn with(command: &[String], more: &[&str]) -> Vec<String> {
    [command, &more.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()].concat()
}

/// Runs a command to its end; returns what it said.
fn failed_soon(arguments: &[String]) -> String {
    let begun = Instant::now();
    let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}: {said}");
    assert!(begun.elapsed() < SOON, "{arguments:?} took {:?}", begun.elapsed());
    println!("{:?} after {:?}: {said}", arguments[0], begun.elapsed());
    said
}

/// A listener that answers each request in the same way; without an answer it keeps connections open.
fn something_else(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            if let Some(answer) = answer {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            } else {
                kept.push(stream);
            }
        }
    });
    url
}

#[test]
fn address_where_no_service_answers_is_reported_soon_with_the_reason() {
    let folder = tempdir().unwrap();
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let page = "HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    for (url, reason) in [
        (format!("http://{free}"), "onnection refused"),
        (something_else(None), "timed out"),
        (something_else(Some(page)), "is no such service: /livez is 404"),
        ("http://nowhere.invalid".to_owned(), "no service answers at http://nowhere.invalid: "),
    ] {
        for command in commands(folder.path()) {
            let said = failed_soon(&with(&command, &["--url", &url]));
            assert!(said.contains(reason), "{url}: {said}");
        }
    }
}

#[tokio::test]
async fn certificate_that_nobody_vouches_for_is_reported_and_ca_file_vouches() {
    let folder = tempdir().unwrap();
    let Some(certificate) = Certificate::make(folder.path(), "IP:127.0.0.1") else { return };
    let [file, key] = [&certificate.file, &certificate.key].map(|path| path.to_str().unwrap());
    let data = folder.path().join("data");
    let service = Service::start_with(&data, &["--tls-cert", file, "--tls-key", key]);
    for command in commands(folder.path()) {
        let said = failed_soon(&with(&command, &["--url", &service.url]));
        assert!(said.contains("UnknownIssuer") && said.contains("--ca-file"), "{said}");
        // The service is reached, and refuses the credential.
        let said = failed_soon(&with(&command, &["--url", &service.url, "--ca-file", file]));
        assert!(said.contains("401"), "{said}");
        let output = run(&with(&command, &["--url", &service.url, "--ca-file", key])
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "a file without a certificate");
    }
    let client = certificate.client().build().unwrap();
    assert_eq!(client.get(format!("{}/livez", service.url)).send().await.unwrap().status(), 200);
}

#[test]
fn certificate_of_an_authority_is_refused_with_what_to_do() {
    let folder = tempdir().unwrap();
    let Some(certificate) = Certificate::of_an_authority(folder.path(), "IP:127.0.0.1") else { return };
    let [file, key] = [&certificate.file, &certificate.key].map(|path| path.to_str().unwrap());
    let service = Service::start_with(&folder.path().join("data"), &["--tls-cert", file, "--tls-key", key]);
    for command in commands(folder.path()) {
        let said = failed_soon(&with(&command, &["--url", &service.url, "--ca-file", file]));
        assert!(said.contains("CaUsedAsEndEntity") && said.contains("CA:FALSE"), "{said}");
    }
}

#[test]
fn command_that_waits_for_an_answer_ends_at_once_when_asked_to() {
    let folder = tempdir().unwrap();
    let url = something_else(None);
    for command in commands(folder.path()) {
        let arguments = with(&command, &["--url", &url]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = pulseward(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} waits");
        let asked = Instant::now();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert!(asked.elapsed() < AT_ONCE, "{arguments:?} took {:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn fleet_ends_when_asked_to_while_its_service_is_frozen() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let simulate = ["simulate", "--url", &service.url, "--token", &researcher.key, "--patients", "2", "--live"];
    let mut fleet = pulseward(&[&simulate[..], &["--live-every", "1"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(fleet.try_wait().unwrap().is_none(), "it goes on until it is asked to end");
    service.signal("-STOP");
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &fleet.id().to_string()]).status().unwrap().success());
    fleet.wait().unwrap();
    // All requests together have five seconds, of the two minutes that each has otherwise.
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    service.signal("-CONT");
}
