//! Sample times from a batch.

use std::ops::RangeInclusive;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use vitals::registry::CellError;

use super::cells::{Native, smallest_and_largest};
use super::judge::{Judge, Reason};

/// The times in µs; `None` when the array is no column of times. Rows without a time or with one outside `accepted`
/// are refused.
pub(super) fn read(array: &dyn Array, judge: &mut Judge, accepted: &RangeInclusive<i64>) -> Option<Vec<i64>> {
    let times_us = match array.data_type() {
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().values().to_vec()
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
            let values = array.as_primitive::<TimestampNanosecondType>().values();
            values.iter().map(|time_ns| time_ns.div_euclid(1000)).collect()
        }
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => scaled::<TimestampMillisecondType>(array, 1000),
        ArrowType::Timestamp(TimeUnit::Second, _) => scaled::<TimestampSecondType>(array, 1_000_000),
        ArrowType::Int64 => scaled::<Int64Type>(array, 1000),
        ArrowType::UInt64 => scaled::<UInt64Type>(array, 1000),
        ArrowType::Int32 => scaled::<Int32Type>(array, 1000),
        ArrowType::UInt32 => scaled::<UInt32Type>(array, 1000),
        _ => return None,
    };
    refuse_bad(&times_us, array, judge, accepted);
    Some(times_us)
}

fn scaled<T: ArrowPrimitiveType>(array: &dyn Array, factor: i64) -> Vec<i64>
where
    T::Native: Native + ArrowNativeTypeOp,
{
    let array: &PrimitiveArray<T> = array.as_primitive();
    let values = array.values().iter().map(|value| value.saturated());
    let fits = smallest_and_largest(array.values()).is_none_or(|(smallest, largest)| {
        smallest.saturated().checked_mul(factor).is_some() && largest.saturated().checked_mul(factor).is_some()
    });
    // Multiplying with a check in each row is several times slower.
    if fits { values.map(|value| value * factor).collect() } else { values.map(|value| value.saturating_mul(factor)).collect() }
}

fn refuse_bad(times_us: &[i64], array: &dyn Array, judge: &mut Judge, accepted: &RangeInclusive<i64>) {
    let Some((smallest, largest)) = smallest_and_largest(times_us) else { return };
    if array.null_count() == 0 && accepted.contains(&smallest) && accepted.contains(&largest) {
        return;
    }
    for (row, time_us) in times_us.iter().enumerate() {
        if array.is_null(row) {
            judge.refuse(row, Reason::Cell(CellError::Null));
        } else if !accepted.contains(time_us) {
            judge.refuse(row, Reason::Time);
        }
    }
}
