//! Numbers and codes from a batch.
//!
//! Integers are judged by their smallest and largest value: when both are in the column's range, so are all, and the
//! rows are converted in one loop that the compiler turns into vector instructions. Only a column with a null, a gap
//! in its range or a fault is looked at row by row.

use std::cell::RefCell;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use vitals::block::Cells;
use vitals::registry::{CellError, Column, Kind, NULL, TestKind};

use super::faults::Faults;
use super::texts::text_reader;

/// An integer of any width.
pub(super) trait Native: Copy + Ord {
    /// As 64 bits, the nearest that there is.
    fn saturated(self) -> i64;
}

macro_rules! native {
    ($($integer:ty),*) => {
        $(impl Native for $integer {
            #[inline]
            fn saturated(self) -> i64 {
                i64::from(self)
            }
        })*
    };
}
native!(i8, i16, i32, i64, u8, u16, u32);

impl Native for u64 {
    fn saturated(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

/// Returns the smallest and the largest of some values; `None` when there are none.
pub(super) fn smallest_and_largest<T: Native>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(smallest, largest), value| (smallest.min(*value), largest.max(*value))))
}

/// Returns the cells of a column that is not text; `None` when the array's type cannot hold them.
pub(super) fn read(column: &Column, array: &dyn Array, faults: &mut Faults) -> Option<Cells> {
    let judged = match array.data_type() {
        ArrowType::Int8 => integers::<Int8Type>(column, array, faults),
        ArrowType::Int16 => integers::<Int16Type>(column, array, faults),
        ArrowType::Int32 => integers::<Int32Type>(column, array, faults),
        ArrowType::Int64 => integers::<Int64Type>(column, array, faults),
        ArrowType::UInt8 => integers::<UInt8Type>(column, array, faults),
        ArrowType::UInt16 => integers::<UInt16Type>(column, array, faults),
        ArrowType::UInt32 => integers::<UInt32Type>(column, array, faults),
        ArrowType::UInt64 => integers::<UInt64Type>(column, array, faults),
        ArrowType::Dictionary(..) => return dictionary(column, array, faults),
        _ => {
            let cell = cell_reader(column, array)?;
            row_by_row(column, array, faults, cell)
        }
    };
    Some(judged)
}

/// Reads the cell of one row.
type CellReader<'array> = Box<dyn Fn(usize) -> Result<i32, CellError> + 'array>;

/// Returns what reads the cell of one row, for every type that is not read as a whole.
fn cell_reader<'array>(column: &'array Column, array: &'array dyn Array) -> Option<CellReader<'array>> {
    macro_rules! integer {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>().values();
            Box::new(move |row: usize| cell_of_integer(column, values[row].saturated()))
        }};
    }
    macro_rules! float {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>().values();
            Box::new(move |row: usize| column.cell_from_f64(f64::from(values[row])))
        }};
    }
    macro_rules! decimal {
        ($kind:ty, $to_i128:expr) => {{
            let array = array.as_primitive::<$kind>();
            let scale = i32::from(array.scale());
            Box::new(move |row: usize| {
                let digits: Option<i128> = $to_i128(array.value(row));
                digits.ok_or(CellError::OutOfRange).and_then(|digits| cell_of_decimal(column, digits, scale))
            })
        }};
    }
    Some(match array.data_type() {
        ArrowType::Null => Box::new(|_| Err(CellError::Null)),
        ArrowType::Boolean if matches!(column.kind, Kind::Number { decimals: 0, min: 0, max: 1 }) => {
            let values = array.as_boolean();
            Box::new(move |row| Ok(i32::from(values.value(row))))
        }
        ArrowType::Int8 => integer!(Int8Type),
        ArrowType::Int16 => integer!(Int16Type),
        ArrowType::Int32 => integer!(Int32Type),
        ArrowType::Int64 => integer!(Int64Type),
        ArrowType::UInt8 => integer!(UInt8Type),
        ArrowType::UInt16 => integer!(UInt16Type),
        ArrowType::UInt32 => integer!(UInt32Type),
        ArrowType::UInt64 => integer!(UInt64Type),
        ArrowType::Float16 => float!(Float16Type),
        ArrowType::Float32 => float!(Float32Type),
        ArrowType::Float64 => float!(Float64Type),
        ArrowType::Decimal32(..) => decimal!(Decimal32Type, |value| Some(i128::from(value))),
        ArrowType::Decimal64(..) => decimal!(Decimal64Type, |value| Some(i128::from(value))),
        ArrowType::Decimal128(..) => decimal!(Decimal128Type, Some),
        ArrowType::Decimal256(..) => {
            decimal!(Decimal256Type, |value: <Decimal256Type as ArrowPrimitiveType>::Native| { value.to_i128() })
        }
        _ if matches!(column.kind, Kind::Hex | Kind::TestType) => {
            let text = text_reader(array)?;
            let known = RefCell::new(KnownTexts::default());
            Box::new(move |row| known.borrow_mut().cell_of(column, text(row)))
        }
        _ => return None,
    })
}

