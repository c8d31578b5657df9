//! The bombs that once took gigabytes, as large as an upload may be by default, at the default setting.

use std::io::Write as _;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::join_all;
use serde_json::json;
use tempfile::tempdir;

use super::bodies::Bomb;
use super::{SLACK_MIB, rest_mib, rows_of, throw};
use crate::harness::{Researcher, Service};

/// The default of `--upload-memory-mib`.
const UPLOADS_MIB: u64 = 1024;

/// Begin, what comes how many times, and end.
type Repeated = (&'static str, (&'static str, usize), &'static str);

const LARGEST: [(&str, Repeated); 3] = [
    ("empty texts", ("{\"data\":{\"tests\":{\"note\":[\"\"", (",\"\"", 87_000_000), "]}}}")),
    ("empty rows", ("{\"data\":{\"activity\":[{}", (",{}", 80_000_000), "]}}")),
    ("numbers", ("{\"data\":{\"activity\":{\"bpm\":[0", (",0", 85_000_000), "]}}}")),
];

fn packed((begin, (part, count), end): Repeated) -> Vec<u8> {
    const AT_ONCE: usize = 100_000;
    let (mut encoder, parts) = (GzEncoder::new(Vec::new(), Compression::best()), part.repeat(AT_ONCE));
    encoder.write_all(begin.as_bytes()).unwrap();
    for _ in 0..count / AT_ONCE {
        encoder.write_all(parts.as_bytes()).unwrap();
    }
    encoder.write_all(end.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes of a program that is not optimised: .ci/long runs it, and `bombs.rs` the same at an eighth of the size"]
async fn bombs_of_full_size_stay_within_the_default_memory() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patients = join_all((0..5).map(|_| researcher.enrol())).await;
    let [bomber, second, third, fourth, other] = patients.try_into().ok().unwrap();
    let rest = rest_mib(&service, &researcher, &other).await;
    let of = |(name, parts): (&'static str, Repeated)| Bomb {
        name,
        path: "/health/v1/sync",
        content_type: "application/json",
        encoding: "gzip",
        body: packed(parts),
    };
    let bombs = LARGEST.map(of);
    let limit = rest + UPLOADS_MIB + SLACK_MIB;
    for bomb in &bombs {
        service.forget_peak();
        let begun = Instant::now();
        let (status, said) = throw(&service.url, &bomber, bomb).await;
        let (peak, kib, took) = (service.memory_kib("VmHWM") >> 10, bomb.body.len() >> 10, begun.elapsed());
        println!("{}: {kib} KiB, {status} in {took:?}, {peak} MiB of {rest} at rest: {said:.200}", bomb.name);
        // Refused for what it is, and not because it is larger than a body may be.
        assert_eq!(status, 422, "{}: {said}", bomb.name);
        assert!(peak <= limit, "{}: {peak} MiB, {rest} at rest", bomb.name);
    }
    service.forget_peak();
    let begun = Instant::now();
    let four = [&bomber, &second, &third, &fourth].into_iter().zip(bombs.iter().chain(bombs.first()));
    let answers = join_all(four.map(|(bomber, bomb)| throw(&service.url, bomber, bomb))).await;
    let peak = service.memory_kib("VmHWM") >> 10;
    println!("four at once: {answers:.200?} in {:?}, {peak} MiB of {rest} at rest", begun.elapsed());
    // 503 as well: the memory can be another bomb's just now.
    assert!(answers.iter().all(|(status, _)| [422, 503].contains(status)), "{answers:?}");
    assert!(peak <= limit, "{peak} MiB, {rest} at rest");
    assert_eq!(rows_of(&researcher, &bomber).await, json!({}), "nothing of them is stored");
}
