//! The data type that a path names.

use axum::http::StatusCode;
use vitals::registry::DataType;

use crate::body::unknown::meant;
use crate::error::{ApiError, Result};

/// Reads the data type of a path; `code` is that of the error. 404 since it is part of the address: in a body the same name is
/// 422.
pub(crate) fn data_type_of_path(name: &str, code: &'static str) -> Result<DataType> {
    DataType::from_name(name).ok_or_else(|| ApiError::Particular {
        status: StatusCode::NOT_FOUND,
        code,
        message: format!("there is no such data type{}", meant(name, DataType::names())).into(),
    })
}
