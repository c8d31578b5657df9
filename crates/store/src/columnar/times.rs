//! Sample times from a batch.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use vitals::intake::NO_TIME;

use super::cells::{Native, smallest_and_largest};

/// Returns the times in µs, [`NO_TIME`] where there is none; `None` when the array is no column of times.
pub(super) fn read(array: &dyn Array) -> Option<Vec<i64>> {
    let mut times_us = match array.data_type() {
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
    if let Some(nulls) = array.nulls() {
        let times = times_us.iter_mut().enumerate();
        for (_, time_us) in times.filter(|(row, _)| nulls.is_null(*row)) {
            *time_us = NO_TIME;
        }
    }
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
    if fits {
        values.map(|value| value * factor).collect()
    } else {
        values.map(|value| value.saturating_mul(factor)).collect()
    }
}
