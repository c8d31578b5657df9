use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int8Type, Int16Type, UInt8Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt64Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType as ArrowType, Field, Schema};
use proptest::prelude::*;
use vitals::block::{Block, Cells};
use vitals::intake::{Accepted, Batch, EARLIEST_US, Intake};
use vitals::merge::{admit, in_time_order};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneName;

use super::*;
use crate::random_blocks::{DAY_START_US, blocks_of, data_types};

fn utc() -> ZoneName {
    "UTC".into()
}

fn read(data_type: DataType, batch: &RecordBatch, zone: &ZoneName) -> Result<Batch, StructureFault> {
    read_batch(data_type, batch, zone, &mut SharedTexts::within(batch.get_array_memory_size()))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn times(rows: i64) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from_iter_values((0..rows).map(|row| DAY_START_US + row * 1000)))
}

/// One column with as many times as it has rows.
fn column(name: &str, array: impl arrow_array::Array + 'static) -> RecordBatch {
    batch(vec![(TIMESTAMP, times(array.len() as i64)), (name, Arc::new(array))])
}

fn accept(data_type: DataType, batch: &RecordBatch) -> Accepted {
    accept_in(data_type, batch, &utc())
}

fn accept_in(data_type: DataType, batch: &RecordBatch, zone: &ZoneName) -> Accepted {
    let mut intake = Intake::new(data_type, DAY_START_US);
    intake.push(read(data_type, batch, zone).unwrap(), zone);
    intake.finish()
}

fn fault(data_type: DataType, batch: &RecordBatch) -> StructureFault {
    read(data_type, batch, &utc()).unwrap_err()
}

fn rejected(accepted: &Accepted) -> Vec<(u64, &str, &str)> {
    accepted.rejections.iter().map(|row| (row.index, row.column, row.reason.as_str())).collect()
}

/// Returns the cells that a column of an array becomes, and the rows that are refused.
fn cells(data_type: DataType, name: &str, array: impl arrow_array::Array + 'static) -> (Vec<i32>, Vec<usize>) {
    let accepted = accept(data_type, &column(name, array));
    let cells = accepted.blocks.first().map(|block| (0..block.rows()).map(|row| block.column(name).get(row)).collect());
    (cells.unwrap_or_default(), accepted.rejections.iter().map(|row| row.index as usize).collect())
}

