//! The form of an answer: JSON, CSV, Arrow or Parquet, as `Accept` asks.

use arrow_ipc::writer::StreamWriter;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use parquet::arrow::ArrowWriter;
use platform::PlatformError;
use store::PatientId;
use store::columnar::{arrow_schema, record_batch};
use store::segment::{RowOrder, file_properties};
use vitals::block::Block;
use vitals::registry::DataType;

use crate::error::ApiError;
use crate::raw_rows::{CsvRows, JsonRows, header};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Csv,
    Arrow,
    Parquet,
}

impl Form {
    const ALL: [Form; 4] = [Form::Json, Form::Csv, Form::Arrow, Form::Parquet];

    /// Returns the content type.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Csv => "text/csv; charset=utf-8",
            Form::Arrow => "application/vnd.apache.arrow.stream",
            Form::Parquet => "application/vnd.apache.parquet",
        }
    }

    /// Returns the form that a request prefers; JSON when it does not say. Of each form the most specific range counts,
    /// and one of weight 0 refuses it (RFC 9110, 12.5.1).
    pub(super) fn asked_for(headers: &HeaderMap) -> Result<Self, ApiError> {
        let accepted: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if accepted.is_empty() {
            return Ok(Form::Json);
        }
        let ranges: Vec<(String, f32)> =
            accepted.iter().flat_map(|value| value.split(',')).map(kind_and_weight).collect();
        let mut best: Option<(Wish, Form)> = None;
        for form in Form::ALL {
            let Some(wish) = form.wish(&ranges) else { continue };
            if wish.weight > 0.0 && best.is_none_or(|(known, _)| wish.is_above(known)) {
                best = Some((wish, form));
            }
        }
        best.map(|(_, form)| form).ok_or(ApiError::Particular {
            status: StatusCode::NOT_ACCEPTABLE,
            code: "not_acceptable",
            message: "the answer can be JSON, CSV, an Arrow stream or Parquet".into(),
        })
    }

    /// Returns what the most specific of the ranges that mean this form says of it.
    fn wish(self, ranges: &[(String, f32)]) -> Option<Wish> {
        let mut found: Option<Wish> = None;
        for (place, (kind, weight)) in ranges.iter().enumerate() {
            let Some(precision) = self.precision(kind) else { continue };
            if found.is_none_or(|known| precision > known.precision) {
                found = Some(Wish { weight: *weight, precision, place });
            }
        }
        found
    }

    /// Returns how precisely a range means this form; `None` when it does not.
    fn precision(self, kind: &str) -> Option<u8> {
        let own = self.content_type().split(';').next().unwrap_or_default();
        let (group, _) = own.split_once('/')?;
        match kind {
            "*/*" => Some(0),
            _ if kind.strip_suffix("/*") == Some(group) => Some(1),
            _ => (kind == own).then_some(2),
        }
    }
}

/// What a range says of a form.
#[derive(Clone, Copy)]
struct Wish {
    weight: f32,
    precision: u8,
    place: usize,
}

impl Wish {
    /// Of equal weight a form that is named goes before one that is meant among others, and then the earlier range.
    fn is_above(self, other: Wish) -> bool {
        let order = self.weight.total_cmp(&other.weight).then(self.precision.cmp(&other.precision));
        order.then(other.place.cmp(&self.place)).is_gt()
    }
}

fn kind_and_weight(range: &str) -> (String, f32) {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| {
        let (name, weight) = part.split_once('=')?;
        // Names of parameters have no case; a weight that cannot be read says nothing.
        name.trim().eq_ignore_ascii_case("q").then(|| weight.trim().parse().ok()).flatten()
    });
    (kind, weight.filter(|weight: &f32| !weight.is_nan()).unwrap_or(1.0))
}

/// Writes blocks in a form, piece by piece.
pub(super) enum Writer {
    Json(JsonRows),
    Csv(CsvRows, Option<Vec<u8>>),
    Arrow(DataType, StreamWriter<Vec<u8>>),
    Parquet(DataType, Box<ArrowWriter<Vec<u8>>>),
}