/// The texts met last and what they were read as. Codes repeat, row after row or in turn.
#[derive(Default)]
struct KnownTexts<'array> {
    texts: [(&'array str, Option<Result<i32, CellError>>); 4],
    next: usize,
}

impl<'array> KnownTexts<'array> {
    fn cell_of(&mut self, column: &Column, text: &'array str) -> Result<i32, CellError> {
        for (known, cell) in &self.texts {
            if *known == text
                && let Some(cell) = cell
            {
                return *cell;
            }
        }
        let cell = column.cell_from_text(text);
        self.texts[self.next] = (text, Some(cell));
        self.next = (self.next + 1) % self.texts.len();
        cell
    }
}

fn integers<T: ArrowPrimitiveType>(column: &Column, array: &dyn Array, faults: &mut Faults) -> Cells
where
    T::Native: Native,
{
    let array: &PrimitiveArray<T> = array.as_primitive();
    let values = array.values();
    if array.null_count() == 0
        && let Some(range) = column.whole_range()
        && let Some((smallest, largest)) = smallest_and_largest(values)
        && range.contains(&smallest.saturated())
        && range.contains(&largest.saturated())
    {
        let steps = column.steps_per_unit();
        let cell = |value: &T::Native| value.saturated() as i32 * steps;
        if smallest == largest {
            return Cells::Constant(cell(&smallest));
        }
        return Cells::Values(values.iter().map(cell).collect());
    }
    row_by_row(column, array, faults, |row| cell_of_integer(column, values[row].saturated()))
}

fn row_by_row(
    column: &Column,
    array: &dyn Array,
    faults: &mut Faults,
    cell: impl Fn(usize) -> Result<i32, CellError>,
) -> Cells {
    let nulls = array.logical_nulls();
    let judged = |row: usize| match &nulls {
        Some(nulls) if nulls.is_null(row) => null_cell(column),
        _ => cell(row),
    };
    let cells = (0..array.len()).map(|row| {
        judged(row).unwrap_or_else(|error| {
            faults.note(row, error);
            NULL
        })
    });
    Cells::Values(cells.collect()).simplified()
}

fn null_cell(column: &Column) -> Result<i32, CellError> {
    if column.nullable { Ok(NULL) } else { Err(CellError::Null) }
}

/// Judges each entry of the dictionary once, unless there are more entries than rows: a large dictionary under many
/// small batches would else be judged over and over.
fn dictionary(column: &Column, array: &dyn Array, faults: &mut Faults) -> Option<Cells> {
    let dictionary = array.as_any_dictionary_opt()?;
    let values = dictionary.values();
    let cell = cell_reader(column, values.as_ref())?;
    if values.len() > array.len() {
        let keys = dictionary.normalized_keys();
        return Some(row_by_row(column, array, faults, |row| cell(keys[row])));
    }
    let value_nulls = values.logical_nulls();
    let cells: Vec<Result<i32, CellError>> = (0..values.len())
        .map(|entry| match &value_nulls {
            Some(nulls) if nulls.is_null(entry) => null_cell(column),
            _ => cell(entry),
        })
        .collect();
    if cells.is_empty() {
        return Some(row_by_row(column, array, faults, |_| null_cell(column)));
    }
    let sound: Option<Vec<i32>> = cells.iter().map(|cell| cell.ok()).collect();
    let sound = sound.filter(|_| dictionary.keys().null_count() == 0);
    if let Some([only]) = sound.as_deref() {
        return Some(Cells::Constant(*only));
    }
    let keys = dictionary.normalized_keys();
    if let Some(sound) = sound {
        return Some(Cells::Values(keys.into_iter().map(|key| sound[key]).collect()).simplified());
    }
    Some(row_by_row(column, array, faults, |row| cells[keys[row]]))
}

fn cell_of_integer(column: &Column, value: i64) -> Result<i32, CellError> {
    if column.kind == Kind::TestType {
        let code = i32::try_from(value).map_err(|_| CellError::UnknownCode)?;
        return TestKind::of_cell(code).map(|_| code).ok_or(CellError::UnknownCode);
    }
    column.cell_from_i64(value)
}

/// Returns the cell of `digits / 10^scale`, rounded half away from zero, without a detour through a binary float.
fn cell_of_decimal(column: &Column, digits: i128, scale: i32) -> Result<i32, CellError> {
    let surplus = scale - i32::from(column.decimals());
    let unit = 10_i128.checked_pow(surplus.unsigned_abs());
    let cell = if surplus <= 0 {
        unit.and_then(|unit| digits.checked_mul(unit))
    } else {
        unit.map(|unit| (digits.abs() / unit + i128::from(digits.abs() % unit * 2 >= unit)) * digits.signum())
    };
    // More than 38 digits after the point leave nothing of any number, as many before it are too large for any.
    let cell = match cell {
        Some(cell) => i64::try_from(cell).map_err(|_| CellError::OutOfRange)?,
        None if surplus > 0 || digits == 0 => 0,
        None => return Err(CellError::OutOfRange),
    };
    match column.kind {
        Kind::Number { min, max, .. } => {
            let steps = i64::from(column.steps_per_unit());
            let range = i64::from(min) * steps..=i64::from(max) * steps;
            let in_range = range.contains(&cell);
            match cell as i32 {
                cell if in_range && !column.gaps.contains(&cell) => Ok(cell),
                _ if in_range => Err(CellError::UnknownCode),
                _ => Err(CellError::OutOfRange),
            }
        }
        _ => cell_of_integer(column, cell),
    }
}
