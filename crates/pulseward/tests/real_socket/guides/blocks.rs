//! The fenced blocks of the guides.
//!
//! The words behind a block's language say what else it is: `yours` (what the reader puts in; a test puts in its own values
//! for the same names), `no-run: REASON` (nothing can run it), and others that `accounted.rs` knows.

use std::path::{Path, PathBuf};

/// Begin of the mark of a block that no test runs; its reason follows.
pub const NOT_RUN: &str = "no-run: ";

/// A block of a page.
pub struct Block {
    pub language: String,
    pub mark: String,
    pub text: String,
}

impl Block {
    /// What is written behind the fence that opens it.
    pub fn info(&self) -> String {
        format!("{} {}", self.language, self.mark).trim_end().to_owned()
    }

    /// The reason why nothing runs it, where it has one.
    pub fn reason(&self) -> Option<&str> {
        self.mark.strip_prefix(NOT_RUN)
    }
}

/// A path from the root of the repository.
pub fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The blocks of a page, which is named by its path from the root.
pub fn blocks_of(page: &str) -> Vec<Block> {
    blocks_in(page, &std::fs::read_to_string(at_root(page)).unwrap())
}

/// The blocks in the text of a page. Those of a list are indented by as much as their fence.
pub fn blocks_in(page: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut indent = None;
    for line in text.lines() {
        let content = line.trim_start();
        assert!(!content.starts_with("~~~"), "{page}: fences are made of backticks: {line}");
        match (content.strip_prefix("```"), indent) {
            (Some(_), Some(_)) => indent = None,
            (Some(info), None) => {
                let (language, mark) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
                let (language, mark) = (language.to_owned(), mark.to_owned());
                blocks.push(Block { language, mark, text: String::new() });
                indent = Some(line.len() - content.len());
            }
            (None, Some(indent)) => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line.get(indent..).unwrap_or(""));
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(indent.is_none(), "a block of {page} has no end");
    blocks
}
