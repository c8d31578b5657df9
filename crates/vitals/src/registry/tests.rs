//! What holds for every declaration.

use super::*;

#[test]
fn names_are_unique_and_found_again() {
    for data_type in DataType::ALL {
        assert_eq!(DataType::from_name(data_type.name()), Some(data_type));
        let mut names: Vec<&str> = data_type.columns().iter().map(|column| column.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), data_type.columns().len(), "{}", data_type.name());
    }
    assert_eq!(DataType::from_name("heart-rate"), None);
}

#[test]
fn every_range_fits_its_cell() {
    for data_type in DataType::ALL {
        for column in data_type.columns() {
            if let Kind::Number { decimals, min, max } = column.kind {
                let steps = 10_f64.powi(i32::from(decimals));
                assert!(min < max, "{}", column.name);
                assert!(f64::from(max) * steps <= f64::from(i32::MAX), "{}", column.name);
                assert!(f64::from(min) * steps > f64::from(NULL), "{}", column.name);
            }
        }
    }
}

#[test]
fn numbers_are_rounded_to_their_scale_and_held_to_their_range() {
    let rr = DataType::RrInterval.column("rr").unwrap();
    assert_eq!(rr.cell_from_f64(812.3456), Ok(812_346));
    assert_eq!(rr.cell_from_f64(-1.0), Err(CellError::OutOfRange));
    assert_eq!(rr.cell_from_f64(f64::NAN), Err(CellError::NotANumber));
    assert_eq!(rr.cell_from_f64(1e300), Err(CellError::OutOfRange));
    let bpm = DataType::Activity.column("bpm").unwrap();
    assert_eq!(bpm.cell_from_i64(255), Ok(255));
    assert_eq!(bpm.cell_from_i64(256), Err(CellError::OutOfRange));
    assert_eq!(bpm.cell_from_i64(i64::MIN), Err(CellError::OutOfRange));
}

#[test]
fn codes_and_hexadecimal_are_read_and_written() {
    let metric = DataType::Ppg2.column("metric_id").unwrap();
    assert_eq!(metric.cell_from_text("0x7E"), Ok(0x7e));
    assert_eq!(metric.cell_from_i64(0x7e), Ok(0x7e));
    assert_eq!(metric.cell_from_text("126"), Err(CellError::UnknownCode));
    assert_eq!(metric.text_of(0x7e).as_deref(), Some("0x7e"));
    let test_type = DataType::Tests.column("test_type").unwrap();
    let cell = test_type.cell_from_text("blood_pressure_systolic").unwrap();
    assert_eq!(test_type.text_of(cell).as_deref(), Some("blood_pressure_systolic"));
    assert_eq!(test_type.cell_from_text("pulse"), Err(CellError::UnknownCode));
}

#[test]
fn reasons_name_what_a_column_takes() {
    let reason = |data_type: DataType, column: &str, error| data_type.column(column).unwrap().reason(error);
    for (data_type, column, error, expected) in [
        (DataType::Activity, "bpm", CellError::OutOfRange, "out of range: must be 0 to 255 /min"),
        (DataType::Activity, "activity_type", CellError::UnknownCode, "unknown code: must be 0 to 7 without 3 and 5"),
        (DataType::Ppg2, "metric_id", CellError::OutOfRange, "out of range: must be 0x00 to 0xff"),
        (DataType::Ppg2, "metric_id", CellError::UnknownCode, "unknown code: must be 0x00 to 0xff"),
        (DataType::Activity, "bpm", CellError::NotANumber, "not a number"),
        (DataType::Tests, "test_type", CellError::Null, "must not be null"),
    ] {
        assert_eq!(reason(data_type, column, error), expected);
    }
    let kinds = reason(DataType::Tests, "test_type", CellError::UnknownCode);
    assert!(kinds.starts_with("unknown code: must be one of heart_rate, ") && kinds.ends_with(", other"), "{kinds}");
    assert!(reason(DataType::Tests, "note", CellError::TooLong).starts_with("text too long: must be at most "));
    let glucose = TestKind::ALL.iter().find(|kind| kind.name == "glucose").unwrap();
    assert_eq!(glucose.reason("value", None), "not plausible for glucose: must be 0.1 to 70 mmol/L");
    assert_eq!(glucose.reason("value", Some("mg/dL")), "not plausible for glucose: must be 2 to 1300 mg/dL");
    assert_eq!(glucose.reason("unit", Some("g")), "not a unit of glucose: must be mmol/L or mg/dL");
}

/// Numbers are in databases and files: a change of one makes stored rows rows of another type. A new type gets the next
/// number, and the number of a type that is given up stays unused.
#[test]
fn numbers_of_types_are_pinned() {
    let pinned = [
        ("activity", 1),
        ("rr-interval", 2),
        ("sleep", 3),
        ("temperature", 4),
        ("heart-rate-variability", 5),
        ("ppg1", 6),
        ("ppg2", 7),
        ("bioz", 8),
        ("acc", 9),
        ("ecg", 10),
        ("tests", 11),
        ("eda", 12),
        ("gyro", 13),
    ];
    let declared: Vec<(&str, i64)> = DataType::declarations().iter().map(|one| (one.name, one.number)).collect();
    assert_eq!(declared, pinned);
    for (data_type, (name, number)) in DataType::ALL.into_iter().zip(pinned) {
        assert_eq!((data_type.name(), DataType::from_number(number)), (name, Some(data_type)));
        assert!((1..=62).contains(&number), "{name}: sets of types are kept in the bits of a number");
    }
    assert_eq!(DataType::from_number(0), None);
}