/// Returns what arrives when batches are sent as an Arrow stream.
fn through_ipc(data_type: DataType, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let mut writer = StreamWriter::try_new(Vec::new(), &arrow_schema(data_type)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    let stream = writer.into_inner().unwrap();
    StreamReader::try_new(stream.as_slice(), None).unwrap().collect::<Result<_, _>>().unwrap()
}

fn simplified(mut block: Block) -> Block {
    block.columns = block.columns.into_iter().map(Cells::simplified).collect();
    block
}

fn sorted(blocks: Vec<Block>) -> Vec<Block> {
    blocks.into_iter().map(|block| in_time_order(block).block).collect()
}

/// Returns a decimal as it is written by hand, without zeros at its end.
fn decimal_text(cell: i32, decimals: u8) -> String {
    let digits = format!("{:0>width$}", cell.unsigned_abs(), width = usize::from(decimals) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(decimals));
    let fraction = fraction.trim_end_matches('0');
    let sign = if cell < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What is read as an Arrow stream can be sent back, and nothing of it is stored twice.
    #[test]
    fn answers_can_be_sent_back(
        blocks in data_types().prop_flat_map(|data_type| blocks_of(data_type, 60)),
        max_rows in 1_usize..200,
    ) {
        let data_type = blocks[0].data_type;
        let answer = record_batches(data_type, &blocks.iter().collect::<Vec<_>>(), max_rows).unwrap();
        let answered: usize = answer.iter().map(RecordBatch::num_rows).sum();
        prop_assert_eq!(answered, blocks.iter().map(Block::rows).sum::<usize>());

        let tokyo: ZoneName = "Asia/Tokyo".into();
        let mut intake = Intake::new(data_type, DAY_START_US);
        for batch in through_ipc(data_type, &answer) {
            intake.push(read(data_type, &batch, &tokyo).unwrap(), &tokyo);
        }
        let back = intake.finish();
        prop_assert_eq!(back.rejected, 0);
        let back: Vec<Block> = sorted(back.blocks).into_iter().map(simplified).collect();
        prop_assert_eq!(&back, &blocks);
        for (stored, sent) in blocks.iter().zip(back) {
            let rows = sent.rows() as u64;
            prop_assert_eq!(admit(stored, sent, &Block::empty(stored.data_type, stored.channel)).duplicate, rows);
        }
    }

    /// Rows are in the order of time, then of the channel, and batches are only cut.
    #[test]
    fn answers_are_in_order(blocks in blocks_of(DataType::Tests, 30), max_rows in 1_usize..20) {
        let blocks: Vec<&Block> = blocks.iter().collect();
        let whole = record_batch(DataType::Tests, &blocks).unwrap();
        let mut wanted: Vec<(i64, Channel)> =
            blocks.iter().flat_map(|block| block.times_us.iter().map(|time| (*time, block.channel))).collect();
        wanted.sort();
        let rows = RowsOfBatch { batch: &whole, rows: 0..whole.num_rows() };
        let read = block_of_rows(DataType::Tests, Channel::default(), &[rows]).unwrap();
        let found: Vec<(i64, Channel)> =
            (0..read.rows()).map(|row| (read.times_us[row], Channel::of_test(read.columns[0].get(row)))).collect();
        prop_assert_eq!(found, wanted);

        let parts = record_batches(DataType::Tests, &blocks, max_rows).unwrap();
        prop_assert!(parts.iter().all(|part| part.num_rows() <= max_rows));
        let mut row = 0;
        for part in parts {
            prop_assert_eq!(&whole.slice(row, part.num_rows()), &part);
            row += part.num_rows();
        }
        prop_assert_eq!(row, whole.num_rows());
    }

    /// Floats print as the decimals that were stored, and lead back to them.
    #[test]
    fn decimals_are_the_floats_that_print_as_they_do(of_range in proptest::collection::vec(0.0..=1.0_f64, 1..40)) {
        for data_type in DataType::ALL {
            for (position, column) in data_type.columns().iter().enumerate().filter(|(_, column)| column.decimals() > 0) {
                let vitals::registry::Kind::Number { min, max, .. } = column.kind else { continue };
                let steps = column.steps_per_unit();
                let (least, most) = (f64::from(min * steps), f64::from(max * steps));
                let at = |part: &f64| (least + part * (most - least)).round() as i32;
                let mut cells: Vec<i32> = of_range.iter().map(at).chain([min * steps, max * steps, 0, 1]).collect();
                cells.extend(column.nullable.then_some(NULL));
                let mut block = Block::empty(data_type, Channel::default());
                block.times_us = (0..cells.len() as i64).collect();
                block.zones = vitals::zone::ZoneRuns::constant(utc(), cells.len());
                block.columns[position] = Cells::Values(cells.clone());
                for (required, _) in data_type.columns().iter().enumerate().filter(|(_, column)| !column.nullable) {
                    if required != position {
                        block.columns[required] = Cells::Constant(1);
                    }
                }
                let batch = record_batch(data_type, &[&block]).unwrap();
                let floats = batch.column(position + 1).as_primitive::<Float64Type>();
                for (row, cell) in cells.iter().enumerate() {
                    let expected = (*cell != NULL).then(|| decimal_text(*cell, column.decimals()));
                    let found = floats.iter().nth(row).flatten().map(|float| float.to_string());
                    prop_assert_eq!(found, expected);
                }
                let rows = RowsOfBatch { batch: &batch, rows: 0..batch.num_rows() };
                let back = block_of_rows(data_type, Channel::default(), &[rows]).unwrap();
                prop_assert_eq!(&back.columns[position], &Cells::Values(cells));
            }
        }
    }

    /// The fast way of a column without a fault gives what judging each row gives.
    #[test]
    fn columns_are_judged_like_rows(values in proptest::collection::vec(any::<i32>().prop_map(|value| value % 300), 1..40)) {
        let (as_integers, refused) = cells(DataType::Activity, "respiration_rate", Int32Array::from(values.clone()));
        let floats: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let (as_floats, refused_floats) = cells(DataType::Activity, "respiration_rate", Float64Array::from(floats));
        prop_assert_eq!(&as_integers, &as_floats);
        prop_assert_eq!(&refused, &refused_floats);
        let outside: Vec<usize> = (0..values.len()).filter(|row| !(0..=255).contains(&values[*row])).collect();
        prop_assert_eq!(refused, outside);
        let inside: Vec<i32> = values.into_iter().filter(|value| (0..=255).contains(value)).map(|value| value * 10).collect();
        prop_assert_eq!(as_integers, inside);
    }
}

#[test]
fn times_of_any_unit_become_microseconds() {
    let sent = |array: ArrayRef| read(DataType::Sleep, &batch(vec![(TIMESTAMP, array)]), &utc()).unwrap().times_us;
    assert_eq!(sent(Arc::new(Int64Array::from(vec![1_763_600_000_000]))), [1_763_600_000_000_000]);
    assert_eq!(sent(Arc::new(UInt64Array::from(vec![1_763_600_000_000]))), [1_763_600_000_000_000]);
    assert_eq!(sent(Arc::new(TimestampSecondArray::from(vec![-2]))), [-2_000_000]);
    assert_eq!(sent(Arc::new(TimestampMillisecondArray::from(vec![5]).with_timezone("Asia/Tokyo"))), [5_000]);
    assert_eq!(sent(Arc::new(TimestampMicrosecondArray::from(vec![7]))), [7]);
    assert_eq!(sent(Arc::new(TimestampNanosecondArray::from(vec![1999, -1]))), [1, -1]);
}

#[test]
fn bad_times_refuse_their_rows() {
    let (first, last) = (EARLIEST_US / 1000, DAY_START_US / 1000 + 86_400_000);
    let times = Int64Array::from(vec![Some(first), None, Some(i64::MAX), Some(i64::MIN), Some(last), Some(last + 1)]);
    let accepted = accept(DataType::Sleep, &batch(vec![(TIMESTAMP, Arc::new(times))]));
    assert_eq!(accepted.blocks[0].times_us, [first * 1000, last * 1000]);
    let (ahead, no_time) = ("more than 24 h ahead", "there is no time");
    let named = [(1, no_time), (2, ahead), (3, no_time), (5, ahead)];
    assert_eq!(rejected(&accepted), named.map(|(row, reason)| (row, TIMESTAMP, reason)));
}

#[test]
fn numbers_of_any_width_are_read_in_the_columns_unit() {
    let ppg2 = |array: ArrayRef| {
        let accepted = accept(DataType::Ppg2, &batch(vec![(TIMESTAMP, times(2)), ("value", array)]));
        assert_eq!(accepted.rejected, 0);
        accepted.blocks[0].column("value").clone()
    };
    let wanted = Cells::Values(vec![7, 100]);
    assert_eq!(ppg2(Arc::new(Int16Array::from(vec![7, 100]))), wanted);
    assert_eq!(ppg2(Arc::new(UInt16Array::from(vec![7, 100]))), wanted);
    assert_eq!(ppg2(Arc::new(UInt8Array::from(vec![7, 100]))), wanted);
    assert_eq!(ppg2(Arc::new(Float32Array::from(vec![7.2, 99.9]))), wanted);
    assert_eq!(ppg2(Arc::new(Int64Array::from(vec![65535, 65535]))), Cells::Constant(65535));

    let ecg =
        |array: ArrayRef| accept(DataType::Ecg, &batch(vec![(TIMESTAMP, times(2)), ("ecg", array)])).blocks[0].clone();
    let exact = Decimal128Array::from(vec![1250, -7]).with_precision_and_scale(9, 3).unwrap();
    assert_eq!(ecg(Arc::new(exact)).column("ecg"), &Cells::Values(vec![1250, -7]));
    let finer = Decimal128Array::from(vec![12_345, -12_355]).with_precision_and_scale(9, 4).unwrap();
    assert_eq!(ecg(Arc::new(finer)).column("ecg"), &Cells::Values(vec![1235, -1236]));
    let coarser = Decimal128Array::from(vec![12, -3]).with_precision_and_scale(9, 0).unwrap();
    assert_eq!(ecg(Arc::new(coarser)).column("ecg"), &Cells::Values(vec![12_000, -3_000]));
}

#[test]
fn values_that_fit_nowhere_refuse_their_rows() {
    let floats = Float64Array::from(vec![Some(1.0), Some(f64::NAN), Some(f64::INFINITY), None, Some(65535.4)]);
    assert_eq!(cells(DataType::Ppg2, "value", floats), (vec![1, NULL, 65535], vec![1, 2]));
    let integers = UInt64Array::from(vec![u64::MAX, 3]);
    assert_eq!(cells(DataType::Ppg2, "value", integers), (vec![3], vec![0]));
    let decimals = Decimal128Array::from(vec![i128::MAX, 5]).with_precision_and_scale(38, -3).unwrap();
    assert_eq!(cells(DataType::Bioz, "value", decimals), (vec![5000], vec![0]));
    let nulls_under_values = Int32Array::new(vec![70_000, 4].into(), Some(vec![false, true].into()));
    assert_eq!(cells(DataType::Ppg2, "value", nulls_under_values), (vec![NULL, 4], vec![]));
}

#[test]
fn booleans_go_where_a_column_is_zero_or_one() {
    assert_eq!(cells(DataType::Activity, "charging", BooleanArray::from(vec![true, false])), (vec![1, 0], vec![]));
    let elsewhere = column("bpm", BooleanArray::from(vec![true]));
    assert_eq!(fault(DataType::Activity, &elsewhere), StructureFault::WrongKind("bpm".to_owned()));
}

#[test]
fn codes_come_as_text_or_as_integers() {
    for array in [
        Arc::new(StringArray::from(vec!["0x7e", "0x7E"])) as ArrayRef,
        Arc::new(LargeStringArray::from(vec!["0x7e", "0X7e"])),
        Arc::new(StringViewArray::from(vec!["0x7e", "0x7e"])),
        Arc::new(Int16Array::from(vec![126, 126])),
        Arc::new(Float64Array::from(vec![126.0, 126.0])),
        Arc::new(vec!["0x7e", "0x7e"].into_iter().collect::<DictionaryArray<Int8Type>>()),
        Arc::new(DictionaryArray::<UInt8Type>::new(vec![0, 0].into(), Arc::new(Int64Array::from(vec![126])))),
    ] {
        let accepted = accept(DataType::Ppg2, &batch(vec![(TIMESTAMP, times(2)), ("metric_id", array)]));
        assert_eq!(accepted.blocks.len(), 1);
        assert_eq!(accepted.blocks[0].channel, Channel::of_ppg2(0x7e, NULL));
    }
    let kinds = |array: ArrayRef| {
        let value: ArrayRef = Arc::new(Float64Array::from(vec![37.2, 37.2]));
        let batch = batch(vec![(TIMESTAMP, times(2)), ("test_type", array), ("value", value)]);
        let accepted = accept(DataType::Tests, &batch);
        (accepted.blocks.first().map(|block| block.channel), accepted.rejected)
    };
    assert_eq!(kinds(Arc::new(StringArray::from(vec!["temperature", "fever"]))), (Some(Channel::of_test(3)), 1));
    assert_eq!(kinds(Arc::new(Int64Array::from(vec![3, 9]))), (Some(Channel::of_test(3)), 1));
    assert_eq!(kinds(Arc::new(NullArray::new(2))), (None, 2));
}

#[test]
fn a_dictionary_of_numbers_is_judged_by_its_entries() {
    let entries = Arc::new(Int32Array::from(vec![Some(70_000), Some(5), None]));
    let keys = Int16Array::from(vec![Some(1), Some(0), None, Some(2), Some(1)]);
    let array = DictionaryArray::<Int16Type>::new(keys, entries);
    assert_eq!(cells(DataType::Ppg2, "value", array), (vec![5, NULL, NULL, 5], vec![1]));
}

#[test]
fn structure_faults_name_their_column() {
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let with = |name: &str, array: &ArrayRef| batch(vec![(TIMESTAMP, times(1)), (name, array.clone())]);
    assert_eq!(fault(DataType::Ppg2, &with("colour", &number)), StructureFault::UnknownColumn("colour".to_owned()));
    assert_eq!(fault(DataType::Ppg2, &with("value", &text)), StructureFault::WrongKind("value".to_owned()));
    assert_eq!(fault(DataType::Tests, &with("note", &number)), StructureFault::WrongKind("note".to_owned()));
    assert_eq!(fault(DataType::Ppg2, &with(ZONE, &number)), StructureFault::WrongKind(ZONE.to_owned()));
    assert_eq!(fault(DataType::Ppg2, &batch(vec![("value", number)])), StructureFault::NoTimestamp);
    assert_eq!(
        fault(DataType::Ppg2, &batch(vec![(TIMESTAMP, text.clone())])),
        StructureFault::WrongKind(TIMESTAMP.to_owned())
    );
    let twice = batch(vec![(TIMESTAMP, times(1)), (TIMESTAMP, times(1))]);
    assert_eq!(fault(DataType::Ppg2, &twice), StructureFault::RepeatedColumn(TIMESTAMP.to_owned()));
    let nowhere: ArrayRef = Arc::new(StringArray::from(vec!["Mars/Phobos"]));
    assert_eq!(fault(DataType::Ppg2, &with(ZONE, &nowhere)), StructureFault::UnknownZone("Mars/Phobos".to_owned()));
    assert_eq!(accept(DataType::Ppg2, &with("date", &text)).rejected, 0);
}

#[test]
fn a_zone_column_names_the_zone_of_each_row() {
    let zones: ArrayRef = Arc::new(StringArray::from(vec![Some("Asia/Tokyo"), None, Some("Asia/Tokyo"), Some("UTC")]));
    let metric: ArrayRef = Arc::new(StringArray::from(vec!["0x7e", "0x7c", "0x7e", "0x7e"]));
    let batch = batch(vec![(TIMESTAMP, times(4)), ("metric_id", metric), (ZONE, zones)]);
    let accepted = accept_in(DataType::Ppg2, &batch, &"Europe/Zurich".into());
    let names = |block: &Block| (0..block.rows()).map(|row| block.zone_of(row).to_string()).collect::<Vec<_>>();
    assert_eq!(names(&accepted.blocks[0]), ["Europe/Zurich"]);
    assert_eq!(names(&accepted.blocks[1]), ["Asia/Tokyo", "Asia/Tokyo", "UTC"]);
}

#[test]
fn spot_measurements_are_held_to_their_unit() {
    let kinds: ArrayRef =
        Arc::new(StringArray::from(vec!["temperature", "temperature", "temperature", "glucose", "other"]));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![37.2, 98.6, 37.0, 90.0, 1.0]));
    let units: ArrayRef = Arc::new(StringArray::from(vec![None, None, Some("°F"), Some("mg/dL"), Some("dB")]));
    let accepted = accept(
        DataType::Tests,
        &batch(vec![(TIMESTAMP, times(5)), ("test_type", kinds), ("value", values), ("unit", units)]),
    );
    let wanted = [
        (1, "value", "not plausible for temperature: must be 20 to 45 °C"),
        (2, "unit", "not a unit of temperature: must be °C"),
    ];
    assert_eq!(rejected(&accepted), wanted);
    let units: Vec<&str> =
        accepted.blocks.iter().filter_map(|block| block.column("unit").text(0)).map(|unit| &**unit).collect();
    assert_eq!(units, ["°C", "mg/dL", "dB"]);
}

