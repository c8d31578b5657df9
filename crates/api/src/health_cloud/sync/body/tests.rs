use super::*;
use vitals::block::Cells;
use vitals::intake::{Batch, EARLIEST_TIME, NO_TIME, UNREADABLE_TIME};
use vitals::registry::{CellError, NULL};

fn read(bytes: &[u8]) -> Result<SyncBody, BodyError> {
    super::read(bytes, &Room::without_end())
}

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
        assert_eq!(batch.columns[0], Cells::Values(vec![61, NULL]), "{text}");
        assert_eq!(batch.columns[1], Cells::Constant(4), "{text}");
    }
}

#[test]
fn rows_and_blocks_may_be_mixed_and_keep_their_order() {
    let text = r#"{"data": {"rr-interval": [
        {"timestamp": 1, "rr": 800.5}, {"timestamp": [2, 3], "rr": [801, 802]}, {"timestamp": 4.25, "rr": 803}]}}"#;
    let body = read(text.as_bytes()).unwrap();
    // What is short is gathered into one batch.
    let [batch] = &body.data[0].batches[..] else { panic!("not one batch") };
    assert_eq!(batch.times_us, [1000, 2000, 3000, 4250]);
    assert_eq!(batch.columns[0], Cells::Values(vec![800_500, 801_000, 802_000, 803_000]));
}

#[test]
fn a_long_block_between_rows_keeps_the_order() {
    let each = |of: fn(i32) -> i32| (0..100).map(of).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let (times, values) = (each(|row| 10 + row), each(|row| 800 + row));
    let text = format!(
        r#"{{"data": {{"rr-interval": [{{"timestamp": 1, "rr": 700}}, {{"timestamp": [2], "rr": -1, "quality": 4}},
        {{"timestamp": [{times}], "rr": [{values}]}}, {{"timestamp": [500, 501], "rr": [900, -1]}}]}}}}"#
    );
    let body = read(text.as_bytes()).unwrap();
    let times: Vec<&[i64]> = body.data[0].batches.iter().map(|batch| &batch.times_us[..]).collect();
    let long: Vec<i64> = (10..110).map(|ms| ms * 1000).collect();
    assert_eq!(times, [&[1000, 2000], &long[..], &[500_000, 501_000]]);
    let faults = |batch: &Batch| batch.faults.iter().map(|fault| fault.row).collect::<Vec<_>>();
    assert_eq!(body.data[0].batches.iter().map(faults).collect::<Vec<_>>(), [vec![1], vec![], vec![1]]);
    assert_eq!(body.data[0].batches[0].columns[1], Cells::Values(vec![NULL, 4]));
}

#[test]
fn a_constant_that_is_wrong_in_many_columns_is_one_fault_a_row() {
    let zeros = vec!["0"; 1000].join(",");
    let text = format!(
        r#"{{"data": {{"activity": {{"timestamp": [{zeros}], "bpm": -1, "bpm_q": 9, "spo2": -1, "battery": 900}}}}}}"#
    );
    let faults = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0).faults;
    assert_eq!(faults.len(), 1000);
    assert!(faults.iter().all(|fault| fault.column == "bpm"));
}

