//! Services call one another in one order only, and rights to read that no caller shows are made in few places.

use std::fs;
use std::path::{Path, PathBuf};

/// Each calls only those listed before it.
const ORDER: [&str; 6] = ["core", "identity", "people", "data", "upkeep", "platform"];

/// What makes a right to read where no caller's access is looked up, and the sources that may.
const DOORS: [(&str, &[&str]); 4] = [
    ("Readable::by_scope(", &["identity/health_sessions.rs"]),
    ("Readable::for_board_listeners(", &["data/portal/changes.rs"]),
    ("Readable::for_derivation(", &["data/derivations/derive.rs", "data/derivations/recompute.rs"]),
    ("Readable::for_export(", &["data/exports/worker.rs"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    // The engine's own tests run it over a whole process.
    below.filter(|path| !path.ends_with("jobs/tests.rs")).collect()
}

/// Returns the folders that a source names and that are listed after its own.
fn climbs(text: &str, own: usize) -> Vec<&'static str> {
    let is_named = |name: &&&str| text.contains(&format!("crate::{name}::"));
    ORDER[own + 1..].iter().filter(is_named).copied().collect()
}

#[test]
fn no_service_names_one_above_it() {
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

#[test]
fn rights_without_a_caller_are_made_where_they_are_meant_to_be() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let texts: Vec<(String, String)> = ORDER[..5]
        .iter()
        .flat_map(|folder| sources(&src.join(folder)))
        .map(|file| (file.strip_prefix(&src).unwrap().display().to_string(), fs::read_to_string(&file).unwrap()))
        // Where they are defined and tested.
        .filter(|(name, _)| name != "core/access.rs")
        .collect();
    for (door, allowed) in DOORS {
        let mut users: Vec<&str> =
            texts.iter().filter(|(_, text)| text.contains(door)).map(|(name, _)| name.as_str()).collect();
        users.sort_unstable();
        assert_eq!(users, allowed, "{door}");
    }
}
