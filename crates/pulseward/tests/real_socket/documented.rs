//! What the listener and the layers around the routes refuse is refused as the OpenAPI document says, for every operation.
//!
//! The stories of `api` hold what handlers answer against the document; a listener is only in front of them here.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{PATIENT_PASSWORD, Researcher, Service};
use crate::portal::sign_in;

/// Far longer than any answer takes, so that a test that fails ends.
const LONGEST_ANSWER: Duration = Duration::from_mins(1);

/// The OpenAPI document as a service sends it.
struct Document(Value);

/// One operation, with what a request for it needs.
struct Operation {
    name: String,
    line: String,
    body_kind: Option<String>,
    schemes: Vec<String>,
    responses: Value,
}

/// An answer as it was sent.
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Value,
}

impl Document {
    async fn of(service: &Service) -> Self {
        let answer = ask(service, "GET /openapi.json HTTP/1.1\r\nHost: x\r\n", b"").await;
        Document(answer.body)
    }

    /// All operations, on addresses of this study and patient.
    fn operations(&self, group: &str, uuid: &str) -> Vec<Operation> {
        let filled = |path: &str| {
            let parts = path.split('/').map(|part| match part {
                "{group_code}" | "{code}" => group,
                "{uuid}" => uuid,
                "{type}" | "{data_type}" | "{raw_metric_type}" => "activity",
                part if part.starts_with('{') => "x",
                part => part,
            });
            parts.collect::<Vec<_>>().join("/")
        };
        let paths = self.0["paths"].as_object().unwrap();
        let each = paths.iter().flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |one| (path, one)));
        let operation = |(path, (method, operation)): (&String, (&String, &Value))| {
            let schemes = operation["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
            let content = operation["requestBody"]["content"].as_object();
            Operation {
                name: format!("{method} {path}"),
                line: format!("{} {} HTTP/1.1\r\n", method.to_uppercase(), filled(path)),
                body_kind: content.and_then(|content| content.keys().next_back().cloned()),
                schemes: schemes.flat_map(|one| one.keys().cloned()).collect(),
                responses: operation["responses"].clone(),
            }
        };
        each.map(operation).collect()
    }

    fn referred<'document>(&'document self, value: &'document Value) -> &'document Value {
        let pointer = value["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
        pointer.map_or(value, |pointer| self.0.pointer(pointer).unwrap())
    }

    /// Checks that an answer has a status and a code, and that its operation is described with both and with its headers.
    fn assert_describes(&self, operation: &Operation, answer: &Answer, (status, code): (u16, &str)) {
        let name = &operation.name;
        assert_eq!((answer.status, &answer.body["code"]), (status, &json!(code)), "{name}: {}", answer.body);
        let described = self.referred(&operation.responses[status.to_string()]);
        assert!(described.is_object(), "{name} does not name {status}");
        for (header, of_it) in described["headers"].as_object().into_iter().flatten() {
            let is_there = answer.headers.contains_key(&header.to_lowercase());
            assert!(is_there || self.referred(of_it)["required"] != true, "{name}: {status} without {header}");
        }
        let media = &described["content"]["application/json"];
        let several = media["examples"].as_object().into_iter().flatten().map(|(_, one)| &self.referred(one)["value"]);
        let mut codes = several.chain([&media["example"]]).map(|example| &example["code"]);
        assert!(codes.any(|one| one == code), "{name}: {status} has no example of {code}");
    }
}

