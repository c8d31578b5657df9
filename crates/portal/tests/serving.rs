//! The pages as a browser gets them, and the API as programs get it, with the pages around it.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::get;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

async fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let api = Router::new().route("/integration/v1/groups", get(async || "groups"));
    let api = api.route("/portal/session", get(async || "session")).fallback(async || (StatusCode::NOT_FOUND, "none"));
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = portal::around(api).oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes().to_vec();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// Returns an address of a file that the first page names.
async fn asset(end: &str) -> String {
    let page = ask("GET", "/", &[]).await;
    let text = page.text().to_owned();
    let mut quoted = text.split('"').filter(|piece| piece.starts_with("/portal/assets/") && piece.ends_with(end));
    quoted.next().unwrap_or_else(|| panic!("the page names no {end}")).to_owned()
}

#[tokio::test]
async fn the_first_page_is_checked_again_each_time_and_loads_only_its_own() {
    let page = ask("GET", "/", &[]).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("vary"), Some("Accept-Encoding"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("http://") && !page.text().contains("https://"), "something comes from elsewhere");

    let etag = page.header("etag").expect("a tag").to_owned();
    let again = ask("GET", "/", &[("If-None-Match", &etag)]).await;
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    let strong = format!("\"x\", {}", etag.trim_start_matches("W/"));
    assert_eq!(ask("GET", "/", &[("If-None-Match", &strong)]).await.status, StatusCode::NOT_MODIFIED);
    assert_eq!(ask("GET", "/", &[("If-None-Match", "\"x\"")]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn page_can_be_neither_framed_nor_held_by_the_window_that_opened_it() {
    for path in ["/", "/settings"] {
        let page = ask("GET", path, &[("Accept", BROWSER)]).await;
        assert_eq!(page.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(page.header("cross-origin-opener-policy"), Some("same-origin"), "{path}");
    }
}

#[tokio::test]
async fn other_methods_on_a_file_are_refused_with_those_that_there_are() {
    let script = asset(".js").await;
    for path in ["/", "/portal/index.html", &script] {
        for method in ["TRACE", "POST", "DELETE", "OPTIONS"] {
            let answer = ask(method, path, &[("Accept", BROWSER)]).await;
            assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
            assert!(answer.text().contains("\"method_not_allowed\""), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn hashed_files_are_kept_for_ever_and_sent_compressed() {
    let path = asset(".js").await;
    let plain = ask("GET", &path, &[]).await;
    assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(plain.header("content-encoding"), None);
    for (accepted, coding) in [("gzip, br", "br"), ("gzip", "gzip")] {
        let packed = ask("GET", &path, &[("Accept-Encoding", accepted)]).await;
        assert_eq!(packed.header("content-encoding"), Some(coding));
        assert_ne!(packed.body, plain.body);
    }
    let gzip = ask("GET", &path, &[("Accept-Encoding", "gzip")]).await;
    assert_eq!(&gzip.body[..2], [0x1f, 0x8b]);
    let missing = ask("GET", "/portal/assets/app-GONE.js", &[("Accept", BROWSER)]).await;
    assert_eq!((missing.status, missing.text()), (StatusCode::NOT_FOUND, "none"), "a page in place of a script");
}

#[tokio::test]
async fn every_address_of_a_page_is_the_page_to_a_browser() {
    let page = ask("GET", "/", &[]).await;
    for path in ["/studies/JYVPQ", "/settings", "/portal", "/portal/anything", "/studies/JYVPQ/patients/1?day=2"] {
        let answer = ask("GET", path, &[("Accept", BROWSER)]).await;
        assert_eq!((answer.status, answer.body == page.body), (StatusCode::OK, true), "{path}");
    }
}

#[tokio::test]
async fn programs_find_the_api_as_it_was() {
    for (method, path, accept, expected) in [
        ("GET", "/integration/v1/groups", BROWSER, "groups"),
        ("GET", "/integration/v1/nothing", BROWSER, "none"),
        ("GET", "/portal/session", BROWSER, "session"),
        ("GET", "/portal/api/nothing", BROWSER, "none"),
        ("GET", "/nothing", "application/json", "none"),
        ("GET", "/nothing", "*/*", "none"),
        ("POST", "/settings", BROWSER, "none"),
        ("POST", "/portal/session", BROWSER, ""),
    ] {
        let answer = ask(method, path, &[("Accept", accept)]).await;
        assert_eq!(answer.text(), expected, "{method} {path}");
    }
}
