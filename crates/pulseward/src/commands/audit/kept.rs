//! Checkpoints that somebody kept elsewhere, as files.

use std::path::{Path, PathBuf};

use platform::KeptCheckpoint;
use store::LARGEST_CHECKPOINT;

use crate::failure::Failure;

/// Returns the files that are named, and those of folders that are named (`*.json`), in the order of their names.
///
/// # Errors
/// [`Failure::Usage`] for a folder without any: naming one means that something is to be compared.
pub fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|error| Failure::file("read", path, error))? {
            let file = entry.map_err(|error| Failure::file("read", path, error))?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                found.push(file);
            }
        }
        if found.is_empty() {
            return Err(Failure::Usage(format!("{} holds no checkpoint (*.json)", path.display())));
        }
        found.sort_unstable();
        files.extend(found);
    }
    Ok(files)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<KeptCheckpoint, Failure> {
    let failed = |error| Failure::file("read", path, error);
    // Read as nothing, so that it is reported among the others and does not end the comparison.
    let is_small = std::fs::metadata(path).map_err(failed)?.len() <= LARGEST_CHECKPOINT;
    let bytes = if is_small { std::fs::read(path).map_err(failed)? } else { Vec::new() };
    Ok(KeptCheckpoint { name: path.display().to_string(), bytes })
}
