//! The runner of pages: all that a page lets run, in one shell.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::tempdir;

use super::accounted::is_elsewhere;
use super::blocks::Block;
use super::blocks::blocks_of;
use super::shown;

/// What a test puts in for the reader: names with their values, which may be substitutions of the shell.
pub type Yours<'value> = [(&'static str, &'value str)];

/// The names that a block exports.
fn exported(block: &Block) -> impl Iterator<Item = &str> {
    block.text.lines().map(|line| {
        let assignment = line.strip_prefix("export ").unwrap_or_else(|| panic!("`{line}` exports nothing"));
        assignment.split_once('=').unwrap().0
    })
}

/// What every page begins with. What goes wrong ends the script: a status of the service that is no success, a field that is
/// not there. Each answer has a line of its own, and what a page has started ends with it.
const PRELUDE: &str = "\
set -euo pipefail
trap 'kill $(jobs -p) 2>&- || :; wait' EXIT
curl() { command curl --fail-with-body --show-error \"$@\" && echo; }
jq() { command jq -e \"$@\"; }
";

/// One shell script of all that a page lets run.
fn script_of(page: &str, yours: &Yours) -> String {
    let mut script = PRELUDE.to_owned();
    let mut named = BTreeSet::new();
    for block in blocks_of(page) {
        match (block.language.as_str(), block.mark.as_str()) {
            _ if block.reason().is_some() || is_elsewhere(page, &block) => {}
            ("sh", "") => script.push_str(&block.text),
            ("sh", "yours") => {
                for name in exported(&block) {
                    let value = yours.iter().find(|(known, _)| *known == name);
                    let (_, value) = value.unwrap_or_else(|| panic!("the test knows no {name} of {page}"));
                    writeln!(script, "export {name}=\"{value}\"").unwrap();
                    named.insert(name.to_owned());
                }
            }
            ("python", "") => write!(script, "python3 - <<'END OF PYTHON'\n{}END OF PYTHON\n", block.text).unwrap(),
            // Compared with what the blocks before it print.
            ("json", "") => {}
            _ => panic!("nothing runs a block of {page} that is marked `{}`", block.info()),
        }
    }
    let known: BTreeSet<String> = yours.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named, known, "what {page} asks the reader for");
    script
}

/// Runs a page, and compares what its examples print with what it shows; returns what they printed.
pub fn run_guide(page: &str, yours: &Yours) -> String {
    let folder = tempdir().unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pulseward"));
    // Where a build puts it, for pages that name it there.
    let built = folder.path().join("target/release");
    std::fs::create_dir_all(&built).unwrap();
    std::os::unix::fs::symlink(&program, built.join("pulseward")).unwrap();
    let mut shell = Command::new("bash");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PULSEWARD_")) {
        shell.env_remove(name);
    }
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var_os("PATH").unwrap().display());
    shell.arg("-c").arg(script_of(page, yours)).env("PATH", path).current_dir(&folder);
    // A service that a page starts keeps its store here, and takes a port that is free.
    shell.env("HOME", folder.path()).env("PULSEWARD_LISTEN", "127.0.0.1:0");
    let output = shell.output().unwrap();
    let (reported, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{page}: {}\n{reported}\n{errors}", output.status);
    assert_shows(page, &answers(&reported));
    reported.into_owned()
}

/// Each answer that a page shows is among those that its examples have printed, in the same order.
fn assert_shows(page: &str, answers: &[Value]) {
    let mut rest = answers.iter();
    let blocks = blocks_of(page).into_iter().filter(|block| !is_elsewhere(page, block) && block.reason().is_none());
    for shown in blocks.flat_map(|block| shown::in_block(&block)) {
        let is_there = rest.any(|answer| shown::is_as_shown(&shown, answer));
        assert!(is_there, "{page} shows {shown}, and its examples print {answers:#?}");
    }
}

/// Whether the programs are here that pages use.
pub fn can_run() -> bool {
    let missing: Vec<&str> = ["bash", "curl", "jq", "python3", "openssl", "perl"]
        .into_iter()
        .filter(|program| Command::new(program).arg("--version").output().is_err())
        .collect();
    if !missing.is_empty() {
        testkit::skip(&format!("the guides need {missing:?}"));
    }
    missing.is_empty()
}

/// The answers among what was printed: all JSON that begins a line.
pub fn answers(reported: &str) -> Vec<Value> {
    let (mut rest, mut found) = (reported, Vec::new());
    while !rest.is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(value)) if value.is_object() || value.is_array() => {
                found.push(value);
                values.byte_offset()
            }
            _ => rest.find('\n').map_or(rest.len(), |end| end + 1),
        };
        rest = &rest[end..];
    }
    found
}