#[test]
fn every_refused_row_is_counted_once_and_the_first_hundred_are_named() {
    let rows = 500_i32;
    let value: ArrayRef =
        Arc::new(Int32Array::from_iter_values((0..rows).map(|row| if row % 2 == 0 { 70_000 } else { 1 })));
    let quality: ArrayRef =
        Arc::new(Int32Array::from_iter_values((0..rows).map(|row| if row % 3 == 0 { 999 } else { 1 })));
    let batch = batch(vec![(TIMESTAMP, times(i64::from(rows))), ("value", value), ("quality", quality)]);
    let accepted = accept(DataType::Ppg2, &batch);
    let bad: Vec<usize> = (0..rows as usize).filter(|row| row % 2 == 0 || row % 3 == 0).collect();
    assert_eq!(accepted.rejected, bad.len() as u64);
    assert_eq!(accepted.rejections.iter().map(|row| row.index as usize).collect::<Vec<_>>(), bad[..100]);
    assert_eq!(accepted.blocks[0].rows(), rows as usize - bad.len());
}

#[test]
fn long_texts_are_refused_by_characters_and_not_bytes() {
    let kinds: ArrayRef = Arc::new(StringArray::from(vec!["other", "other"]));
    let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 1]));
    let notes: ArrayRef = Arc::new(StringArray::from(vec!["ä".repeat(1000), "ä".repeat(1001)]));
    let accepted = accept(
        DataType::Tests,
        &batch(vec![(TIMESTAMP, times(2)), ("test_type", kinds), ("value", values), ("note", notes)]),
    );
    assert_eq!(rejected(&accepted), [(1, "note", "text too long: must be at most 1000 characters")]);
}

