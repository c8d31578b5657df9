//! What a killed process leaves in a folder: files that were being written.

use boxed_futures::boxed_futures;

use std::path::Path;
use std::time::UNIX_EPOCH;

use super::store::{Objects, Place};
use crate::engine::blocking;
use crate::error::{Result, StoreError};

#[boxed_futures]
impl Objects {
    /// Removes files that were being written and have not been touched since a time, ms; answers how many. A bucket
    /// shows no half-written objects; its own rule removes parts that were never joined.
    pub async fn sweep_unfinished(&self, untouched_since_ms: i64) -> Result<u64> {
        let Place::Folder(folder) = self.place.clone() else { return Ok(0) };
        blocking(move || sweep(&folder, untouched_since_ms).map_err(|error| StoreError::Unavailable(error.to_string())))
            .await
    }
}

fn sweep(folder: &Path, untouched_since_ms: i64) -> std::io::Result<u64> {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            removed += sweep(&entry.path(), untouched_since_ms)?;
            continue;
        }
        if !kind.is_file() || !is_unfinished(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let touched = entry.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        // A file that is being written is touched again and again; one that was not for long has no writer.
        if (touched.as_millis() as i64) < untouched_since_ms {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A file that is being written has the name that it will have, `#` and a number.
fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#')
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_unfinished_files_of_old_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let objects = Objects::folder(folder.path()).expect("a folder");
        std::fs::create_dir_all(folder.path().join("v1/type=ecg")).expect("a folder");
        for name in ["v1/type=ecg/a.parquet", "v1/type=ecg/a.parquet#1", "v1/b.zip#23", "v1/c#", "v1/d#x"] {
            std::fs::write(folder.path().join(name), "bytes").expect("written");
        }
        assert_eq!(objects.sweep_unfinished(0).await.expect("swept"), 0);
        assert_eq!(objects.sweep_unfinished(i64::MAX).await.expect("swept"), 2);
        assert!(folder.path().join("v1/type=ecg/a.parquet").exists());
        assert!(!folder.path().join("v1/b.zip#23").exists());
    }
}
