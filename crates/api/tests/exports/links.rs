//! Links to files: which bytes they give, who gets them, until when, and what a changed one opens.

use axum::body::{Body, Bytes};
use axum::http::response::Parts;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::common::text;
use crate::{MIDNIGHT_MS, Study, day, path_of};

/// Returns a study with an archive, the address of which is answered, and the bytes of the archive.
async fn with_archive() -> (Study, String, Vec<u8>) {
    let study = Study::begin().await;
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS], "sleep_state": [1]}})).await;
    let created = study.create("/sleep", day(&[])).await.ok();
    study.work().await;
    let url = text(&study.status(&text(&created["id"])).await["downloadUrl"]);
    let whole = study.fetch(&url).await;
    (study, path_of(&url).to_owned(), whole)
}

async fn ask(study: &Study, method: Method, path: &str, headers: &[(&str, &str)]) -> (Parts, Bytes) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    study.story.raw(request.body(Body::empty()).expect("a request")).await
}

async fn range(study: &Study, path: &str, range: &str) -> (Parts, Bytes) {
    ask(study, Method::GET, path, &[("range", range)]).await
}

fn header<'a>(parts: &'a Parts, name: &str) -> &'a str {
    parts.headers.get(name).map_or("", |value| value.to_str().expect("text"))
}

#[tokio::test]
async fn ranges_are_those_bytes_and_no_others() {
    let (study, path, whole) = with_archive().await;
    let size = whole.len();
    let last = size - 1;
    for (asked, first, end) in [
        ("bytes=0-0".to_owned(), 0, 1),
        (format!("bytes=0-{last}"), 0, size),
        ("bytes=0-99999999".to_owned(), 0, size),
        (format!("bytes={last}-"), last, size),
        (format!("bytes={last}-{last}"), last, size),
        ("bytes=7-".to_owned(), 7, size),
        ("bytes=-1".to_owned(), last, size),
        (format!("bytes=-{size}"), 0, size),
        ("bytes=-99999999".to_owned(), 0, size),
    ] {
        let (parts, bytes) = range(&study, &path, &asked).await;
        assert_eq!((parts.status.as_u16(), &bytes[..]), (206, &whole[first..end]), "{asked}");
        assert_eq!(header(&parts, "content-range"), format!("bytes {first}-{}/{size}", end - 1), "{asked}");
        assert_eq!(header(&parts, "content-length"), (end - first).to_string(), "{asked}");
    }
}

#[tokio::test]
async fn download_that_breaks_off_is_gone_on_with() {
    let (study, path, whole) = with_archive().await;
    let mut joined = Vec::new();
    while joined.len() < whole.len() {
        let asked = format!("bytes={}-{}", joined.len(), joined.len() + 99);
        joined.extend_from_slice(&range(&study, &path, &asked).await.1);
    }
    assert_eq!(joined, whole);
    // One that has everything learns so.
    let (parts, _) = range(&study, &path, &format!("bytes={}-", whole.len())).await;
    assert_eq!((parts.status.as_u16(), header(&parts, "content-range")), (416, &*format!("bytes */{}", whole.len())));
}

#[tokio::test]
async fn ranges_that_no_file_has_are_refused_and_those_that_nobody_understands_are_ignored() {
    let (study, path, whole) = with_archive().await;
    for asked in [format!("bytes={}-", whole.len()), "bytes=99999998-99999999".to_owned(), "bytes=-0".to_owned()] {
        let (parts, bytes) = range(&study, &path, &asked).await;
        assert_eq!(parts.status.as_u16(), 416, "{asked}");
        assert_eq!(header(&parts, "content-range"), format!("bytes */{}", whole.len()), "{asked}");
        let error: Value = serde_json::from_slice(&bytes).expect("json");
        assert_eq!(error["code"], "range_not_satisfiable", "{asked}");
    }
    for asked in
        ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,4-5", "rows=0-1", "bytes=0x1-2", "Bytes 0-1"]
    {
        let (parts, bytes) = range(&study, &path, asked).await;
        assert_eq!((parts.status.as_u16(), &bytes[..]), (200, &whole[..]), "{asked}");
        assert_eq!(header(&parts, "content-range"), "", "{asked}");
    }
}

#[tokio::test]
async fn head_is_of_the_whole_file_whatever_range_is_asked_for() {
    let (study, path, whole) = with_archive().await;
    let tag = header(&ask(&study, Method::GET, &path, &[]).await.0, "etag").to_owned();
    for asked in ["bytes=0-0", "bytes=2-5", "bytes=-4", "bytes=99999999-"] {
        let (parts, bytes) = ask(&study, Method::HEAD, &path, &[("range", asked)]).await;
        assert_eq!((parts.status.as_u16(), bytes.len()), (200, 0), "{asked}: a range is of GET alone");
        assert_eq!(header(&parts, "content-range"), "", "{asked}");
        assert_eq!(header(&parts, "content-length"), whole.len().to_string(), "{asked}");
        assert_eq!((header(&parts, "etag"), header(&parts, "accept-ranges")), (&*tag, "bytes"), "{asked}");
    }
    let forged = path.replace("signature=", "signature=A");
    assert_eq!(ask(&study, Method::HEAD, &forged, &[]).await.0.status.as_u16(), 403);
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let (parts, _) = ask(&study, method.clone(), &path, &[]).await;
        assert_eq!(parts.status.as_u16(), 405, "{method}");
        assert_eq!(header(&parts, "allow"), "GET,HEAD", "{method}");
    }
}

