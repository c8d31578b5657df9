//! The one list of data types and their columns.
//!
//! Validation, storage, JSON, CSV, Arrow, Parquet, the OpenAPI document and the data dictionary all read this list,
//! so a column cannot mean two things in two places. Every number is kept as an integer in steps of
//! `10^-decimals` of its unit; two values are equal when those integers are.

mod columns;
mod types;

pub use columns::{CellError, Column, Kind, NULL};
pub use types::{Channel, DataType, Period, TestKind};

#[cfg(test)]
mod tests {
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
}
