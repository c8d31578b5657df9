//! Columns that a record holds as something else than the database does.

use vitals::registry::DataType;

use crate::engine::{Columns, FromColumn, Row};
use crate::error::{Result, StoreError};

/// Reads both columns of a statement that lists two and makes no record of them.
pub(crate) fn pair<A: FromColumn, B: FromColumn>(row: &Row<'_>) -> Result<(A, B)> {
    let mut columns = Columns::of(row);
    Ok((columns.take()?, columns.take()?))
}

/// Reads a number that is never below 0. Of what a statement found nothing to count in, there are none.
pub(crate) fn count(columns: &mut Columns<'_, '_>) -> Result<u64> {
    Ok(columns.take::<Option<i64>>()?.unwrap_or(0) as u64)
}

/// Reads a truth value that a statement computes. It is one where it is above 0: engines differ in what they compute.
pub(crate) fn is_any(columns: &mut Columns<'_, '_>) -> Result<bool> {
    Ok(columns.take::<i64>()? > 0)
}

/// Reads a truth value.
pub(crate) fn flag(columns: &mut Columns<'_, '_>) -> Result<bool> {
    columns.take()
}

/// Reads a number that is 0 where the column has none.
pub(crate) fn or_zero(columns: &mut Columns<'_, '_>) -> Result<i64> {
    Ok(columns.take::<Option<i64>>()?.unwrap_or(0))
}

/// Reads the number of a data type.
///
/// # Errors
/// [`StoreError::Damaged`] when this version knows no type of this number.
pub(crate) fn known_type(columns: &mut Columns<'_, '_>) -> Result<DataType> {
    let unknown = || StoreError::Damaged("a row is of an unknown type".to_owned());
    DataType::from_number(columns.take()?).ok_or_else(unknown)
}

/// Reads JSON.
///
/// # Errors
/// [`StoreError::Damaged`] when it is not what was written.
pub(crate) fn json<T: serde::de::DeserializeOwned>(columns: &mut Columns<'_, '_>) -> Result<T> {
    serde_json::from_str(&columns.take::<String>()?).map_err(|error| StoreError::Damaged(error.to_string()))
}
