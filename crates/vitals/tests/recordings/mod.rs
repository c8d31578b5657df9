//! Finds the recordings with outside truth, which are not part of the repository.
//!
//! `PULSEWARD_REAL_DATA` names their folder, else it is `../shared/data/real` next to the
//! repository. Without it a test says loudly that it did not run; where `CI` is set it fails.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a recording that cannot be read fails its test")]

use std::io::Read;
use std::path::PathBuf;

/// Returns the folder of the recordings, or None after saying that the test is skipped.
#[allow(clippy::disallowed_methods, reason = "the environment says where data lie")]
pub fn folder() -> Option<PathBuf> {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real");
    let folder = std::env::var("PULSEWARD_REAL_DATA").map_or(shared, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var("CI").is_err(), "recordings are not at {}", folder.display());
    eprintln!("SKIPPED: no recordings at {} (set PULSEWARD_REAL_DATA)", folder.display());
    None
}

/// Returns the text of one file, gunzipped when its name ends in `.gz`.
pub fn text(name: &str) -> Option<String> {
    let path = folder()?.join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Some(String::from_utf8(bytes).unwrap());
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    Some(text)
}

/// Returns the rows of a CSV file below its header, as text cells.
pub fn rows(name: &str) -> Option<Vec<Vec<String>>> {
    let text = text(name)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    Some(reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect())
}

/// One column of rows as numbers.
pub fn numbers(rows: &[Vec<String>], column: usize) -> Vec<f64> {
    rows.iter().map(|row| row[column].parse().unwrap()).collect()
}

/// Returns a JSON file.
pub fn json(name: &str) -> Option<serde_json::Value> {
    Some(serde_json::from_str(&text(name)?).unwrap())
}

/// Asserts a relative difference of at most `tolerance`.
#[track_caller]
pub fn assert_close(name: &str, ours: f64, truth: f64, tolerance: f64) {
    let limit = tolerance * truth.abs().max(1e-12);
    assert!((ours - truth).abs() <= limit, "{name}: {ours} instead of {truth}");
}