#[test]
fn only_flat_columns_are_taken() {
    let data_type = |arrow_type| {
        check_schema(DataType::Ppg2, &Schema::new(vec![Field::new("date", arrow_type, true)])).map_err(|fault| {
            assert_eq!(fault, StructureFault::WrongKind("date".to_owned()));
        })
    };
    let dictionary_of = |value| ArrowType::Dictionary(Box::new(ArrowType::Int8), Box::new(value));
    let field = Arc::new(Field::new("item", ArrowType::Int8, true));
    let flat = [ArrowType::Null, ArrowType::Utf8View, ArrowType::Float16, dictionary_of(ArrowType::Utf8)];
    assert!(flat.into_iter().all(|arrow_type| data_type(arrow_type).is_ok()));
    let others = [
        ArrowType::List(field.clone()),
        ArrowType::FixedSizeList(field.clone(), 2),
        ArrowType::Struct(vec![field.clone()].into()),
        ArrowType::RunEndEncoded(Arc::new(Field::new("ends", ArrowType::Int32, false)), field.clone()),
        dictionary_of(ArrowType::Null),
        dictionary_of(dictionary_of(ArrowType::Utf8)),
        dictionary_of(ArrowType::List(field)),
    ];
    assert!(others.into_iter().all(|arrow_type| data_type(arrow_type).is_err()));
}

