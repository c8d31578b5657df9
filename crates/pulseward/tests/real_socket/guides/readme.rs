//! README.md: what it says that a demonstration prints, and the way to a service of one's own.

use std::process::Command;

use super::blocks::blocks_of;
use super::runner::{answers, can_run, run_guide};
use super::shown;
use crate::demonstration::Demonstration;

const PAGE: &str = "README.md";

#[test]
fn the_readme_is_followed_to_a_key() {
    if !can_run() {
        return;
    }
    let reported = run_guide(PAGE, &[]);
    assert!(reported.split_whitespace().any(|word| word.starts_with("pwk_") && word.len() > 20), "{reported}");
}

/// The first command that a demonstration prints is the one shown, and answers what is shown.
pub fn first_command(demo: &Demonstration) {
    let blocks = blocks_of(PAGE);
    let block = |info: &str| blocks.iter().find(|block| block.info() == info).unwrap();
    let printed = demo.printed.lines().find(|line| line.starts_with("curl ")).unwrap();
    let of_page =
        printed.replace(&demo.url, "http://127.0.0.1:8080").replace(&demo.group, "JYVPQ").replace(&demo.key, "pwk_…");
    assert_eq!(block("sh printed").text, format!("{of_page}\n"));
    let output = Command::new("bash").args(["-c", printed]).output().unwrap();
    let answered = answers(&String::from_utf8(output.stdout).unwrap());
    assert!(
        shown::in_block(block("json")).iter().zip(&answered).all(|(shown, answer)| shown::is_as_shown(shown, answer)),
        "{answered:#?}"
    );
    assert_eq!(answered.len(), 1);
}
