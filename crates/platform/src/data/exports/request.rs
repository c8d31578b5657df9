//! What an export is asked for, and how that is kept with the job and in the manifest.

use serde::{Deserialize, Serialize};
use vitals::registry::DataType;

use crate::core::error::{PlatformError, Result};

/// Whether data files are text or columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArchiveFormat {
    /// CSV.
    #[default]
    Csv,
    /// Parquet, whose columns are compressed already.
    Parquet,
}

/// What is done to text within the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArchiveCompression {
    /// Deflated.
    #[default]
    Deflate,
    /// Stored as it is.
    Store,
}

/// A request for an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportRequest {
    /// The types, in the order of the registry, each once.
    types: Vec<DataType>,
    /// First millisecond of the samples' own local clocks, since 1970-01-01T00:00.
    pub from_local_ms: i64,
    /// Last millisecond.
    pub to_local_ms: i64,
    /// Form of the data files.
    pub format: ArchiveFormat,
    /// What is done to text.
    pub compression: ArchiveCompression,
}

/// A request as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    types: Vec<String>,
    from_local_ms: i64,
    to_local_ms: i64,
    format: ArchiveFormat,
    compression: ArchiveCompression,
}

impl ExportRequest {
    /// Makes a request for some types, in whatever order and however often they are named.
    pub fn new(types: &[DataType], from_local_ms: i64, to_local_ms: i64) -> Self {
        ExportRequest {
            types: DataType::ALL.into_iter().filter(|data_type| types.contains(data_type)).collect(),
            from_local_ms,
            to_local_ms,
            format: ArchiveFormat::default(),
            compression: ArchiveCompression::default(),
        }
    }

    /// Does the same in another form.
    #[must_use]
    pub fn in_form(self, format: ArchiveFormat, compression: ArchiveCompression) -> Self {
        ExportRequest { format, compression, ..self }
    }

    /// Returns the types, in the order of the registry, each once.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Invalid when nothing is asked for, or the range ends before it begins.
    pub(super) fn check(&self) -> Result<()> {
        if self.types.is_empty() {
            return Err(PlatformError::invalid("types", "is required"));
        }
        if self.to_local_ms < self.from_local_ms {
            return Err(PlatformError::invalid("client_date_to", "must not be before client_date_from"));
        }
        Ok(())
    }

    pub(super) fn to_json(&self) -> Result<String> {
        let kept = Kept {
            types: self.types.iter().map(|data_type| data_type.name().to_owned()).collect(),
            from_local_ms: self.from_local_ms,
            to_local_ms: self.to_local_ms,
            format: self.format,
            compression: self.compression,
        };
        serde_json::to_string(&kept).map_err(|error| PlatformError::Internal(error.to_string()))
    }

    pub(super) fn from_json(text: &str) -> Result<Self> {
        let kept: Kept = serde_json::from_str(text).map_err(|error| PlatformError::Internal(error.to_string()))?;
        // Names and not numbers are kept: a request written by another version is read by what it meant.
        let types: Vec<DataType> = kept.types.iter().filter_map(|name| DataType::from_name(name)).collect();
        let request = ExportRequest::new(&types, kept.from_local_ms, kept.to_local_ms);
        Ok(request.in_form(kept.format, kept.compression))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_as_it_is() {
        let mut request = ExportRequest::new(&[DataType::Tests, DataType::Ppg2, DataType::Tests], -5, 7);
        request.format = ArchiveFormat::Parquet;
        request.compression = ArchiveCompression::Store;
        assert_eq!(request.types(), [DataType::Ppg2, DataType::Tests]);
        assert_eq!(ExportRequest::from_json(&request.to_json().expect("text")).expect("a request"), request);
    }

    #[test]
    fn nothing_and_a_reversed_range_are_not_valid() {
        assert!(ExportRequest::new(&[], 1, 2).check().is_err());
        assert!(ExportRequest::new(&[DataType::Acc], 2, 1).check().is_err());
        assert!(ExportRequest::new(&[DataType::Acc], 2, 2).check().is_ok());
    }
}
