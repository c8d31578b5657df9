//! Rust code that documents quote has to be in the sources as it is quoted.

use std::path::Path;

use super::accounted::pages;
use super::blocks::{Block, at_root, blocks_of};

/// Returns a text without whitespace, since documents break lines at other places than the sources.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Returns whether a source has a quotation: its pieces in their order, with anything between them where the quotation has `…` or a
/// line without text.
fn is_quoted_from(quotation: &str, source: &str) -> bool {
    let mut rest = source;
    quotation.split("\n\n").flat_map(|paragraph| paragraph.split('…')).map(squeezed).all(|piece| {
        let after = rest.split_once(&piece).map(|(_, after)| after);
        rest = after.unwrap_or("");
        after.is_some()
    })
}

/// Adds all sources below a folder, squeezed.
fn sources_below(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            sources_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(squeezed(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

#[test]
fn code_of_the_documents_is_in_the_sources() {
    let mut sources = Vec::new();
    for krate in std::fs::read_dir(at_root("crates")).unwrap() {
        sources_below(&krate.unwrap().path().join("src"), &mut sources);
    }
    assert!(sources.len() > 300, "{}", sources.len());
    for page in pages() {
        let quotations: Vec<Block> = blocks_of(&page).into_iter().filter(|block| block.language == "rust").collect();
        for Block { text, .. } in quotations {
            assert!(
                sources.iter().any(|source| is_quoted_from(&text, source)),
                "{page} quotes code that no source has:\n{text}"
            );
        }
    }
}

#[test]
fn quotation_is_found_as_it_is_only() {
    let source = squeezed("fn a() {\n    b(1,\n      2)\n}\nfn c() {}");
    for (quotation, is_there) in [
        ("fn a() {\n  b(1, 2)\n}", true),
        ("fn a() { … }\n", true),
        ("fn a() {\n\nfn c() {}", true),
        ("fn c() {}\n\nfn a() {", false),
        ("fn a() { b(1, 3) }", false),
    ] {
        assert_eq!(is_quoted_from(quotation, &source), is_there, "{quotation}");
    }
}