#[test]
fn values_that_mean_none_and_examples_are_values_of_their_columns() {
    for (data_type, column) in columns() {
        let place = format!("{}.{}", data_type.name(), column.name);
        if let Some(none) = column.no_value {
            assert_eq!(column.cell_from_i64(i64::from(none)), Ok(column.no_value_cell()), "{place}");
            assert!(column.description().ends_with("means no value"), "{place}");
            assert!(!column.meaning.contains("no value"), "{place} says it twice");
        }
        let Some(example) = column.example else { continue };
        match column.kind {
            Kind::Number { .. } => {
                let value: f64 = example.parse().expect("a number");
                let back = column.cell_from_f64(value).map(|cell| column.value_of(cell));
                assert_eq!(back, Ok(Some(value)), "{place}");
            }
            Kind::Hex | Kind::TestType => assert!(column.cell_from_text(example).is_ok(), "{place}"),
            Kind::Text { .. } => assert_eq!(column.check_text(example), Ok(()), "{place}"),
        }
    }
}

/// No single value means none in `tests.value`, so the words of the column name the kinds of which a 0 does.
#[test]
fn value_of_a_test_means_none_by_what_was_measured() {
    let value = DataType::Tests.column("value").expect("a column");
    assert_eq!(value.no_value, None);
    let none_of = |name: &str| {
        let channel = Channel::of_test(TestKind::code(name).expect("a kind"));
        DataType::Tests.no_value_cell(value, channel)
    };
    assert_eq!((none_of("heart_rate"), none_of("temperature"), none_of("other")), (0, NULL, NULL));
    for kind in TestKind::ALL {
        let is_named = value.meaning.split([' ', ',']).any(|word| word == kind.name);
        assert_eq!(is_named, kind.no_value == 0, "{}", kind.name);
        assert_eq!(none_of(kind.name), kind.no_value, "{}", kind.name);
    }
    let note = DataType::Tests.column("note").expect("a column");
    assert_eq!(DataType::Tests.no_value_cell(note, Channel::of_test(0)), NULL);
    let bpm = DataType::Activity.column("bpm").expect("a column");
    assert_eq!(DataType::Activity.no_value_cell(bpm, Channel::default()), 0);
}

#[test]
fn every_waveform_names_its_signal_and_its_rates() {
    for declaration in DataType::declarations() {
        let signals = declaration.columns.iter().filter(|column| column.is_signal).count();
        assert_eq!(signals > 0, declaration.is_waveform(), "{}", declaration.name);
        let Sampling::Even { usual_hz, accepted_hz } = declaration.sampling else {
            assert!(!declaration.is_waveform(), "{}", declaration.name);
            continue;
        };
        for rates in [Some(usual_hz), accepted_hz].into_iter().flatten() {
            assert!(0 < rates.lowest_hz && rates.lowest_hz <= rates.highest_hz, "{}", declaration.name);
        }
    }
}

#[test]
fn at_most_one_column_of_a_type_repeats_another() {
    let mut found = Vec::new();
    for data_type in DataType::ALL {
        let repeating =
            data_type.columns().iter().filter_map(|column| Some((column, data_type.column(column.repeats?)?)));
        for (column, repeated) in repeating {
            for one in [column, repeated] {
                assert!(one.nullable && one.is_signal && matches!(one.kind, Kind::Number { .. }), "{}", one.name);
            }
            assert_eq!((column.decimals(), repeated.repeats), (0, None), "a count each step of {}", repeated.name);
            found.push(data_type);
        }
    }
    assert_eq!(found, [DataType::Ecg], "a second one in a type would need a list in sealed files");
}

#[test]
fn channels_are_made_of_the_columns_that_their_rule_names() {
    for data_type in DataType::ALL {
        let names: Vec<&str> =
            data_type.channel_columns().iter().map(|position| data_type.columns()[*position].name).collect();
        assert_eq!(names, data_type.declaration().channel.columns(), "{}", data_type.name());
    }
    assert_eq!(DataType::Ppg2.channel(&[0x7e, 6]), Channel::of_ppg2(0x7e, 6));
    assert_eq!(DataType::Tests.channel(&[3]), Channel::of_test(3));
    assert_eq!(DataType::Acc.channel(&[]), Channel::default());
}

#[test]
fn the_meaning_of_a_metric_names_its_colours() {
    let meaning = DataType::Ppg2.column("metric_id").expect("a column").meaning;
    let colours: Vec<String> =
        Colour::ALL.iter().map(|colour| format!("{:#04x} {}", colour.metric_id, colour.name)).collect();
    assert_eq!(meaning, colours.join(", "));
    assert_eq!(Colour::of_metric(0x7b).map(|colour| colour.name), Some("infra-red"));
    assert_eq!(Colour::of_metric(5), None);
}

fn columns() -> impl Iterator<Item = (DataType, &'static Column)> {
    DataType::ALL.into_iter().flat_map(|data_type| data_type.columns().iter().map(move |column| (data_type, column)))
}
