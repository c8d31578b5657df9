//! Where the recorded data are. They are not part of the repository.

use std::path::PathBuf;

/// Returns the folder of recorded data: the variable `PULSEWARD_REAL_DATA`, else `../shared/data/real` next to the
/// repository. `None` when it is not there; the test is then to [`skip`](crate::skip).
pub fn real_data() -> Option<PathBuf> {
    let folder = std::env::var_os("PULSEWARD_REAL_DATA").map(PathBuf::from);
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real");
    let folder = folder.unwrap_or_else(|| PathBuf::from(shared));
    folder.is_dir().then_some(folder)
}