#[tokio::test]
async fn range_of_another_file_gives_the_whole_one() {
    let (study, path, whole) = with_archive().await;
    let tag = header(&ask(&study, Method::GET, &path, &[]).await.0, "etag").to_owned();
    let weak = format!("W/{tag}");
    for (if_range, status) in [
        (&*tag, 206),
        (&*weak, 200),
        (tag.trim_matches('"'), 200),
        ("*", 200),
        ("\"\"", 200),
        ("Thu, 20 Nov 2025 00:53:20 GMT", 200),
    ] {
        let (parts, bytes) = ask(&study, Method::GET, &path, &[("range", "bytes=2-5"), ("if-range", if_range)]).await;
        let expected = if status == 206 { &whole[2..6] } else { &whole[..] };
        assert_eq!((parts.status.as_u16(), &bytes[..]), (status, expected), "{if_range}");
        let beyond = [("range", "bytes=99999999-"), ("if-range", if_range)];
        let (parts, _) = ask(&study, Method::GET, &path, &beyond).await;
        assert_eq!(parts.status.as_u16(), if status == 206 { 416 } else { 200 }, "{if_range}");
    }
}

#[tokio::test]
async fn every_part_of_a_link_is_signed() {
    let (study, path, _) = with_archive().await;
    let (name, query) = path.split_once('?').expect("a query");
    let parameter = |wanted: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(wanted)?.strip_prefix('=')).expect("a parameter").to_owned()
    };
    let (object, expires, signature) = (parameter("object"), parameter("expires"), parameter("signature"));
    let link = |name: &str, object: &str, expires: &str, signature: &str| {
        format!("{name}?object={object}&expires={expires}&signature={signature}")
    };
    assert_eq!(study.story.get(&link(name, &object, &expires, &signature)).await.status, 200, "in any order");
    let later = (expires.parse::<i64>().expect("a number") + 1).to_string();
    let mut flipped = signature.clone().into_bytes();
    flipped[0] = if flipped[0] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).expect("text");
    let half = &signature[..signature.len() / 2];
    for (what, forged) in [
        ("another name", link(&name.replace(".zip", ".html"), &object, &expires, &signature)),
        ("a name that is longer", link(&format!("{name}.zip"), &object, &expires, &signature)),
        ("another object", link(name, &object.replace("zip", "csv"), &expires, &signature)),
        ("a way out of the folder", link(name, "..%2F..%2Fusers.sqlite", &expires, &signature)),
        ("a later end", link(name, &object, &later, &signature)),
        ("no end", link(name, &object, "", &signature)),
        ("an end that is no number", link(name, &object, "never", &signature)),
        ("the largest end", link(name, &object, &i64::MAX.to_string(), &signature)),
        ("another signature", link(name, &object, &expires, &flipped)),
        ("half a signature", link(name, &object, &expires, half)),
        ("a signature with more behind it", link(name, &object, &expires, &format!("{signature}AAAA"))),
        ("no signature", link(name, &object, &expires, "")),
        ("a signature that is none", link(name, &object, &expires, "%00%ff")),
    ] {
        let answer = study.story.get(&forged).await;
        assert_eq!(answer.error(), (403, "forbidden"), "{what}: {forged}");
        let with_key = study.story.get_as(&forged, &study.key).await;
        assert_eq!(with_key.error(), (403, "forbidden"), "{what}: a key opens no file");
    }
}

#[tokio::test]
async fn link_needs_no_credential_and_minds_none() {
    let (study, path, whole) = with_archive().await;
    for token in ["", &study.key, "pwk_rubbish"] {
        let (status, bytes) = study.story.bytes_of(&path, token, "*/*").await;
        assert_eq!((status.as_u16(), &bytes[..]), (200, &whole[..]));
    }
    let (parts, _) = ask(&study, Method::GET, &path, &[("accept-encoding", "gzip, zstd, br")]).await;
    assert_eq!(header(&parts, "content-encoding"), "", "an archive is compressed already, and ranges are of its bytes");
    assert_eq!((header(&parts, "cache-control"), header(&parts, "x-content-type-options")), ("no-store", "nosniff"));
    assert!(header(&parts, "content-disposition").starts_with("attachment; filename="));
}

#[tokio::test]
async fn link_to_an_erased_patients_file_finds_nothing() {
    let (study, path, _) = with_archive().await;
    let erase = format!("/integration/v1/patients/{}", study.patient.uuid);
    study.story.ask("DELETE", &erase, &study.key, Value::Null).await.ok();
    for method in [Method::GET, Method::HEAD] {
        assert_eq!(ask(&study, method.clone(), &path, &[]).await.0.status.as_u16(), 404, "{method}");
    }
    assert_eq!(study.story.get(&path).await.error(), (404, "download_not_found"));
    let (parts, _) = range(&study, &path, "bytes=0-3").await;
    assert_eq!(parts.status.as_u16(), 404);
    // A forged link learns nothing of what there was.
    let forged = path.replace("signature=", "signature=A");
    assert_eq!(study.story.get(&forged).await.error(), (403, "forbidden"));
}
