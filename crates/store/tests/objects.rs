//! What an object store promises, on a folder and on a server that speaks S3.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use store::{Objects, S3Address, StoreError};
use testkit::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY, S3Server};

/// Returns a bucket of a server, below a prefix.
fn bucket(server: &S3Server, secret: &str) -> Objects {
    Objects::bucket(&S3Address {
        bucket: S3_BUCKET.to_owned(),
        prefix: "a/prefix".to_owned(),
        endpoint: Some(server.url.clone()),
        access_key_id: Some(S3_ACCESS_KEY.to_owned()),
        secret_access_key: Some(secret.to_owned()),
        allow_http: true,
        ..S3Address::default()
    })
    .unwrap()
}

/// Runs a test on a folder and on a bucket.
async fn on_each_store<Running: Future<Output = ()>>(test: impl Fn(Objects) -> Running) {
    let folder = tempfile::tempdir().unwrap();
    test(Objects::folder(folder.path()).unwrap()).await;
    let server = S3Server::start();
    test(bucket(&server, S3_SECRET_KEY)).await;
}

async fn bytes_of(objects: &Objects, path: &str, range: Option<std::ops::Range<u64>>) -> Option<Vec<u8>> {
    let read = objects.read(path, range).await.unwrap()?;
    let bytes: Vec<Bytes> = read.bytes.try_collect().await.unwrap();
    Some(bytes.concat())
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn small_and_large_objects_are_read_back_whole_and_in_ranges() {
    on_each_store(|objects| async move {
        for (path, size) in [("exports/small.zip", 100_usize), ("exports/many-parts.zip", 40 << 20)] {
            let whole = content(size);
            let mut upload = objects.upload(path).unwrap();
            for piece in whole.chunks(1 << 20) {
                upload.put(Bytes::copy_from_slice(piece)).await.unwrap();
                assert_eq!(objects.size(path).await.unwrap(), None, "nobody sees a half-made object");
            }
            assert_eq!(upload.finish().await.unwrap(), size as u64);
            assert_eq!(objects.size(path).await.unwrap(), Some(size as u64));
            assert!(bytes_of(&objects, path, None).await.unwrap() == whole);
            let size = size as u64;
            assert_eq!(bytes_of(&objects, path, Some(size - 7..size)).await.unwrap(), whole[whole.len() - 7..]);
            assert_eq!(bytes_of(&objects, path, Some(3..5)).await.unwrap(), whole[3..5]);
        }
        let mut listed: Vec<(String, u64)> =
            objects.listed("exports").await.unwrap().into_iter().map(|object| (object.path, object.bytes)).collect();
        listed.sort();
        assert_eq!(listed, [("exports/many-parts.zip".to_owned(), 40 << 20), ("exports/small.zip".to_owned(), 100)]);
        for _ in 0..2 {
            objects.delete("exports/small.zip").await.unwrap();
        }
        assert!(bytes_of(&objects, "exports/small.zip", None).await.is_none());
        objects.check().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_is_not_there() {
    on_each_store(|objects| async move {
        let mut upload = objects.upload("exports/given-up.zip").unwrap();
        for _ in 0..40 {
            upload.put(Bytes::from(content(1 << 20))).await.unwrap();
        }
        upload.abort().await.unwrap();
        assert!(objects.listed("exports").await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_address_opens_one_object_for_a_while() {
    let server = S3Server::start();
    let objects = bucket(&server, S3_SECRET_KEY);
    let mut upload = objects.upload("exports/a.zip").unwrap();
    upload.put("an archive".into()).await.unwrap();
    upload.finish().await.unwrap();
    let sign = async |objects: &Objects, lifetime| {
        objects.signed_url("exports/a.zip", "mine.zip", lifetime).await.unwrap().unwrap()
    };
    let get = async |url: &str| {
        let answer = reqwest::get(url).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let url = sign(&objects, Duration::from_mins(1)).await;
    assert_eq!(get(&url).await, (200, "an archive".to_owned()));
    assert_eq!(get(&url.replace("a.zip", "b.zip")).await.0, 403, "another object");
    let at = url.find("X-Amz-Signature=").unwrap() + "X-Amz-Signature=".len();
    let forged = if &url[at..=at] == "0" { "1" } else { "0" };
    assert_eq!(get(&format!("{}{forged}{}", &url[..at], &url[at + 1..])).await.0, 403, "a forged signature");
    let foreign = sign(&bucket(&server, "another secret"), Duration::from_mins(1)).await;
    assert_eq!(get(&foreign).await.0, 403, "someone else's signature");
    let short = sign(&objects, Duration::from_secs(1)).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(get(&short).await.0, 403, "an address that has ended");
    let folder = tempfile::tempdir().unwrap();
    let folder = Objects::folder(folder.path()).unwrap();
    assert_eq!(folder.signed_url("exports/a.zip", "mine.zip", Duration::from_secs(1)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_for_a_while_is_waited_for_and_one_that_stays_away_is_reported() {
    let server = S3Server::start();
    let objects = bucket(&server, S3_SECRET_KEY);
    server.set_away(true);
    assert!(matches!(objects.check().await, Err(StoreError::Unavailable(_))));
    let writing = tokio::spawn({
        let objects = objects.clone();
        async move {
            let mut upload = objects.upload("exports/late.zip").unwrap();
            upload.put("late".into()).await.unwrap();
            upload.finish().await
        }
    });
    tokio::time::sleep(Duration::from_millis(700)).await;
    server.set_away(false);
    assert_eq!(writing.await.unwrap().unwrap(), 4);
    objects.check().await.unwrap();
    assert_eq!(bytes_of(&objects, "exports/late.zip", None).await.unwrap(), b"late");
}
