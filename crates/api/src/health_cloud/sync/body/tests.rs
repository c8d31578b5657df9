use super::*;
use vitals::block::Cells;
use vitals::intake::NO_TIME;
use vitals::registry::CellError;

fn structure(body: &str) -> (String, String) {
    match read(body.as_bytes()) {
        Err(BodyError::Structure { place, message }) => (place, message),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn columns_blocks_and_rows_give_the_same_cells() {
    let columns = r#"{"data": {"activity": {"timestamp": [1000, 2000], "bpm": [61, null], "bpm_q": 4}}}"#;
    let blocks = r#"{"data": {"activity": [
        {"start": 1000, "rate_hz": 1, "bpm": [61, null], "bpm_q": 4, "date": "1970-01-01T00:00:01Z"}]}}"#;
    let rows = r#"{"data": {"activity": [
        {"timestamp": 1000, "date": "1970-01-01T00:00:01Z", "bpm": 61, "bpm_q": 4},
        {"timestamp": 2000, "bpm_q": 4, "bpm": null}]}}"#;
    let read_one = |text: &str| read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    for text in [columns, blocks, rows] {
        let batch = read_one(text);
        assert_eq!(batch.times_us, [1_000_000, 2_000_000], "{text}");
        assert_eq!(batch.columns[0], Cells::Values(vec![61, vitals::registry::NULL]), "{text}");
        assert_eq!(batch.columns[1], Cells::Constant(4), "{text}");
    }
}

#[test]
fn rows_and_blocks_may_be_mixed_and_keep_their_order() {
    let text = r#"{"data": {"rr-interval": [
        {"timestamp": 1, "rr": 800.5}, {"timestamp": [2, 3], "rr": [801, 802]}, {"timestamp": 4.25, "rr": 803}]}}"#;
    let body = read(text.as_bytes()).unwrap();
    let times: Vec<Vec<i64>> = body.data[0].batches.iter().map(|batch| batch.times_us.clone()).collect();
    assert_eq!(times, [vec![1000], vec![2000, 3000], vec![4250]]);
    assert_eq!(body.data[0].batches[0].columns[0], Cells::Constant(800_500));
}

#[test]
fn faulty_structure_is_told_with_its_place() {
    let cases = [
        ("[]", "body"),
        (r#"{"data": 5}"#, "data"),
        (r#"{"data": {"activity": 5}}"#, "data.activity"),
        (r#"{"data": {"sleep": {"timestamp": [], "quality": []}, "activity": [5]}}"#, "data.activity"),
        (r#"{"data": {"activity": [{"timestamp": 1, "date": ["2025"]}]}}"#, "data.activity.date"),
        (r#"{"data": {}, "device": {"serial_number": "[[[[", "battery": "\"[["}}"#, "device"),
        (r"{}", "data"),
        (r#"{"data": {}, "dat": 1}"#, "dat"),
        (r#"{"data": {}, "data": {}}"#, "data"),
        (r#"{"time_zone": 5, "data": {}}"#, "time_zone"),
        (r#"{"device": {"serial": "x"}, "data": {}}"#, "device"),
        (r#"{"data": {"heart-rate": {}}}"#, "data.heart-rate"),
        (r#"{"data": {"activity": {"timestamp": [1], "pulse": [60]}}}"#, "data.activity.pulse"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": ["60"]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": [[60]]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": {}}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": true}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1, 2], "bpm": [60]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": 1, "bpm": [60]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": ["1"], "bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": {"bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": {"timestamp": [1], "start": 1, "bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": 25, "ppg": 5}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"ppg1": [{"start": "1", "rate_hz": 25, "ppg": [5]}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": 0, "ppg": [5]}]}}"#, "data.ppg1.rate_hz"),
        (r#"{"data": {"tests": [{"timestamp": 1, "test_type": 5, "value": 1}]}}"#, "data.tests.test_type"),
    ];
    for (text, place) in cases {
        assert_eq!(structure(text).0, place, "{text}");
    }
}

#[test]
fn what_is_not_json_is_a_fault_of_syntax() {
    let deep = "[".repeat(10_000);
    let deep_under_column = format!(r#"{{"data": {{"activity": {{"bpm": {deep}"#);
    let closed = "]".repeat(10_000);
    let deep_date = format!(r#"{{"data": {{"activity": [{{"timestamp": 1, "date": {deep}{closed}}}]}}}}"#);
    let texts = ["", "{", "{\"data\": NaN}", "{\"data\": {}} {}", "\u{feff}{}", &deep, &deep_under_column, &deep_date];
    for text in texts {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(&error, BodyError::Syntax(_)), "{text:.40}: {error:?}");
    }
    assert!(matches!(read(b"{\"data\": {\"activity\": {\"bpm\": [\xff]}}}"), Err(BodyError::Syntax(_))));
}

#[test]
fn values_out_of_range_are_noted_for_their_row() {
    let text = r#"{"data": {"activity": {"timestamp": [1, null, 1e300, -5, 3.5],
        "bpm": [60, 256, -1, 1e300, 99999999999999999999], "wearing": 9}}}"#;
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    assert_eq!(batch.times_us, [1000, NO_TIME, i64::MAX, -5000, 3500]);
    let bpm_rows: Vec<u32> = batch.faults.iter().filter(|fault| fault.column == "bpm").map(|fault| fault.row).collect();
    assert_eq!(bpm_rows, [1, 2, 3, 4]);
    assert_eq!(batch.faults.iter().filter(|fault| fault.column == "wearing").count(), 5);
    assert!(batch.faults.iter().all(|fault| fault.error == CellError::OutOfRange));
}
