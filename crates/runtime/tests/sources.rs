//! What clippy cannot see: the sources of the shipped crates are read for randomness in `select!` and in hash tables.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by stopping")]

use std::path::{Path, PathBuf};

/// The crates that the service consists of.
const SHIPPED: [&str; 5] = ["store", "platform", "api", "portal", "pulseward"];

/// Returns the lines of a source that break a rule, with the rule.
fn faults(source: &str) -> Vec<(usize, &'static str)> {
    let code: Vec<&str> = source.lines().map(without_comment).collect();
    let code = code.join("\n");
    let line_of = |at: usize| code[..at].matches('\n').count() + 1;
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut faults = Vec::new();
    for (at, found) in code.match_indices("select!") {
        let inside = code[at + found.len()..].trim_start().trim_start_matches(['{', '(', '[']).trim_start();
        if !code[..at].ends_with(is_word) && !inside.starts_with("biased;") {
            faults.push((line_of(at), "select! without biased;"));
        }
    }
    for (at, _) in code.match_indices("RandomState") {
        faults.push((line_of(at), "RandomState instead of runtime::Hashing"));
    }
    // The attribute of tests makes one as well, so clippy cannot forbid it.
    for (at, _) in code.match_indices("runtime::Builder") {
        faults.push((line_of(at), "a runtime of tokio instead of runtime::run"));
    }
    faults
}

/// Returns a line without its comment.
fn without_comment(line: &str) -> &str {
    match line.find("//") {
        // An address in a string is no comment.
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn shipped_sources_have_no_unbiased_select_and_no_random_state() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for name in SHIPPED {
        let mut files = Vec::new();
        rust_files(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        for file in files {
            let source = std::fs::read_to_string(&file).unwrap();
            found.extend(faults(&source).into_iter().map(|(line, rule)| format!("{}:{line}: {rule}", file.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn planted_faults_are_found_with_their_lines() {
    let source = "async fn wait() { // a comment
        tokio::select! { _ = one() => {}, _ = other() => {} }
        futures::select! {
            () = one => {}
        }
        select!(() = one => {});
        let hasher = std::hash::RandomState::new();
        tokio::runtime::Builder::new_multi_thread();
    }";
    let random = "select! without biased;";
    let expected = [
        (2, random),
        (3, random),
        (6, random),
        (7, "RandomState instead of runtime::Hashing"),
        (8, "a runtime of tokio instead of runtime::run"),
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn biased_selects_and_comments_are_no_faults() {
    let source = "async fn wait() {
        tokio::select! { biased; _ = one() => {} }
        tokio::select! {
            // The stop signal first.
            biased;
            _ = one() => {}
        }
        // tokio::select! { _ = one() => {} } draws from RandomState
        futures::select_biased! { () = one => {} }
        let address = \"http://example.org/\";
    }";
    assert_eq!(faults(source), []);
}
