//! Services call one another in one order only, and rights to read that no caller shows are made in few places.

use std::fs;
use std::path::{Path, PathBuf};

/// Each calls only those listed before it.
const ORDER: [&str; 6] = ["core", "identity", "people", "data", "upkeep", "platform"];

/// What only tests have at the root of the crate.
const FOR_TESTS: [&str; 2] = ["test_service", "tests"];

/// What makes a right to read where no caller's access is looked up, by whatever name its type goes, and the sources that may.
const DOORS: [(&str, &[&str]); 4] = [
    ("by_scope(", &["identity/health_sessions.rs"]),
    ("for_board_listeners(", &["data/portal/changes.rs"]),
    ("for_derivation(", &["data/derivations/derive.rs", "data/derivations/recompute.rs"]),
    ("for_export(", &["data/exports/worker.rs"]),
];

/// Who calls, and the sources that may make one.
const CALLERS: [(&str, &[&str]); 4] = [
    ("HealthCaller", &["identity/health_sessions.rs"]),
    ("PortalCaller", &["identity/portal/caller.rs"]),
    ("Researcher", &["identity/api_keys.rs", "identity/portal/caller.rs"]),
    ("UsersCaller", &["identity/tokens.rs"]),
];

/// What reads the data of patients for services that check access themselves, and is asked with the right that followed.
const READS: [&str; 6] =
    ["alarms(", "devices(", "devices_of_patients(", "latest_of_patients(", "newest_news(", "patient_settings("];

/// Tests that run their part over a whole process.
const WHOLE_SERVICE: [&str; 2] = ["jobs/tests.rs", "derivations/event_tests.rs"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| !WHOLE_SERVICE.iter().any(|tests| path.ends_with(tests))).collect()
}

/// Returns the folders that a source names and that are listed after its own. What the crate exports again may be of any
/// folder, so a name that is none of a folder is a climb as well, and so is a list of names.
fn climbs(text: &str, own: usize) -> Vec<&str> {
    let named = text.match_indices("crate::").filter(|(at, _)| !text[..*at].ends_with(is_of_name));
    let first = named.map(|(at, found)| {
        let rest = &text[at + found.len()..];
        let end = rest.find(|letter: char| !is_of_name(letter)).unwrap_or(rest.len());
        &rest[..end.max(usize::from(end == 0))]
    });
    let mut climbs: Vec<&str> =
        first.filter(|name| !ORDER[..=own].contains(name) && !FOR_TESTS.contains(name)).collect();
    climbs.sort_unstable();
    climbs.dedup();
    climbs
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns whether a source makes a value of a type.
fn makes(text: &str, type_name: &str) -> bool {
    let literal = format!("{type_name} {{");
    // What is defined, implemented or answered is not made there.
    let others = ["impl ", "struct ", "for ", "-> "];
    text.match_indices(&literal).any(|(at, _)| {
        let before = &text[..at];
        !before.ends_with(is_of_name) && !others.iter().any(|word| before.ends_with(word))
    })
}

/// Returns the calls of a reader of the health database in a source that name no right.
fn bare_reads<'text>(text: &'text str, read: &str) -> Vec<&'text str> {
    let call = format!("health().{read}");
    let calls = text.match_indices(&call).map(|(at, found)| {
        let rest = &text[at + found.len()..];
        &rest[..rest.find(".await").unwrap_or(rest.len())]
    });
    calls.filter(|arguments| !["uuid()", "uuids()"].iter().any(|right| arguments.contains(right))).collect()
}

/// The sources of all services with their names below `src`, but for the one in which rights are defined and tested.
fn services() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = ORDER[..5].iter().flat_map(|folder| sources(&src.join(folder)));
    let read =
        files.map(|file| (file.strip_prefix(&src).unwrap().display().to_string(), fs::read_to_string(&file).unwrap()));
    read.filter(|(name, _)| name != "core/access.rs").collect()
}

/// Returns the sources that do something.
fn users(services: &[(String, String)], does: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut users: Vec<&str> = services.iter().filter(|(_, text)| does(text)).map(|(name, _)| name.as_str()).collect();
    users.sort_unstable();
    users
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
    assert_eq!(climbs("use crate::{core::Core, upkeep::Upkeep};", 3), ["{"]);
    assert_eq!(climbs("use crate::*;", 3), ["*"]);
    assert_eq!(climbs("use crate::Upkeep;\nlet _ = crate::jobs::all();", 3), ["Upkeep", "jobs"]);
    assert_eq!(climbs("use crate::core::Core;\nuse crate::people::People;\nother_crate::name();", 3), [""; 0]);
}

#[test]
fn rights_without_a_caller_are_made_where_they_are_meant_to_be() {
    let services = services();
    for (door, allowed) in DOORS {
        assert_eq!(users(&services, |text| text.contains(door)), allowed, "{door}");
    }
}

#[test]
fn callers_are_made_where_credentials_are_checked() {
    let services = services();
    for (caller, allowed) in CALLERS {
        assert_eq!(users(&services, |text| makes(text, caller)), allowed, "{caller}");
    }
    assert!(makes("Ok(Researcher { account, ..other })", "Researcher"));
    assert!(!makes("impl Researcher {\nfn of() -> Researcher {\nSecurityResearcher {", "Researcher"));
}

#[test]
fn people_and_latest_values_are_read_by_the_right_that_was_found() {
    let services = services();
    let is_held = |name: &str| name.starts_with("people/") || name == "data/latest.rs";
    for read in READS {
        for (name, text) in services.iter().filter(|(name, _)| is_held(name)) {
            assert_eq!(bare_reads(text, read), [""; 0], "{name}");
        }
    }
    assert_eq!(bare_reads("self.core.health().alarms(patient).await?", "alarms("), ["patient)"]);
    assert_eq!(bare_reads("self.core.health().alarms(readable.uuid()).await?", "alarms("), [""; 0]);
}
