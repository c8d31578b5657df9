//! Blocks that no test runs name programs and files that are there.

use std::path::PathBuf;

use super::accounted::pages;
use super::blocks::{at_root, blocks_of};

/// Folders and files of the repository that commands may name.
const OURS: [&str; 5] = ["benchmarks/", "config.example.toml", "crates/", "deploy/", "fuzz/"];

/// The paths that a command needs, from the root; each as all places where it may lie.
fn needed(command: &str) -> Vec<Vec<PathBuf>> {
    let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
    let after = |flag: &str| words.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1]);
    let mut paths: Vec<Vec<PathBuf>> = words
        .iter()
        .filter(|word| OURS.iter().any(|ours| word.starts_with(ours)))
        .map(|word| vec![PathBuf::from(word)])
        .collect();
    let krate = PathBuf::from("crates").join(after("-p").unwrap_or("pulseward"));
    for (flag, folder) in [("--bench", "benches"), ("--example", "examples"), ("--test", "tests")] {
        if let Some(name) = after(flag) {
            let folder = krate.join(folder);
            paths.push(vec![folder.join(name).join("main.rs"), folder.join(format!("{name}.rs"))]);
        }
    }
    paths
}

#[test]
fn blocks_that_no_test_runs_name_what_is_there() {
    let mut found = 0;
    for page in pages() {
        for block in blocks_of(&page).into_iter().filter(|block| block.reason().is_some()) {
            for places in block.text.lines().flat_map(needed) {
                let is_there = places.iter().any(|path| at_root(path.to_str().unwrap()).exists());
                assert!(is_there, "{page} names what is not there: {places:?}");
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found}");
}
