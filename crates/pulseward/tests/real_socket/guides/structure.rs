//! What ARCHITECTURE.md draws of the crates, and the commands that the README of the portal lists.

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocks::{Block, at_root, blocks_of};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const PORTAL: &str = "crates/portal/README.md";

/// The one block of a page that has these words behind its fence.
fn block_of(page: &str, info: &str) -> Block {
    let mut found: Vec<Block> = blocks_of(page).into_iter().filter(|block| block.info() == info).collect();
    assert_eq!(found.len(), 1, "{page}: blocks of `{info}`");
    found.remove(0)
}

/// Names of the crates of the project.
fn crates() -> Vec<String> {
    let folders = std::fs::read_dir(at_root("crates")).unwrap().map(|entry| entry.unwrap());
    folders.map(|folder| folder.file_name().into_string().unwrap()).collect()
}

/// The crates of the project that a crate uses outside of its tests.
fn used_by(krate: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(at_root("crates").join(krate).join("Cargo.toml")).unwrap();
    let (_, after) = manifest.split_once("[dependencies]\n").unwrap_or(("", ""));
    let section = after.split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| at_root("crates").join(name).is_dir() && !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_what_the_drawing_has_further_to_the_right() {
    let Block { text, .. } = block_of(ARCHITECTURE, "text crates");
    for krate in crates() {
        assert!(text.contains(&krate), "the drawing lacks {krate}");
    }
    let (first, others) = text.split_once('\n').unwrap();
    let places: BTreeMap<&str, usize> = first
        .split("─►")
        .enumerate()
        .flat_map(|(at, names)| names.split(',').map(move |name| (name.trim(), at)))
        .collect();
    assert!(places.len() > 6, "{places:?}");
    for (krate, at) in &places {
        for used in used_by(krate).iter().filter_map(|used| Some((used, places.get(used.as_str())?))) {
            assert!(used.1 > at, "{krate} uses {}, which lies left of it", used.0);
        }
    }
    assert!(used_by("api").iter().any(|used| used == "platform"), "the manifests are read");
    let apart: Vec<&str> = others.lines().filter_map(|line| line.split("──► ").nth(1)?.split(' ').next()).collect();
    assert_eq!(apart, ["portal", "bracelet"]);
    for krate in apart {
        let known: Vec<String> = used_by(krate).into_iter().filter(|used| places.contains_key(used.as_str())).collect();
        assert!(known.is_empty(), "{krate} knows {known:?}");
    }
}

#[test]
fn commands_of_the_portals_readme_are_scripts_of_its_package() {
    let Block { text, .. } = block_of(PORTAL, "sh portal");
    let package = std::fs::read_to_string(at_root("crates/portal/web/package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    let mut named: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["npm", "run", script, ..] | ["npm", script @ "test", ..] => Some(script),
                _ => None,
            }
        })
        .collect();
    named.sort_unstable();
    let mut scripts: Vec<&str> = package["scripts"].as_object().unwrap().keys().map(String::as_str).collect();
    scripts.sort_unstable();
    assert_eq!(named, scripts);
    let folder = text.lines().find_map(|line| line.strip_prefix("cd ")).unwrap();
    assert!(at_root(folder).join("build.mjs").is_file(), "{folder}");
}
