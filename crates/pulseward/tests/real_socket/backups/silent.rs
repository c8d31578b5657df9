//! A backup one of whose connections goes silent in the middle of a copy.

use std::io::Read as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::Postgres;

use super::Place;
use crate::harness::pulseward;

/// Chunks of a MiB: more than lies in the buffers of sockets.
const CHUNKS: &str = "INSERT INTO chunk (patient, data_type, channel, first_us, arrival, last_us, row_count, payload)
    SELECT 'nobody', 1, 0, n, n, n, 1, decode(repeat('07', 1 << 20), 'hex') FROM generate_series(1, 40) AS n";
const SILENT_AFTER: usize = 8 << 20;
/// Twice as long as the deadlines of a copy add up to.
const LONGEST: Duration = Duration::from_mins(1);

/// How a backup ended, and what it said; `None` when it did not within a minute.
fn backup(place: &Place, options: &[String]) -> Option<(ExitStatus, String)> {
    let (folder, data) = (place.folder.path().join("backup"), place.data());
    let mut command = pulseward(&["backup", folder.to_str().unwrap(), "--data", data.to_str().unwrap()]);
    let mut child = command.args(options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() < LONGEST => std::thread::sleep(Duration::from_millis(50)),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
        }
    };
    println!("the backup ended after {:.1?}", begun.elapsed());
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    Some((status, said))
}

#[test]
fn backup_whose_connection_goes_silent_ends_leaves_nothing_and_releases_its_hold() {
    let Some(place) = Place::on_postgres() else { return };
    place.done(&["migrate"]);
    let [_, health] = place.servers.as_ref().unwrap();
    health.execute(CHUNKS);
    let proxy = Postgres::silent_proxy();
    let (direct, through) = (health.url.clone(), health.url_at(proxy.port()));
    let options: Vec<String> =
        place.options().into_iter().map(|option| if option == direct { through.clone() } else { option }).collect();
    proxy.silence_after(SILENT_AFTER);
    let ended = backup(&place, &options);
    assert!(proxy.has_silenced(), "the copy is smaller than it was meant to be");
    let (status, said) = ended.expect("a backup has a deadline");
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("stopped answering"), "{said}");
    let left = std::fs::read_dir(place.folder.path().join("backup")).unwrap().count();
    assert_eq!(left, 0, "half a backup looks like one");
    assert_eq!(place.done(&["doctor"])["holds"], json!([]));
    // The next one, over a link that lasts.
    let (status, said) = backup(&place, &options).expect("a backup of some MiB ends");
    assert!(status.success(), "{said}");
}
