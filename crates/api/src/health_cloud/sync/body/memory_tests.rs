//! What a body becomes is counted before it is there.

use super::*;
use crate::load::{NoRoom, UploadMemory};
use vitals::intake::Batch;

/// Returns what the rows of a body really take, bytes.
fn taken(body: &SyncBody) -> usize {
    body.data.iter().flat_map(|rows| &rows.batches).map(Batch::bytes).sum()
}

fn many(part: &str, count: usize) -> String {
    vec![part; count].join(",")
}

fn bodies() -> Vec<String> {
    let (zeros, times) = (many("0", 5000), many("1763600000000", 5000));
    let notes = (0..5000).map(|row| format!("\"note {row}\"")).collect::<Vec<_>>().join(",");
    vec![
        format!(
            r#"{{"data": {{"activity": {{"timestamp": [{times}], "bpm": [{zeros}], "spo2": [{}]}}}}}}"#,
            many("97.5", 5000)
        ),
        format!(r#"{{"data": {{"activity": {{"bpm": [{}], "timestamp": [{times}], "bpm_q": 9}}}}}}"#, many("-1", 5000)),
        format!(r#"{{"data": {{"tests": {{"note": [{notes}], "timestamp": [{times}], "unit": "kg"}}}}}}"#),
        format!(r#"{{"data": {{"tests": {{"note": [{}], "timestamp": [{times}]}}}}}}"#, many("\"\"", 5000)),
        format!(r#"{{"data": {{"ppg1": [{{"start": 0, "rate_hz": 25, "ppg": [{zeros}]}}]}}}}"#),
        format!(r#"{{"data": {{"activity": [{}]}}}}"#, many(r#"{"timestamp": 1763600000000, "bpm": -60}"#, 5000)),
        format!(r#"{{"data": {{"activity": [{}]}}}}"#, many(r#"{"timestamp": [1, 2], "bpm": [61, 999]}"#, 2500)),
        format!(r#"{{"data": {{"activity": [{}]}}}}"#, many("{}", 5000)),
        format!(r#"{{"data": {{"tests": [{}]}}}}"#, many(r#"{"timestamp": "now", "note": "a text\n"}"#, 5000)),
    ]
}

#[test]
fn the_account_holds_at_least_what_the_rows_take() {
    for text in bodies() {
        let room = Room::without_end();
        let body = read(text.as_bytes(), &room).unwrap();
        let rows: usize = body.data[0].batches.iter().map(|batch| batch.times_us.len()).sum();
        assert_eq!(rows, 5000, "{text:.60}");
        let own = body.data[0].batches.len() * size_of::<Batch>() + 100 * 40;
        assert!(room.used() + own >= taken(&body), "{text:.60}: {} counted of {}", room.used(), taken(&body));
        assert!(room.used() <= 4 * taken(&body), "{text:.60}: {} counted for {}", room.used(), taken(&body));
    }
}

#[test]
fn what_does_not_fit_ends_the_reading() {
    for text in bodies() {
        let memory = UploadMemory::new(16 << 10, 16 << 10);
        let room = memory.enter(1, 0).unwrap();
        assert_eq!(read(text.as_bytes(), &room).unwrap_err(), BodyError::NoRoom(NoRoom::AtAll), "{text:.60}");
        let memory = UploadMemory::new(1 << 20, 1 << 20);
        let other = memory.enter(2, 0).unwrap();
        other.take((1 << 20) - (8 << 10)).unwrap();
        let room = memory.enter(1, 0).unwrap();
        assert_eq!(read(text.as_bytes(), &room).unwrap_err(), BodyError::NoRoom(NoRoom::JustNow), "{text:.60}");
    }
}

#[test]
fn a_column_ends_when_it_is_longer_than_the_first() {
    let long = many("\"\"", 1_000_000);
    let text = format!(r#"{{"data": {{"tests": {{"timestamp": [1763600000000], "note": [{long}]}}}}}}"#);
    let room = Room::without_end();
    let Err(BodyError::Structure { place, message }) = read(text.as_bytes(), &room) else { panic!("read") };
    assert_eq!((place.as_str(), message.as_str()), ("data.tests.note", "has another length than the 1 rows before it"));
    // A text of a million rows would be sixteen million bytes.
    assert!(room.used() < 4 << 20, "{}", room.used());
}

#[test]
fn rows_end_when_there_are_more_than_one_sync_may_bring() {
    let place = Place::of_body(b"", &Room::without_end());
    for (data_type, most) in [(DataType::Activity, 1 << 23), (DataType::Ppg1, 44_236_800)] {
        place.enter_type(data_type);
        assert!(place.count_rows::<serde_json::Error>(data_type, most).is_ok());
        assert!(place.count_rows::<serde_json::Error>(data_type, 1).is_err());
    }
    let (at, message) = place.fault.into_inner().unwrap();
    assert_eq!(at, "data.activity", "the first fault");
    assert!(message.contains("8388608") && message.contains("send them in several"), "{message}");
}

#[test]
fn rows_without_a_known_field_count() {
    let text = format!(r#"{{"data": {{"activity": [{}]}}}}"#, many("{}", 10_000));
    let room = Room::without_end();
    let body = read(text.as_bytes(), &room).unwrap();
    assert_eq!(body.data[0].batches[0].times_us.len(), 10_000);
    assert!(room.used() >= 10_000 * size_of::<i64>(), "{}", room.used());
}

#[test]
fn fields_that_are_no_rows_are_short() {
    let text = format!(r#"{{"device": [{}], "data": {{}}}}"#, many("[]", 100_000));
    let room = Room::without_end();
    let Err(BodyError::Structure { place, message }) = read(text.as_bytes(), &room) else { panic!("read") };
    assert_eq!((place.as_str(), message.as_str()), ("device", "is too long"));
}
