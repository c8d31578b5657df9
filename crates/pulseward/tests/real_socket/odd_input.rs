//! What nobody sends by mistake: every request has a clear refusal or its documented meaning, never a fault of the
//! service, and none is taken for another.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Researcher, Service};

struct Place {
    service: Service,
    researcher: Researcher,
    _data: TempDir,
}

async fn place() -> Place {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    Place { service, researcher, _data: data }
}

impl Place {
    /// Status and JSON body of a GET whose path goes over the wire exactly as it is written here.
    fn exactly(&self, path: &str) -> (u16, Value) {
        let key = &self.researcher.key;
        read(
            &self.service.raw(
                format!("GET {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nConnection: close\r\n\r\n").as_bytes(),
            ),
        )
    }
}

/// Status and JSON body of the first answer; `Null` when it has none.
fn read(answer: &str) -> (u16, Value) {
    let status = answer.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let object = body.find(['{', '[']).map_or("", |begin| &body[begin..]);
    let first = serde_json::Deserializer::from_str(object).into_iter().next();
    (status, first.and_then(Result::ok).unwrap_or(Value::Null))
}

#[tokio::test]
async fn injections_and_traversals_find_nothing() {
    let place = place().await;
    let group = &place.researcher.group;
    for odd in [
        "'%20OR%20'1'='1",
        "%27%3B%20DROP%20TABLE%20account%3B--",
        "%22%20OR%201=1",
        "%00",
        "%0d%0aX-Injected:%20yes",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e%2f%2e%2e%2fmaster.key",
        "%ff%fe",
        "$%7Bjndi:ldap:%2f%2fx%7D",
        "%3Cscript%3Ealert(1)%3C%2fscript%3E",
        "%F0%9F%92%89",
    ] {
        for path in [
            format!("/integration/v1/groups/{odd}/patients"),
            format!("/integration/v1/patients/{odd}/latest-news-score"),
            format!("/integration/v1/patients/{odd}/summary/2025-11-20"),
            format!("/health/v2/raw-metrics/{odd}"),
            format!("/{odd}"),
        ] {
            let (status, body) = place.exactly(&path);
            assert!([400, 401, 404].contains(&status), "{path}: {status}");
            assert!(body["code"].is_string(), "{path}: {body}");
            // Nothing of what was sent comes back.
            for piece in ["script", "DROP", "jndi", "etc", "Injected"] {
                assert!(!body.to_string().contains(piece), "{path}: {body}");
            }
        }
        let (status, checked) = place.exactly(&format!("/integration/v1/check-voucher-code/{odd}"));
        let is_refused = [400, 404].contains(&status);
        assert!(is_refused || (status == 200 && checked["exists"] == false), "{odd}: {status} {checked}");
        let (status, _) = place.exactly(&format!("/integration/v1/groups/{group}/patients?fields[]={odd}"));
        assert!([400, 422].contains(&status), "{odd}: {status}");
    }
    for path in [
        "/../../etc/passwd",
        "/integration/../users/me",
        "/integration/v1/groups/../../../master.key",
        "//integration//v1//groups",
        "/integration/v1/groups/",
        "/integration/v1/groups;token=x",
        "/INTEGRATION/V1/GROUPS",
        "/integration/v1/groups%2f",
        "/%69ntegration/v1/groups/x/y/z",
    ] {
        let (status, body) = place.exactly(path);
        assert_eq!((status, &body["code"]), (404, &json!("not_found")), "{path}");
    }
    // Names are data: what looks like SQL or HTML is stored and comes back as it was.
    let body = json!({"name": "Robert'); DROP TABLE account;--", "description": "<b>\u{202e}\u{0}"});
    let (status, created) = place.researcher.post("/integration/v1/groups", None, &body).await;
    match status {
        200 => assert_eq!(created["name"], body["name"]),
        status => assert_eq!(status, 422, "{created}"),
    }
    assert_eq!(place.researcher.get("/integration/v1/groups", None).await.0, 200);
}

