//! Samples as text against the standard formatter, a CSV reader and the calendar library.

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;

use super::*;
use crate::any_rows::{MIDNIGHT_US, any_block, any_cell};
use crate::block::Block;
use crate::registry::{Channel, Column, DataType, Kind, NULL};
use crate::sample_time::{Decimal, EvenSampling, Rate};
use crate::zone::{DAY_US, ZoneName};

fn columns() -> Vec<(DataType, &'static Column)> {
    DataType::ALL
        .into_iter()
        .flat_map(|data_type| data_type.columns().iter().map(move |column| (data_type, column)))
        .collect()
}

fn numbers() -> Vec<&'static Column> {
    columns()
        .into_iter()
        .map(|(_, column)| column)
        .filter(|column| matches!(column.kind, Kind::Number { .. }))
        .collect()
}

fn number_text(column: &Column, cell: i32) -> String {
    let mut text = Vec::new();
    push_number(&mut text, column, cell);
    String::from_utf8(text).unwrap()
}

fn any_number() -> impl Strategy<Value = (&'static Column, i32)> {
    proptest::sample::select(numbers())
        .prop_flat_map(|column| (Just(column), any_cell(column)))
        .prop_filter("a value", |(_, cell)| *cell != NULL)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The shortest text of the exact decimal, which is also the shortest text of the nearest float.
    #[test]
    fn numbers_are_written_as_short_as_they_are((column, cell) in any_number()) {
        let text = number_text(column, cell);
        prop_assert_eq!(&text, &column.value_of(cell).unwrap().to_string());
        prop_assert_eq!(column.cell_from_f64(text.parse().unwrap()), Ok(cell));
    }

    /// A cell survives the text of JSON and CSV in both directions.
    #[test]
    fn cells_are_read_from_what_they_are_written_as((column, cell) in any_number()) {
        let value = column.value_of(cell).unwrap();
        prop_assert_eq!(column.cell_from_f64(value), Ok(cell));
        if cell % column.steps_per_unit() == 0 {
            prop_assert_eq!(column.cell_from_i64(i64::from(cell / column.steps_per_unit())), Ok(cell));
        }
    }

    /// Rows of every type, read back by a CSV reader that knows nothing of them.
    #[test]
    fn lines_are_read_back_by_another_reader(
        block in proptest::sample::select(DataType::ALL.to_vec()).prop_flat_map(|data_type| any_block(data_type, MIDNIGHT_US..MIDNIGHT_US + DAY_US, 12)),
    ) {
        let mut text = header(block.data_type);
        CsvRows::default().write(std::slice::from_ref(&block), &mut text);
        let mut reader = ::csv::Reader::from_reader(text.as_slice());
        let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let wanted: Vec<&str> = ["timestamp", "date"].into_iter().chain(block.data_type.columns().iter().map(|column| column.name)).collect();
        prop_assert_eq!(names, wanted);
        let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        prop_assert_eq!(lines.len(), block.rows());
        for (row, line) in lines.iter().enumerate() {
            prop_assert_eq!(&line[0], block.times_us[row].div_euclid(1000).to_string());
            let at: Timestamp = line[1].parse().unwrap();
            prop_assert_eq!(at.as_millisecond(), block.times_us[row].div_euclid(1000));
            for (place, (column, cells)) in block.data_type.columns().iter().zip(&block.columns).enumerate() {
                let cell = cells.get(row);
                let field = &line[place + 2];
                let read = match column.kind {
                    _ if field.is_empty() => NULL,
                    Kind::Number { .. } => column.cell_from_f64(field.parse().unwrap()).unwrap(),
                    _ => column.cell_from_text(field).unwrap(),
                };
                prop_assert_eq!(read, cell, "{} of {}", column.name, block.data_type.name());
            }
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar(
        times_us in proptest::collection::vec(946_684_800_000_000_i64..2_208_988_800_000_000, 1..12),
        zone in proptest::sample::select(vec!["UTC", "Europe/Zurich", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    ) {
        let name: ZoneName = zone.into();
        let time_zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let mut dates = LocalDates::default();
        for time_us in times_us {
            let zoned = Timestamp::from_microsecond(time_us).unwrap().to_zoned(time_zone.clone());
            let expected = zoned.strftime("%Y-%m-%dT%H:%M:%S.%3f%:z").to_string();
            prop_assert_eq!(std::str::from_utf8(dates.format(time_us, &name)).unwrap(), expected);
        }
    }

    /// A decimal is what its text says, whichever way the text is written.
    #[test]
    fn decimals_do_not_depend_on_how_they_are_written(digits in -99_999_999_i64..99_999_999, shift in 0_u32..6, zeros in 0_usize..4) {
        let plain = Decimal::parse(&format!("{digits}e-{shift}")).unwrap();
        let unit = 10_i64.pow(shift);
        let sign = if digits < 0 { "-" } else { "" };
        let (whole, fraction) = (digits.abs() / unit, digits.abs() % unit);
        let point = format!("{sign}{whole}.{fraction:0width$}{}", "0".repeat(zeros), width = shift as usize);
        let written = Decimal::parse(&point).unwrap();
        prop_assert_eq!(written.rounded_thousandths(), plain.rounded_thousandths());
        prop_assert_eq!(written.is_positive(), digits > 0);
        // Thousandths, half up, in exact arithmetic.
        let doubled = 2000 * i128::from(digits) + i128::from(unit);
        prop_assert_eq!(plain.rounded_thousandths().map(i128::from), Some(doubled.div_euclid(2 * i128::from(unit))));
    }

    #[test]
    fn no_text_breaks_the_reading_of_a_decimal(text in "[-+0-9.eE]{0,24}") {
        if let Some(decimal) = Decimal::parse(&text) {
            let number: f64 = text.parse().unwrap();
            prop_assert_eq!(decimal.is_positive(), number > 0.0);
            if let Some(thousandths) = decimal.rounded_thousandths() {
                prop_assert!((thousandths as f64 - number * 1000.0).abs() <= 0.5 + number.abs() * 1e-9, "{}", text);
            }
        }
    }

    /// Samples of any rate come in order, at most half a microsecond from their exact time, and none is missing.
    #[test]
    fn even_samples_never_drift(rate_millihz in 1_000_i64..4_000_000, count in 1_usize..3000) {
        let sampling = EvenSampling {
            start_ms: Decimal::parse("1763600000000.125").unwrap(),
            rate_hz: Rate::parse(&format!("{}.{:03}", rate_millihz / 1000, rate_millihz % 1000)).unwrap(),
        };
        let times_us = sampling.times_us(count).unwrap();
        prop_assert_eq!(times_us.len(), count);
        for (at, time_us) in times_us.iter().enumerate() {
            // Twice the distance from the exact time, in units of a microsecond / rate.
            let exact = 1_763_600_000_000_125_i128 * i128::from(rate_millihz) + at as i128 * 1_000_000_000;
            let distance = 2 * (i128::from(*time_us) * i128::from(rate_millihz) - exact);
            prop_assert!(distance.abs() <= i128::from(rate_millihz));
        }
        prop_assert!(times_us.is_sorted());
    }
}

#[test]
fn every_number_column_takes_its_ends_and_nothing_beyond_them() {
    for (data_type, column) in columns() {
        let Kind::Number { min, max, .. } = column.kind else { continue };
        let name = format!("{} of {}", column.name, data_type.name());
        let steps = column.steps_per_unit();
        for end in [min, max] {
            assert_eq!(column.cell_from_i64(i64::from(end)), Ok(end * steps), "{name}");
            assert_eq!(column.cell_from_f64(f64::from(end)), Ok(end * steps), "{name}");
        }
        for beyond in [i64::from(min) - 1, i64::from(max) + 1, i64::MIN, i64::MAX] {
            assert!(column.cell_from_i64(beyond).is_err(), "{name} {beyond}");
            assert!(column.cell_from_f64(beyond as f64).is_err(), "{name} {beyond}");
        }
        for nothing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(column.cell_from_f64(nothing).is_err(), "{name} {nothing}");
        }
        let step = 1.0 / f64::from(steps);
        assert!(column.cell_from_f64(f64::from(max) + 0.49 * step).is_ok(), "{name}: rounded into the range");
        assert!(column.cell_from_f64(f64::from(max) + 0.51 * step).is_err(), "{name}");
        assert!(i64::from(max) * i64::from(steps) <= i64::from(i32::MAX), "{name} fits a cell");
        assert!(i64::from(min) * i64::from(steps) > i64::from(NULL), "{name} is distinguished from no value");
    }
}

#[test]
fn codes_and_texts_are_read_in_their_own_form_only() {
    for (data_type, column) in columns() {
        let name = format!("{} of {}", column.name, data_type.name());
        match column.kind {
            Kind::Hex => {
                for code in 0..=255 {
                    let text = column.text_of(code).unwrap();
                    assert_eq!(column.cell_from_text(&text), Ok(code), "{name}");
                    assert_eq!(column.cell_from_i64(i64::from(code)), Ok(code), "{name}");
                }
                for wrong in ["", "0x", "7e", "0x100", "0x-1", "0x+1", "0x7g"] {
                    assert!(column.cell_from_text(wrong).is_err(), "{name} {wrong}");
                }
            }
            Kind::Text { max_chars } => {
                assert_eq!(column.check_text(&"ü".repeat(max_chars)), Ok(()), "{name}: characters and not bytes");
                assert!(column.check_text(&"a".repeat(max_chars + 1)).is_err(), "{name}");
                assert!(column.check_text("a\0b").is_err(), "{name}");
            }
            Kind::Number { .. } | Kind::TestType => assert!(column.cell_from_text("17").is_err(), "{name}"),
        }
    }
}

#[test]
fn rows_of_several_blocks_are_written_in_the_order_of_time() {
    let block = |times_us: &[i64]| {
        let mut block = Block::empty(DataType::Sleep, Channel::default());
        block.zones = crate::zone::ZoneRuns::constant("UTC".into(), times_us.len());
        block.times_us = times_us.to_vec();
        block
    };
    let mut order = Vec::new();
    in_time_order(&[block(&[1, 5, 9]), block(&[2, 5]), block(&[])], |block, row| order.push((block, row)));
    let times: Vec<i64> = order.iter().map(|(block, row)| [&[1, 5, 9][..], &[2, 5]][*block][*row]).collect();
    assert_eq!(times, [1, 2, 5, 5, 9]);
}
