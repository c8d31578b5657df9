//! Uploads as they are packed and called: which encodings and types are taken, and how large each may be.

use std::io::Write;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::common::{Answer, Enrolled, Story};
use crate::{App, T};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("packed")
}

/// Returns a sync of one row, filled up with blanks to a length.
fn sync_of(time_ms: i64, length: usize) -> Vec<u8> {
    let text = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [60]}}}).to_string();
    format!("{text}{}", " ".repeat(length.saturating_sub(text.len()))).into_bytes()
}

#[tokio::test]
async fn each_encoding_brings_the_same_rows_under_every_way_to_write_its_name() {
    let app = App::begin().await;
    let plain = sync_of(T, 0);
    let mut is_first = true;
    for (names, body) in [
        (&["", "identity", "IDENTITY", " identity "][..], plain.clone()),
        (&["gzip", "GZIP", "x-gzip", " gzip"][..], gzip(&plain)),
        (&["zstd", "Zstd"][..], zstd(&plain)),
    ] {
        for name in names {
            let answer = app.send_as("", "application/json", name, body.clone()).await.ok();
            let counts = &answer["types"]["activity"];
            let (stored, duplicate) = if is_first { (1, 0) } else { (0, 1) };
            assert_eq!((&counts["stored"], &counts["duplicate"]), (&json!(stored), &json!(duplicate)), "{name:?}");
            is_first = false;
        }
    }
    // Members of one packing that follow each other are one body, as parallel packers write them.
    let (first, second) = plain.split_at(20);
    let members = [gzip(first), gzip(second)].concat();
    assert_eq!(app.send_as("", "application/json", "gzip", members).await.ok()["types"]["activity"]["duplicate"], 1);
}

#[tokio::test]
async fn other_encodings_and_broken_packings_store_nothing() {
    let app = App::begin().await;
    let plain = sync_of(T, 0);
    let (packed, packed_well) = (gzip(&plain), zstd(&plain));
    for name in ["br", "deflate", "gzip, zstd", "gzip,gzip", "compress", "*", "none"] {
        let refused = app.send_as("", "application/json", name, plain.clone()).await;
        assert_eq!(refused.error(), (415, "unsupported_encoding"), "{name}");
    }
    let mut changed = packed.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 0x55;
    let behind = [packed.clone(), b"rubbish".to_vec()].concat();
    for (name, body) in [
        ("gzip", packed[..packed.len() - 1].to_vec()),
        ("gzip", packed[..10].to_vec()),
        ("gzip", changed),
        ("gzip", behind),
        ("gzip", plain.clone()),
        ("gzip", Vec::new()),
        ("gzip", packed_well.clone()),
        ("zstd", packed_well[..packed_well.len() - 1].to_vec()),
        ("zstd", plain.clone()),
        ("zstd", packed.clone()),
        ("identity", packed.clone()),
        ("identity", Vec::new()),
    ] {
        let length = body.len();
        let refused = app.send_as("", "application/json", name, body).await;
        assert_eq!(refused.error(), (400, "malformed_body"), "{name}, {length} bytes");
    }
    let counts = app.send_as("", "application/json", "gzip", packed).await.ok();
    assert_eq!(counts["types"]["activity"]["stored"], 1, "nothing was stored before");
}

#[tokio::test]
async fn types_of_content_are_those_of_the_two_routes() {
    let app = App::begin().await;
    for kind in ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8", "application/json;x=y"] {
        app.send_as("", kind, "", sync_of(T, 0)).await.ok();
    }
    for kind in ["", "text/json", "application/vnd.api+json", "text/csv", "application/vnd.apache.arrow.stream"] {
        let refused = app.send_as("", kind, "", sync_of(T, 0)).await;
        assert_eq!(refused.error(), (415, "unsupported_media_type"), "{kind}");
    }
    for kind in ["", "application/json", "application/vnd.apache.arrow.file", "text/csv"] {
        let refused = app.send_as("/activity", kind, "", Vec::new()).await;
        assert_eq!(refused.error(), (415, "unsupported_media_type"), "{kind}");
    }
    for kind in ["application/vnd.apache.arrow.stream", "application/octet-stream"] {
        let refused = app.send_as("/activity", kind, "", Vec::new()).await;
        assert_eq!(refused.error(), (400, "malformed_body"), "{kind}: no stream is none");
    }
}

#[tokio::test]
async fn limits_are_of_bytes_sent_and_of_bytes_expanded() {
    let limits = api::Limits { sync_bytes: 20_000, sync_expanded_bytes: 100_000, ..api::Limits::default() };
    let story = Story::begin_with(limits).await;
    let key = story.key_of("ada@example.org", store::Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let app = App { story, patient };
    let mut minute = 0;
    let mut next = |length: usize| {
        minute += 1;
        sync_of(T - minute * 60_000, length)
    };
    for (encoding, body, error) in [
        ("identity", next(20_000), None),
        ("identity", next(20_001), Some((413, "too_large"))),
        ("gzip", gzip(&next(100_000)), None),
        ("gzip", gzip(&next(100_001)), Some((413, "too_large"))),
        ("zstd", zstd(&next(100_000)), None),
        ("zstd", zstd(&next(100_001)), Some((413, "too_large"))),
        ("gzip", gzip(&next(50_000_000)), Some((413, "too_large"))),
    ] {
        let answer = app.send_as("", "application/json", encoding, body.clone()).await;
        match error {
            Some(error) => assert_eq!(answer.error(), error, "{encoding}, {} bytes", body.len()),
            None => assert_eq!(answer.ok()["types"]["activity"]["stored"], 1, "{encoding}, {} bytes", body.len()),
        }
    }
    // Also when the length is not announced: the body is cut at the limit and not read on.
    let chunked = async |length: usize, patient: &Enrolled| -> Answer {
        let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
            sync_of(T, length).chunks(999).map(|p| Ok(p.to_vec())).collect();
        let request = Request::post("/health/v1/sync")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", patient.health_token));
        let body = Body::from_stream(futures::stream::iter(pieces));
        app.story.send(request.body(body).expect("a request")).await
    };
    assert_eq!(chunked(20_001, &app.patient).await.error(), (413, "too_large"));
    assert_eq!(chunked(20_000, &app.patient).await.ok()["types"]["activity"]["stored"], 1);
}
