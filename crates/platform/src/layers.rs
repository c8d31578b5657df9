//! Services call one another in one order only.

use std::fs;
use std::path::{Path, PathBuf};

/// Each calls only what stands before it.
const ORDER: [&str; 6] = ["core", "identity", "people", "data", "upkeep", "platform"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    // The engine's own tests run it over a whole process.
    below.filter(|path| !path.ends_with("jobs/tests.rs")).collect()
}

/// The folders that a source names and that stand behind its own.
fn climbs(text: &str, own: usize) -> Vec<&'static str> {
    let is_named = |name: &&&str| text.contains(&format!("crate::{name}::"));
    ORDER[own + 1..].iter().filter(is_named).copied().collect()
}

#[test]
fn no_service_names_one_that_stands_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (own, folder) in ORDER[..5].iter().enumerate() {
        let files = sources(&src.join(folder));
        assert!(files.len() > 5, "{folder} is empty");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(climbs(&text, own), [""; 0], "{}", file.display());
        }
    }
}

#[test]
fn climb_is_seen() {
    assert_eq!(climbs("use crate::core::Core;\nuse crate::upkeep::jobs::job::Job;", 3), ["upkeep"]);
    assert_eq!(climbs("use crate::core::Core;\nuse crate::people::People;", 3), [""; 0]);
}