#[test]
fn rows_that_leave_out_much_take_no_more_than_the_body_allows() {
    // One row gives all columns, and so does each of the many others in memory.
    let columns: Vec<String> =
        DataType::Activity.columns().iter().map(|column| format!("\"{}\": [null]", column.name)).collect();
    let few = format!(r#"{{"timestamp": [{}]}}"#, vec!["0"; 63].join(","));
    let body = |blocks: usize| {
        let blocks = vec![few.as_str(); blocks].join(",");
        format!(r#"{{"data": {{"activity": [{{"timestamp": [0], {}}}, {blocks}]}}}}"#, columns.join(","))
    };
    assert_eq!(read(body(1000).as_bytes()).unwrap().data[0].batches[0].times_us.len(), 63_001);
    assert_eq!(structure(&body(3000)).0, "data.activity");
    // Recordings are far from it, whatever their form.
    let zeros = vec!["0"; 1_500_000].join(",");
    assert!(
        read(format!(r#"{{"data": {{"ppg1": {{"start": 0, "rate_hz": 25, "ppg": [{zeros}]}}}}}}"#).as_bytes()).is_ok()
    );
    let row = r#"{"timestamp": 1763600000000, "bpm": 60}"#;
    let rows = vec![row; 120_000].join(",");
    let all = columns.join(",").replace("[null]", "null");
    let text = format!(r#"{{"data": {{"activity": [{{"timestamp": 1, {all}}}, {rows}]}}}}"#);
    assert!(read(text.as_bytes()).is_ok());
}

#[test]
fn blocks_without_rows_leave_nothing_behind() {
    let empty = vec![r#"{"timestamp": [], "bpm": []}"#; 1000].join(",");
    let body = read(format!(r#"{{"data": {{"activity": [{empty}]}}}}"#).as_bytes()).unwrap();
    assert!(body.data[0].batches.is_empty());
}

#[test]
fn faulty_structure_is_reported_with_its_place() {
    let cases = [
        ("[]", "body"),
        (r#"{"data": 5}"#, "data"),
        (r#"{"data": {"activity": 5}}"#, "data.activity"),
        (r#"{"data": {"sleep": {"timestamp": [], "quality": []}, "activity": [5]}}"#, "data.activity"),
        (r#"{"data": {"activity": [{"timestamp": 1, "date": [["2025"]]}]}}"#, "data.activity.date"),
        (r#"{"data": {"activity": [{"timestamp": 1, "date": {}}]}}"#, "data.activity.date"),
        (r#"{"data": {}, "device": {"serial_number": "[[[[", "battery": "\"[["}}"#, "device"),
        (r"{}", "data"),
        (r#"{"data": {}, "dat": 1}"#, "dat"),
        (r#"{"data": {}, "data": {}}"#, "data"),
        (r#"{"time_zone": 5, "data": {}}"#, "time_zone"),
        (r#"{"device": {"serial": "x"}, "data": {}}"#, "device"),
        (r#"{"device": {"device_type": "x"}, "data": {}}"#, "device.serial_number"),
        (r#"{"device": {"serial_number": 5}, "data": {}}"#, "device.serial_number"),
        (r#"{"device": {"serial_number": "x", "battery_level": 1e400}, "data": {}}"#, "device.battery_level"),
        (r#"{"data": {"activity": [{"bpm": [60]}]}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": [{"start": 5, "bpm": 60}]}}"#, "data.activity.rate_hz"),
        (r#"{"data": {"ppg1": [{"start": 1e400, "rate_hz": 25, "ppg": [5]}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"tests": [{"timestamp": 1, "note": 1e400}]}}"#, "data.tests.note"),
        (r#"{"data": {"heart-rate": {}}}"#, "data.heart-rate"),
        (r#"{"data": {"activity": {"timestamp": [1], "pulse": [60]}}}"#, "data.activity.pulse"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": ["60"]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": [[60]]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": ["\ud800"]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": [60, 17976931348623158e292]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": {}}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1], "bpm": true}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [1, 2], "bpm": [60]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": 1, "bpm": [60]}}}"#, "data.activity.bpm"),
        (r#"{"data": {"activity": {"timestamp": [true], "bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": {"bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": {"timestamp": [1], "start": 1, "bpm": [60]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"ppg1": [{"start": 1, "start": 2, "rate_hz": 25, "ppg": [5]}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": 25, "ppg": 5}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"ppg1": [{"start": "1", "rate_hz": 25, "ppg": [5]}]}}"#, "data.ppg1.start"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": 0, "ppg": [5]}]}}"#, "data.ppg1.rate_hz"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": 100000.5, "ppg": [5]}]}}"#, "data.ppg1.rate_hz"),
        (r#"{"data": {"ppg1": [{"start": 1, "rate_hz": "25", "ppg": [5]}]}}"#, "data.ppg1.rate_hz"),
        (r#"{"data": {"activity": {"bpm": [60], "timestamp": [1, 2]}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": {"timestamp": "noon", "bpm": 60}}}"#, "data.activity.timestamp"),
        (r#"{"data": {"activity": [{"timestamp": "noon", "bpm": [60]}]}}"#, "data.activity.bpm"),
        (r#"{"data": {"tests": [{"timestamp": 1, "test_type": 5, "value": 1}]}}"#, "data.tests.test_type"),
    ];
    for (text, place) in cases {
        assert_eq!(structure(text).0, place, "{text}");
    }
}

#[test]
fn missing_and_unknown_names_are_named_with_what_there_is() {
    for (text, place, message) in [
        (r#"{"data": {"ppg1": [{"start": 1, "ppg": [5]}]}}"#, "data.ppg1.rate_hz", "is missing: start needs it"),
        (r#"{"data": {"ppg1": [{"rate_hz": 25, "ppg": [5]}]}}"#, "data.ppg1.start", "is missing: rate_hz needs it"),
        (r#"{"data": {"mood": []}}"#, "data.mood", "is not a data type: must be activity, "),
        (
            r#"{"data": {"activity": {"bmp": [61]}}}"#,
            "data.activity.bmp",
            "is not a column of this type; did you mean bpm?",
        ),
        (r#"{"data": {"activity": {"mood": [61]}}}"#, "data.activity.mood", "is not a column of this type: must be "),
        (
            r#"{"data": {"activity": {"nibp_diastolic_combin": [61]}}}"#,
            "data.activity.nibp_diastolic_combin",
            "is not a column of this type; did you mean nibp_diastolic_combine?",
        ),
        (
            r#"{"data": {"ppg1": [{"ratehz": 25}]}}"#,
            "data.ppg1.ratehz",
            "is not a column of this type; did you mean rate_hz?",
        ),
        (r#"{"devise": {}, "data": {}}"#, "devise", "is not a field of a sync; did you mean device?"),
        (r#"{"rows": {}, "data": {}}"#, "rows", "is not a field of a sync: must be sync_id, time_zone, device or data"),
        (
            r#"{"device": {"serial_numbr": "a"}, "data": {}}"#,
            "device",
            "has no field serial_numbr; did you mean serial_number?",
        ),
    ] {
        let (at, reason) = structure(text);
        assert_eq!(at, place, "{text}");
        assert!(reason.starts_with(message), "{text}: {reason}");
    }
}

#[test]
fn a_byte_order_mark_and_integers_with_a_point_are_read() {
    let device = r#""device": {"serial_number": "PW-1", "battery_level": 83.0}"#;
    let body = read(format!("\u{feff}{{{device}, \"data\": {{}}}}").as_bytes()).unwrap();
    assert_eq!(body.device.and_then(|device| device.battery_level), Some(83));
    assert_eq!(structure(&format!("{{{}}}", device.replace("83.0", "83.5"))).0, "device.battery_level");
}

#[test]
fn what_is_not_json_is_a_fault_of_syntax() {
    let deep = "[".repeat(10_000);
    let deep_under_column = format!(r#"{{"data": {{"activity": {{"bpm": {deep}"#);
    let closed = "]".repeat(10_000);
    let deep_date = format!(r#"{{"data": {{"activity": [{{"timestamp": 1, "date": {deep}{closed}}}]}}}}"#);
    let texts =
        ["", "{", "{\"data\": NaN}", "{\"data\": {}} {}", "\u{feff}\u{feff}{}", &deep, &deep_under_column, &deep_date];
    for text in texts {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(&error, BodyError::Syntax(_)), "{text:.40}: {error:?}");
    }
    assert!(matches!(read(b"{\"data\": {\"activity\": {\"bpm\": [\xff]}}}"), Err(BodyError::Syntax(_))));
}

#[test]
fn nothing_is_reported_in_the_words_of_the_parser() {
    let message = |body: &str| match read(body.as_bytes()) {
        Err(error) => error.to_string(),
        Ok(body) => panic!("{body:?}"),
    };
    assert_eq!(message("[]"), "body: must be a JSON object");
    assert_eq!(
        message(r#"{"data": {"activity": 5}}"#),
        "data.activity: must be columns, blocks of columns, or rows under data.activity"
    );
    assert_eq!(message(r#"{"data": {}, "device": 5}"#), "device: must be an object");
    assert_eq!(message(r#"{"data": {}, "sync_id": 5}"#), "sync_id: must be a text");
    assert_eq!(message("{\"data\":\n nul}"), "the body is not JSON: line 2, column 5");
    assert_eq!(message("{\"data\":"), "the body is not JSON: it ends too early");
}

#[test]
fn a_row_without_a_time_has_none() {
    let text = r#"{"data": {"activity": [{"bpm": 60}, {"timestamp": 2000, "bpm": 61}, {}, {"timestamp": null}]}}"#;
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    assert_eq!(batch.times_us, [NO_TIME, 2_000_000, NO_TIME, NO_TIME]);
    assert_eq!(batch.columns[0], Cells::Values(vec![60, 61, NULL, NULL]));
}

#[test]
fn a_row_whose_time_is_none_is_at_fault_alone() {
    let text = r#"{"data": {"activity": [{"timestamp": 1000, "bpm": 60}, {"timestamp": "noon", "bpm": 61},
        {"bpm": 999, "timestamp": true}, {"timestamp": 2000, "bpm": 62}]}}"#;
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    assert_eq!(batch.times_us, [1_000_000, UNREADABLE_TIME, UNREADABLE_TIME, 2_000_000]);
    let faults: Vec<_> = batch.faults.iter().map(|fault| (fault.row, fault.column, fault.error)).collect();
    assert_eq!(faults, [(2, "bpm", CellError::OutOfRange)]);
}

#[test]
fn times_in_iso_8601_are_read_to_the_microsecond() {
    let text = r#"{"data": {"activity": {"timestamp": ["2025-11-20T00:53:20Z", 1763600000000.001,
        "2025-11-20T01:53:20.0000014+01:00", "2025-11-20 00:53:20.0000015Z", "2025-11-20T00:53:20", "noon", null,
        "9999-12-31T23:59:59Z", -1e300], "bpm": 60}}}"#;
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    let t = 1_763_600_000_000_000;
    assert_eq!(batch.times_us[..6], [t, t + 1, t + 1, t + 2, UNREADABLE_TIME, UNREADABLE_TIME]);
    assert_eq!((batch.times_us[6], batch.times_us[8]), (NO_TIME, EARLIEST_TIME));
    assert!(batch.times_us[7] > t);
    let blocks = |start: &str| {
        let text = format!(r#"{{"data": {{"ppg1": [{{"start": {start}, "rate_hz": 1000, "ppg": [1, 2]}}]}}}}"#);
        read(text.as_bytes()).map(|mut body| body.data.remove(0).batches.remove(0).times_us)
    };
    let number = blocks("1763600000000.0015").unwrap();
    assert_eq!(number, [t + 2, t + 1002], "half a microsecond counts up");
    assert_eq!(blocks(r#""2025-11-20T01:53:20.0000015\u002b01:00""#).unwrap(), number);
    for wrong in [r#""2025-11-20T01:53:20""#, r#""noon""#, "true", "[1]"] {
        assert!(blocks(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_column_of_dates_is_passed_over() {
    let text =
        r#"{"data": {"activity": {"date": ["2025-11-20T01:00:00+01:00", null], "timestamp": [1, 2], "bpm": 60}}}"#;
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    assert_eq!(batch.times_us, [1000, 2000]);
}

#[test]
fn values_out_of_range_are_noted_for_their_row() {
    let text = r#"{"data": {"activity": {"timestamp": [1, null, 1e300, -5, 3.5],
        "bpm": [60, 256, -1, 1e300, 99999999999999999999], "wearing": 9}}}"#;
    values_are_noted(text);
    // The same with numbers that no f64 holds.
    let text = text.replace("1e300", "1e400").replace("99999999999999999999", &"9".repeat(400));
    values_are_noted(&text);
}

fn values_are_noted(text: &str) {
    let batch = read(text.as_bytes()).unwrap().data.remove(0).batches.remove(0);
    assert_eq!(batch.times_us, [1000, NO_TIME, i64::MAX, -5000, 3500]);
    let rows_of = |column: &str| -> Vec<u32> {
        batch.faults.iter().filter(|fault| fault.column == column).map(|fault| fault.row).collect()
    };
    assert_eq!(rows_of("bpm"), [1, 2, 3, 4]);
    assert_eq!(rows_of("wearing"), [0, 1, 2, 3, 4]);
    assert!(batch.faults.iter().all(|fault| fault.error == CellError::OutOfRange));
}
