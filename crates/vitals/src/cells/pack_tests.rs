//! Bytes of cells: what is written is read, and no bytes, however damaged, do harm.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::block::Block;
use crate::registry::DataType;
use crate::zone::DAY_US;

/// Types whose cells are made of one block.
const TYPES: [DataType; 8] = [
    DataType::Activity,
    DataType::RrInterval,
    DataType::Sleep,
    DataType::Temperature,
    DataType::HeartRateVariability,
    DataType::Acc,
    DataType::Ecg,
    DataType::Ppg1,
];

/// Packs the cells of each day of a block, and reads them back.
fn packed_days(block: &Block) -> Vec<Vec<u8>> {
    fn pack<C: Kept>(days: CellsByDay<C>) -> Vec<Vec<u8>> {
        let whole = |cells: Vec<C>| {
            let mut day = DayCells::default();
            day.replace(i64::MIN..i64::MAX, cells);
            let bytes = day.pack();
            assert_eq!(DayCells::unpack(&bytes).as_ref(), Some(&day));
            let mut read = Day::default();
            read.read(C::DATA_TYPE, &bytes);
            assert_eq!(C::of(&read), &day);
            assert_eq!(read.pack(C::DATA_TYPE), bytes);
            bytes
        };
        days.into_values().map(whole).collect()
    }
    match block.data_type {
        DataType::Activity => pack(activity_cells(block, |_| Some(185.0))),
        DataType::RrInterval => pack(beat_cells(block)),
        DataType::Sleep => pack(stage_cells(block)),
        DataType::Temperature => pack(temperature_cells(block)),
        DataType::HeartRateVariability => pack(variability_cells(block)),
        DataType::Acc => pack(motion_cells(block)),
        DataType::Ecg => pack(ecg_cells(block)),
        _ => pack(ppg1_cells(block)),
    }
}

/// Reads bytes as the cells of each type; answers how many types took them.
fn readers_of(bytes: &[u8]) -> usize {
    let mut count = 0;
    for data_type in Day::TYPES {
        let mut day = Day::default();
        day.read(*data_type, bytes);
        count += usize::from(day.cell_count() > 0);
        // What was taken can be used: shown, scored, packed again.
        day.newest(&(i64::MIN..i64::MAX));
        day.scored_windows().count();
        day.has_cells_in(&(0..i64::MAX));
        let again = day.pack(*data_type);
        let mut second = Day::default();
        second.read(*data_type, &again);
        assert_eq!(second, day, "{}", data_type.name());
    }
    count
}

fn any_of_types() -> impl Strategy<Value = Block> {
    let of_type = |data_type| any_block(data_type, MIDNIGHT_US - DAY_US..MIDNIGHT_US + DAY_US, 40);
    proptest::sample::select(TYPES.to_vec()).prop_flat_map(of_type)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cells_of_any_rows_are_read_as_they_were_packed(block in any_of_types()) {
        let days = packed_days(&block);
        prop_assert_eq!(days.is_empty(), block.is_empty());
    }

    #[test]
    fn bytes_that_end_early_or_late_are_refused(block in any_of_types(), cut in any::<prop::sample::Index>()) {
        for bytes in packed_days(&block) {
            let mut day = Day::default();
            day.read(block.data_type, &bytes[..cut.index(bytes.len())]);
            prop_assert_eq!(day.cell_count(), 0);
            day.read(block.data_type, &[bytes.as_slice(), &[0]].concat());
            prop_assert_eq!(day.cell_count(), 0);
        }
    }

    #[test]
    fn damaged_bytes_do_no_harm(block in any_of_types(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        for mut bytes in packed_days(&block) {
            for (at, byte) in &damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            readers_of(&bytes);
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..60)) {
        readers_of(&bytes);
        for format in 0..3 {
            readers_of(&[&[format], bytes.as_slice()].concat());
        }
    }

    #[test]
    fn integers_are_read_as_they_were_written(unsigned in vec(any::<u64>(), 0..8), signed in vec(any::<i64>(), 0..8)) {
        let mut packer = Packer::default();
        for value in &unsigned {
            packer.unsigned(*value);
        }
        for value in &signed {
            packer.signed(*value);
        }
        let bytes = packer.into_bytes();
        let mut unpacker = Unpacker::new(&bytes);
        for value in unsigned {
            prop_assert_eq!(unpacker.unsigned(), Some(value));
        }
        for value in signed {
            prop_assert_eq!(unpacker.signed(), Some(value));
        }
        prop_assert!(unpacker.is_at_end());
        prop_assert_eq!(unpacker.byte(), None);
    }

    #[test]
    fn decimals_are_read_as_they_were_written(steps in -9_000_000_000_i64..9_000_000_000) {
        for per_unit in [1.0, 10.0, 100.0, 1000.0, 1e6] {
            let value = steps as f64 / per_unit;
            let mut packer = Packer::default();
            packer.decimal(Some(value), per_unit);
            packer.decimal(None, per_unit);
            packer.decimal(Some(f64::NAN), per_unit);
            let bytes = packer.into_bytes();
            let mut unpacker = Unpacker::new(&bytes);
            prop_assert_eq!(unpacker.decimal(per_unit), Some(Some(value)));
            prop_assert_eq!(unpacker.decimal(per_unit), Some(None));
            prop_assert_eq!(unpacker.decimal(per_unit), Some(None), "what is no number is no value");
        }
    }
}

#[test]
fn small_numbers_of_either_sign_cost_a_byte() {
    let length = |put: &dyn Fn(&mut Packer)| {
        let mut packer = Packer::default();
        put(&mut packer);
        packer.into_bytes().len()
    };
    for (value, bytes) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
        assert_eq!(length(&|packer| packer.unsigned(value)), bytes, "{value}");
    }
    for (value, bytes) in [(0, 1), (63, 1), (-64, 1), (64, 2), (-65, 2), (i64::MIN, 10), (i64::MAX, 10)] {
        assert_eq!(length(&|packer| packer.signed(value)), bytes, "{value}");
    }
}

#[test]
fn a_number_that_does_not_fit_its_type_is_refused() {
    let bytes = [0x80, 0x02];
    assert_eq!(Unpacker::new(&bytes).number::<u8>(), None);
    assert_eq!(Unpacker::new(&bytes).number::<u16>(), Some(256));
    assert_eq!(Unpacker::new(&[0x80; 11]).unsigned(), None, "no number has eleven bytes");
    assert_eq!(Unpacker::new(&[0x80]).unsigned(), None);
    assert_eq!(Unpacker::new(&[]).decimal(10.0), None);
}

/// A window so far away that its time in milliseconds does not fit must not pass for a day.
#[test]
fn windows_beyond_all_time_are_refused() {
    for data_type in Day::TYPES {
        for window in [i64::MAX as u64 / 5, i64::MAX as u64 / 300_000 + 1] {
            let mut packer = Packer::default();
            packer.byte(1);
            packer.unsigned(1);
            packer.unsigned(window);
            packer.signed(0);
            let mut bytes = packer.into_bytes();
            bytes.extend([0; 200]);
            for length in 12..bytes.len() {
                let mut day = Day::default();
                day.read(*data_type, &bytes[..length]);
                assert_eq!(day.cell_count(), 0, "{} {window}", data_type.name());
            }
        }
    }
}