/// Sends a head without its end, and a body, on a connection of their own.
async fn ask(service: &Service, head: &str, body: &[u8]) -> Answer {
    let exchange = async {
        let mut stream = TcpStream::connect(service.address()).await.unwrap();
        // What is refused early may be answered before all of it is sent.
        let _ = stream.write_all(&[format!("{head}Connection: close\r\n\r\n").as_bytes(), body].concat()).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        String::from_utf8(bytes).unwrap()
    };
    let text = tokio::time::timeout(LONGEST_ANSWER, exchange).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{head}: {text}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body: serde_json::from_str(body).unwrap_or_default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_listener_refuses_is_described_for_every_operation() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let document = Document::of(&service).await;
    let operations = document.operations("AAAAA", "x");
    assert!(operations.len() > 70, "{}", operations.len());
    for operation in &operations {
        let line = &operation.line;
        let two_hosts = ask(&service, &format!("{line}Host: x\r\nHost: y\r\n"), b"").await;
        document.assert_describes(operation, &two_hosts, (400, "bad_host"));
        let packed = format!("{line}Host: x\r\nTransfer-Encoding: gzip, chunked\r\n");
        let packed = ask(&service, &packed, b"0\r\n\r\n").await;
        document.assert_describes(operation, &packed, (501, "unsupported_transfer_encoding"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_beyond_the_rate_limit_is_described_for_every_operation() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--rate-limit", "1"]);
    let document = Document::of(&service).await;
    for operation in document.operations("AAAAA", "x") {
        let answer = ask(&service, &format!("{}Host: x\r\n", operation.line), b"").await;
        if operation.name.ends_with("/livez") || operation.name.ends_with("/readyz") {
            assert_eq!(answer.status, 200, "a probe is not limited");
            continue;
        }
        document.assert_describes(&operation, &answer, (429, "too_many_requests"));
    }
}

/// Credentials of everybody, by the names of their schemes: lines of a head.
async fn credentials(
    data: &std::path::Path,
    service: &Service,
    researcher: &Researcher,
) -> BTreeMap<&'static str, String> {
    let patient = researcher.enrol().await;
    let login = json!({"code": patient.code, "password": PATIENT_PASSWORD});
    let (status, users) = researcher.post("/users/login", None, &login).await;
    assert_eq!(status, 200, "{users}");
    let cookie = sign_in(data, &service.url, "grace@study.example").await;
    let cookie = cookie.split(';').next().unwrap();
    let session = format!("GET /portal/session HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n");
    let session = ask(service, &session, b"").await;
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    BTreeMap::from([
        ("api_key_header", format!("X-Api-Key: {}\r\n", researcher.key)),
        ("users_token", bearer(users["token"].as_str().unwrap())),
        ("health_token", bearer(&patient.token)),
        (
            "portal_cookie",
            format!("Cookie: {cookie}\r\nX-CSRF-Token: {}\r\n", session.body["csrf_token"].as_str().unwrap()),
        ),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_is_too_slow_or_too_large_is_described_for_every_operation_with_one() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--body-seconds", "1", "--sync-mib", "1"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let credentials = credentials(data.path(), &service, &researcher).await;
    let document = Document::of(&service).await;
    let operations = document.operations(&researcher.group, "00000000-0000-4000-8000-000000000001");
    let with_body: Vec<_> = operations.iter().filter(|operation| operation.body_kind.is_some()).collect();
    assert!(with_body.len() > 25, "{}", with_body.len());
    let ask_all = async |length: usize, sent: &[u8], expected: (u16, &str)| {
        let each = with_body.iter().map(async |operation| {
            // One way of those that the operation takes: two would contradict each other.
            let ways = ["portal_cookie", "api_key_header", "users_token", "health_token"];
            let way = ways.into_iter().rfind(|way| operation.schemes.iter().any(|scheme| scheme == way));
            let credential = way.map_or("", |way| &credentials[way]);
            let kind = operation.body_kind.as_deref().unwrap();
            let head = format!(
                "{}Host: x\r\n{credential}Content-Type: {kind}\r\nContent-Length: {length}\r\n",
                operation.line
            );
            (operation, ask(&service, &head, sent).await)
        });
        for (operation, answer) in join_all(each).await {
            document.assert_describes(operation, &answer, expected);
        }
    };
    ask_all(10, b"{", (408, "timeout")).await;
    // More than an upload may have here, and enough of it to be more than any other body may.
    ask_all(2 << 20, &vec![b' '; 70_000], (413, "too_large")).await;
}
