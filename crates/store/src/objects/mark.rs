//! The mark by which a disk that is not mounted shows: the empty folder below it has none. A program that made the folder
//! of objects again there would lose what it writes when the disk is back.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// A disk of the network can be slow to say what is on it.
const LONGEST_LOOK: Duration = Duration::from_secs(4);

/// A file that must be there for anything to be read or written.
#[derive(Debug, Default)]
pub(super) struct Mark(OnceLock<PathBuf>);

#[derive(Debug, thiserror::Error)]
#[error("{0} is not there: is the disk of the objects mounted?")]
struct NotMounted(String);

impl Mark {
    /// From now on the file is expected.
    pub fn expect(&self, path: PathBuf) {
        // Set before by a clone of the store: it is the same file.
        let _ = self.0.set(path);
    }

    /// Fails when the file is expected and not there.
    pub async fn check(&self) -> object_store::Result<()> {
        let Some(path) = self.0.get().cloned() else { return Ok(()) };
        let looked = runtime::timeout(
            LONGEST_LOOK,
            runtime::blocking("look for a mark", move || {
                let is_there = path.try_exists().unwrap_or(false);
                is_there.then_some(()).ok_or_else(|| NotMounted(path.display().to_string()))
            }),
        );
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| {
            Err(object_store::Error::Generic { store: "objects", source })
        };
        match looked.await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(not_mounted))) => refused(Box::new(not_mounted)),
            Ok(Err(ended)) => refused(Box::new(ended)),
            Err(elapsed) => refused(Box::new(elapsed)),
        }
    }
}