#[test]
fn overlapping_views_hold_no_more_text_than_was_sent() {
    let text = "a note that every row sees another part of, and all together are more than was sent";
    let mut notes = StringViewBuilder::new();
    let block = notes.append_block(text.as_bytes().into());
    for row in 0..40 {
        notes.try_append_view(block, row, 40).unwrap();
    }
    let (kinds, values) = (StringArray::from(vec!["other"; 40]), Int32Array::from(vec![1; 40]));
    let batch = batch(vec![
        (TIMESTAMP, times(40)),
        ("test_type", Arc::new(kinds)),
        ("value", Arc::new(values)),
        ("note", Arc::new(notes.finish())),
    ]);
    let read = |bytes| read_batch(DataType::Tests, &batch, &utc(), &mut SharedTexts::within(bytes));
    assert_eq!(read(40 * 40).unwrap().times_us.len(), 40);
    assert_eq!(read(40 * 40 - 1).unwrap_err(), StructureFault::WrongKind("note".to_owned()));
}

#[test]
fn a_row_has_one_fault_however_many_of_its_values_are_wrong() {
    let wrong: ArrayRef = Arc::new(Int32Array::from(vec![-1, 1, -1]));
    let batch = batch(vec![(TIMESTAMP, times(3)), ("value", wrong.clone()), ("gain", wrong)]);
    let faults = read(DataType::Ppg2, &batch, &utc()).unwrap().faults;
    let found: Vec<(u32, &str)> = faults.iter().map(|fault| (fault.row, fault.column)).collect();
    assert_eq!(found, [(0, "gain"), (2, "gain")]);
}

#[test]
fn a_dictionary_larger_than_its_batch_is_read_by_its_rows() {
    let entries: ArrayRef = Arc::new(Int32Array::from(vec![Some(70_000), None, Some(5), Some(6), Some(7), Some(8)]));
    let keys = Int16Array::from(vec![Some(1), Some(0), None, Some(2)]);
    let array = DictionaryArray::<Int16Type>::new(keys, entries);
    assert_eq!(cells(DataType::Ppg2, "value", array), (vec![NULL, NULL, 5], vec![1]));
}

#[test]
fn an_empty_batch_has_no_blocks() {
    let empty = record_batch(DataType::Ppg2, &[]).unwrap();
    assert!(accept(DataType::Ppg2, &empty).blocks.is_empty());
    assert!(record_batches(DataType::Ppg2, &[], 10).unwrap().is_empty());
}