impl Writer {
    pub(super) fn new(form: Form, data_type: DataType, patient: &PatientId) -> Result<Self, PlatformError> {
        Ok(match form {
            Form::Json => Writer::Json(JsonRows::new(data_type)),
            Form::Csv => Writer::Csv(CsvRows::default(), Some(header(data_type))),
            Form::Arrow => {
                let writer = StreamWriter::try_new(Vec::new(), &arrow_schema(data_type)).map_err(internal)?;
                Writer::Arrow(data_type, writer)
            }
            Form::Parquet => {
                // The same as of sealed files, so that tools which read the one read the other.
                let properties = file_properties(data_type, patient, RowOrder::Time)?;
                let writer = ArrowWriter::try_new(Vec::new(), arrow_schema(data_type), Some(properties));
                Writer::Parquet(data_type, Box::new(writer.map_err(internal)?))
            }
        })
    }

    /// Returns the bytes of some blocks.
    pub(super) fn write(&mut self, blocks: &[Block]) -> Result<Vec<u8>, PlatformError> {
        let mut bytes = Vec::new();
        match self {
            Writer::Json(rows) => rows.write(blocks, &mut bytes),
            Writer::Csv(rows, header) => {
                bytes = header.take().unwrap_or_default();
                rows.write(blocks, &mut bytes);
            }
            Writer::Arrow(data_type, writer) => {
                let blocks: Vec<&Block> = blocks.iter().collect();
                // A batch without rows says nothing, and the schema has been written already.
                if !blocks.is_empty() {
                    writer.write(&record_batch(*data_type, &blocks)?).map_err(internal)?;
                }
                bytes = std::mem::take(writer.get_mut());
            }
            Writer::Parquet(data_type, writer) => {
                let blocks: Vec<&Block> = blocks.iter().collect();
                writer.write(&record_batch(*data_type, &blocks)?).map_err(internal)?;
                bytes = std::mem::take(writer.inner_mut());
            }
        }
        Ok(bytes)
    }

    /// Returns the last bytes.
    pub(super) fn finish(self) -> Result<Vec<u8>, PlatformError> {
        let mut bytes = Vec::new();
        match self {
            Writer::Json(rows) => rows.finish(&mut bytes),
            // Without any row the header is still to be written: an empty file has no columns.
            Writer::Csv(_, header) => bytes = header.unwrap_or_default(),
            Writer::Arrow(_, mut writer) => {
                writer.finish().map_err(internal)?;
                bytes = std::mem::take(writer.get_mut());
            }
            Writer::Parquet(_, writer) => bytes = writer.into_inner().map_err(internal)?,
        }
        Ok(bytes)
    }
}

fn internal(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn form(accept: &'static str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        Form::asked_for(&headers).ok()
    }

    #[test]
    fn the_form_with_the_greatest_weight_is_given() {
        assert_eq!(Form::asked_for(&HeaderMap::new()).ok(), Some(Form::Json));
        assert_eq!(form("*/*"), Some(Form::Json));
        assert_eq!(form("text/csv"), Some(Form::Csv));
        assert_eq!(form("application/json;q=0.5, application/vnd.apache.parquet"), Some(Form::Parquet));
        assert_eq!(form("Application/Vnd.Apache.Arrow.Stream"), Some(Form::Arrow));
        assert_eq!(form("text/html"), None);
        assert_eq!(form("application/json;q=0"), None);
    }

    #[test]
    fn a_form_of_weight_zero_is_refused_whatever_else_is_taken() {
        assert_eq!(form("application/json;q=0, */*"), Some(Form::Csv));
        assert_eq!(form("*/*, application/json;q=0, text/csv; Q=0.0"), Some(Form::Arrow));
        assert_eq!(form("text/csv, */*;q=0"), Some(Form::Csv));
        assert_eq!(form("application/*;q=0, application/json"), Some(Form::Json));
        assert_eq!(form("*/*;q=0"), None);
        assert_eq!(form("text/csv;q=0.5, */*;q=0.1"), Some(Form::Csv));
        assert_eq!(form("application/vnd.apache.parquet;q=0.5, */*"), Some(Form::Json));
        assert_eq!(form("text/*, application/*"), Some(Form::Csv));
    }
}