#[tokio::test]
async fn a_request_is_never_two() {
    let place = place().await;
    let smuggled = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let chunk = format!("0\r\n\r\n{smuggled}");
    let length = chunk.len();
    for head in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Content-Length: 5\r\nContent-Length: 6\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: -1\r\n".to_owned(),
        "Content-Length: 5, 6\r\n".to_owned(),
        "Content-Length: 99999999999999999999999\r\n".to_owned(),
    ] {
        let request =
            format!("POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{head}\r\n{chunk}");
        let answer = place.service.raw(request.as_bytes());
        let (status, _) = read(&answer);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{head}: {answer}");
        assert_eq!(status, 400, "{head}: {answer}");
    }
    for (what, request) in [
        ("no host", "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n"),
        ("two hosts", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"),
        ("a header without name", "GET /livez HTTP/1.1\r\nHost: x\r\n: y\r\nConnection: close\r\n\r\n"),
        ("a folded header", "GET /livez HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\nConnection: close\r\n\r\n"),
        ("a zero in a header", "GET /livez HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\nConnection: close\r\n\r\n"),
        ("a bare method", "GET\r\n\r\n"),
        ("a blank in the path", "GET /livez /readyz HTTP/1.1\r\nHost: x\r\n\r\n"),
        ("no HTTP", "\u{16}\u{3}\u{1}hello\r\n\r\n"),
        ("HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ] {
        let answer = place.service.raw(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 ") || answer.is_empty(), "{what}: {answer}");
        assert!(!answer.contains("200 OK"), "{what}: {answer}");
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let place = place().await;
    let long = "a".repeat(300_000);
    let answer = place.service.raw(format!("GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let answer = place.service.raw(format!("GET /livez?{long} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 414 ") || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many = "X-A: b\r\n".repeat(200);
    let answer = place.service.raw(format!("GET /livez HTTP/1.1\r\nHost: x\r\n{many}\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let body = json!({"name": "a".repeat(70_000)});
    let (status, body) = place.researcher.post("/integration/v1/groups", None, &body).await;
    assert_eq!((status, &body["code"]), (413, &json!("too_large")));
    let deep = "[".repeat(10_000);
    let client = reqwest::Client::new().post(format!("{}/users/login", place.service.url));
    let answer = client.header("content-type", "application/json").body(deep).send().await.unwrap();
    assert_eq!(answer.status(), 400);
}

#[tokio::test]
async fn codes_are_plain_letters_and_digits() {
    let place = place().await;
    let researcher = &place.researcher;
    let group = &researcher.group;
    let (_, created) = researcher.post(&format!("/integration/v1/groups/{group}/patients"), None, &json!({})).await;
    let code = created["code"].as_str().unwrap();
    let checked = async |code: &str| {
        let mut url: reqwest::Url =
            format!("{}/integration/v1/check-voucher-code/", place.service.url).parse().unwrap();
        url.path_segments_mut().unwrap().pop().push(code);
        let answer = reqwest::Client::new().get(url).header("X-Api-Key", &researcher.key).send().await.unwrap();
        // There is nothing at an address with a NUL character.
        assert_eq!(answer.status(), if code.contains('\0') { 404 } else { 200 }, "{code:?}");
        answer.json::<Value>().await.unwrap()["exists"] == true
    };
    assert!(checked(code).await);
    assert!(checked(&format!(" {} ", code.to_lowercase())).await, "blanks and small letters are forgiven");
    let full_width: String =
        code.chars().map(|letter| char::from_u32(letter as u32 - 0x21 + 0xff01).unwrap()).collect();
    let cyrillic = code.replace('A', "\u{410}").replace('E', "\u{415}").replace('C', "\u{421}") + "\u{200b}";
    for odd in [
        full_width,
        cyrillic,
        format!("\u{202e}{code}"),
        format!("{code}\u{200d}"),
        format!("{code}\0"),
        code.chars().rev().chain(['\u{301}']).collect(),
        "\u{1d400}".repeat(8),
        "ß".repeat(8),
        "ı".repeat(8),
    ] {
        assert!(!checked(&odd).await, "{odd:?}");
        let body = json!({"code": odd, "password": "a password for tests"});
        let (status, answer) = researcher.post("/users/activate", None, &body).await;
        let expected = if odd.contains('\0') { (422, "invalid") } else { (404, "voucher_not_found") };
        assert_eq!((status, answer["code"].as_str().unwrap()), expected, "{odd:?}");
        let (status, _) = researcher.post("/users/login", None, &body).await;
        assert!([401, 422].contains(&status), "{odd:?}: {status}");
    }
    let full_width: String =
        group.chars().map(|letter| char::from_u32(letter as u32 - 0x21 + 0xff01).unwrap()).collect();
    let (status, body) = researcher.get(&format!("/integration/v1/groups/{full_width}/patients"), None).await;
    assert_eq!((status, &body["code"]), (404, &json!("group_not_found")));
    assert!(checked(code).await, "nothing of it used the voucher");
}

#[tokio::test]
async fn parameters_that_repeat_or_overdo_it_have_their_meaning() {
    let place = place().await;
    let researcher = &place.researcher;
    let patient = researcher.enrol().await;
    let group = &researcher.group;
    let patients = format!("/integration/v1/groups/{group}/patients");
    let thousand = vec!["fields[]=state"; 1000].join("&");
    let (status, rows) = researcher.get(&format!("{patients}?{thousand}"), None).await;
    assert_eq!((status, rows), (200, json!([{"uuid": patient.uuid, "state": "confirmed"}])));
    let thousand: Vec<String> = (0..1000).map(|number| format!("fields[]=nothing{number}")).collect();
    let (status, body) = researcher.get(&format!("{patients}?{}", thousand.join("&")), None).await;
    assert_eq!((status, &body["code"]), (422, &json!("invalid")));
    assert!(body.to_string().len() < 100_000, "{}", body.to_string().len());
    // The first value counts where one is asked for.
    let summaries = format!("/integration/v1/groups/{group}/summaries");
    let (status, day) = researcher.get(&format!("{summaries}?date=2025-11-20&date=nonsense"), None).await;
    assert_eq!((status, &day[&patient.uuid]["date"]), (200, &json!("2025-11-20")));
    let (status, _) = researcher.get(&format!("{summaries}?date=nonsense&date=2025-11-20"), None).await;
    assert_eq!(status, 422);
    for (query, status) in [
        ("date=2025-02-30", 422),
        ("date=0000-00-00", 422),
        ("date=99999-01-01", 422),
        ("date=2025-11-20%00", 422),
        ("date=%F0%9F%92%89", 422),
        ("date=%ff", 422),
        ("date=2025-11-20&include_slots=2", 400),
        ("date=2025-11-20&include_slots=1&include_slots=0", 200),
    ] {
        assert_eq!(researcher.get(&format!("{summaries}?{query}"), None).await.0, status, "{query}");
    }
    let pages = "/health/user-summaries?date_from=2025-11-01&date_to=2025-11-20";
    let page = async |more: &str| researcher.get(&format!("{pages}&{more}"), Some(&patient.token)).await;
    for (more, current, per_page, shown) in [
        ("page=0", 1, 10, 10),
        ("page=-5", 1, 10, 10),
        ("page=2&page=1", 2, 10, 10),
        ("per_page=1000000000", 1, 100, 20),
        ("per_page=0", 1, 1, 1),
        ("page=9223372036854775807&per_page=100", i64::MAX, 100, 0),
    ] {
        let (status, answer) = page(more).await;
        assert_eq!(status, 200, "{more}");
        let counts = (answer["current_page"].as_i64(), answer["per_page"].as_i64());
        assert_eq!(counts, (Some(current), Some(per_page)), "{more}");
        assert_eq!(answer["data"].as_array().unwrap().len(), shown, "{more}");
    }
    for more in ["per_page=1e9", "page=1.5", "page=99999999999999999999", "per_page=%27"] {
        let (status, body) = page(more).await;
        assert_eq!((status, &body["code"]), (400, &json!("malformed_parameter")), "{more}");
    }
}

#[tokio::test]
async fn two_credentials_are_read_in_their_order_and_never_mixed() {
    let place = place().await;
    let key = &place.researcher.key;
    let get = async |query: &str, headers: &[(&str, &str)]| {
        let mut request = reqwest::Client::new().get(format!("{}/integration/v1/groups{query}", place.service.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    let good = format!("Bearer {key}");
    assert_eq!(get("?token=wrong", &[("authorization", &good), ("x-api-key", key)]).await, 401);
    assert_eq!(get(&format!("?token={key}&token=wrong"), &[]).await, 200);
    assert_eq!(get(&format!("?token=wrong&token={key}"), &[]).await, 401);
    assert_eq!(get("?token=", &[("x-api-key", key)]).await, 200, "an empty one is none");
    assert_eq!(get("", &[("authorization", "Bearer wrong"), ("x-api-key", key)]).await, 401);
    assert_eq!(get("", &[("authorization", "Basic d3Jvbmc6d3Jvbmc="), ("x-api-key", key)]).await, 401);
    assert_eq!(get("", &[("authorization", &good), ("authorization", "Bearer wrong")]).await, 401);
}
