use std::sync::Arc;

use arrow_array::types::Int16Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int16Array, Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};

use super::*;

/// A number of rows that nothing else in a stream looks like.
const ROWS: i64 = 0x3a5;

fn stream_of(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn times() -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| 1_763_600_000_000 + row)))
}

fn read(data_type: DataType, stream: &Bytes, zone: &ZoneName) -> Result<TypeBatches, BodyError> {
    super::read(data_type, stream, zone, &Room::without_end())
}

fn sleep(bytes: &[u8]) -> Result<TypeBatches, BodyError> {
    read(DataType::Sleep, &Bytes::copy_from_slice(bytes), &"UTC".into())
}

fn refusal(bytes: &[u8]) -> String {
    match sleep(bytes) {
        Err(BodyError::NotArrow(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// Returns the stream with one number in place of another, wherever it is.
fn with_number(stream: &[u8], number: i64, other: i64) -> Vec<u8> {
    let mut changed = stream.to_vec();
    let mut found = 0;
    for at in 0..stream.len() - 7 {
        if stream[at..at + 8] == number.to_le_bytes() {
            changed[at..at + 8].copy_from_slice(&other.to_le_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{number} is not in the stream");
    changed
}

#[test]
fn a_stream_may_lack_its_end_and_lie_anywhere_in_memory() {
    let stream = stream_of(vec![("timestamp", times())]);
    let whole = sleep(&stream).unwrap().batches.remove(0).times_us;
    let without_end = stream.strip_suffix(END_OF_STREAM).expect("the end");
    let with_more = [&stream[..], b"what follows the end is not read"].concat();
    for stream in [without_end, &with_more] {
        assert_eq!(sleep(stream).unwrap().batches[0].times_us, whole);
    }
    for shift in 1..8 {
        let shifted = Bytes::from([&vec![0; shift], &stream[..]].concat()).slice(shift..);
        let batches = read(DataType::Sleep, &shifted, &"UTC".into()).unwrap().batches;
        assert_eq!(batches[0].times_us, whole, "{shift} bytes off");
    }
}

#[test]
fn batches_without_rows_are_left_out() {
    let stream = stream_of(vec![("timestamp", Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef)]);
    assert!(sleep(&stream).unwrap().batches.is_empty());
    let stream = stream_of(vec![("timestamp", times())]);
    assert_eq!(sleep(&stream).unwrap().batches[0].times_us.len(), ROWS as usize);
}

#[test]
fn what_a_stream_claims_is_held_to_its_bytes() {
    let stream = stream_of(vec![("timestamp", times()), ("quality", Arc::new(NullArray::new(ROWS as usize)))]);
    assert!(sleep(&stream).is_ok());
    let bytes = ROWS * 8;
    let cases = [
        (ROWS, 1 << 60, "a batch has more rows than bits"),
        (ROWS, -1, "a batch has more rows than bits"),
        (bytes, 1 << 60, "a buffer reaches beyond its message"),
        (bytes, -1, "a buffer has no place"),
    ];
    for (number, other, message) in cases {
        assert_eq!(refusal(&with_number(&stream, number, other)), message);
    }
    // More rows than the times have bytes for: the reader notices.
    assert!(!refusal(&with_number(&stream, ROWS, ROWS + 1)).is_empty());
    let reported = sleep(b"").unwrap_err().to_string();
    assert_eq!(reported, "the body is not an Arrow stream: it is empty");
}

#[test]
fn columns_that_share_bytes_are_refused() {
    let stream = stream_of(vec![("timestamp", times()), ("quality", times())]);
    assert!(sleep(&stream).is_ok());
    // The second column's values begin where the first one's do.
    let offset = ROWS * 8;
    let padded = (offset + 63) / 64 * 64;
    let shared = with_number(&stream, padded, 0);
    let stretched = with_number(&shared, offset, padded + offset);
    assert_eq!(refusal(&stretched), "buffers share bytes");
}

#[test]
fn a_buffer_that_ends_amid_a_value_is_refused() {
    const ENTRIES: i64 = 0x155;
    let rows = 0..ROWS as usize;
    let texts = || std::iter::repeat_n("Asia/Tokyo", ENTRIES as usize);
    let keys = || Int16Array::from_iter_values(rows.clone().map(|row| row as i16 % ENTRIES as i16));
    let dictionary = |entries: ArrayRef| -> ArrayRef { Arc::new(DictionaryArray::<Int16Type>::new(keys(), entries)) };
    let cases: [(ArrayRef, i64); 4] = [
        (Arc::new(StringViewArray::from_iter_values(rows.clone().map(|_| "Europe/Zurich"))), ROWS * 16),
        (dictionary(Arc::new(StringViewArray::from_iter_values(texts()))), ENTRIES * 16),
        (dictionary(Arc::new(LargeStringArray::from_iter_values(texts()))), (ENTRIES + 1) * 8),
        (dictionary(Arc::new(StringArray::from_iter_values(texts()))), ROWS * 2),
    ];
    for (zones, bytes) in cases {
        // A column of another width behind that of the texts, so that its buffer is found there.
        let stream = stream_of(vec![("timestamp", times()), ("zone", zones), ("quality", times())]);
        assert!(sleep(&stream).is_ok());
        assert_eq!(refusal(&with_number(&stream, bytes, bytes - 1)), "a buffer holds a part of a value");
        assert_eq!(refusal(&with_number(&stream, ROWS * 8, ROWS * 8 - 1)), "a buffer holds a part of a value");
    }
}

#[test]
fn a_stream_that_ends_early_is_reported() {
    let stream = stream_of(vec![("timestamp", times())]);
    assert_eq!(refusal(b""), "it is empty");
    assert_eq!(refusal(&[0xff; 3]), "it ends within a message");
    assert_eq!(refusal(&stream[..100]), "it ends within a message");
    assert_eq!(refusal(&stream[..stream.len() - 100]), "a message ends early");
    let mut claims_much = stream.clone();
    claims_much[4..8].copy_from_slice(&i32::MAX.to_le_bytes());
    assert_eq!(refusal(&claims_much), "it ends within a message");
}

#[test]
fn a_long_schema_is_refused() {
    #[expect(clippy::disallowed_types, reason = "Arrow's own type")]
    let metadata = std::collections::HashMap::from([("key".to_owned(), "x".repeat(70_000))]);
    let schema =
        Schema::new(vec![Field::new("timestamp", arrow_schema::DataType::Int64, true)]).with_metadata(metadata);
    let stream = StreamWriter::try_new(Vec::new(), &schema).unwrap().into_inner().unwrap();
    assert_eq!(refusal(&stream), "its schema is too long");
}

#[test]
fn nested_columns_are_refused_before_they_are_decoded() {
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(vec![Some(vec![Some(1)]), None]);
    let times: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let stream = stream_of(vec![("timestamp", times), ("quality", Arc::new(lists))]);
    let refused = BodyError::Structure {
        place: "data.sleep.quality".to_owned(),
        message: "column quality has an Arrow type that it cannot be read from".to_owned(),
    };
    assert_eq!(sleep(&stream).unwrap_err(), refused);
}

#[test]
fn a_panic_of_the_reader_is_a_refusal() {
    let refused = guarded(|| -> Result<(), ArrowError> { panic!("the reader met what it never expected") });
    assert_eq!(refused, Err(BodyError::NotArrow("it contradicts itself".to_owned())));
}
