//! Every block of README.md, of ARCHITECTURE.md, of the portal's README and of docs/ is run, compared with what it shows, or has a reason why not.

use std::collections::BTreeMap;

use super::blocks::{Block, at_root, blocks_in, blocks_of};

/// Pages of which `run_guide` runs all programs and compares all answers that they show, and the test that has it do so.
const RUN: [(&str, &str); 7] = [
    ("README.md", "guides/readme.rs::the_readme_is_followed_to_a_key"),
    ("docs/getting-started-app-developer.md", "guides.rs::the_guide_for_app_developers"),
    ("docs/getting-started-data-scientist.md", "guides.rs::the_guide_for_data_scientists"),
    ("docs/getting-started-operator.md", "guides.rs::the_guide_for_operators"),
    ("docs/getting-started-researcher.md", "guides.rs::the_guide_for_researchers"),
    ("docs/logins-and-oauth.md", "guides/on_demonstration.rs::logins"),
    ("docs/operations.md", "guides/on_demonstration.rs::operations"),
];

/// Blocks that something else runs or compares: page, what is written behind the fence, how many of them, the test.
const ELSEWHERE: [(&str, &str, usize, &str); 17] = [
    (
        "ARCHITECTURE.md",
        "text crates",
        1,
        "guides/structure.rs::crates_use_only_what_the_drawing_has_further_to_the_right",
    ),
    (
        "crates/portal/README.md",
        "sh portal",
        1,
        "guides/structure.rs::commands_of_the_portals_readme_are_scripts_of_its_package",
    ),
    ("README.md", "json", 1, "guides/readme.rs::first_command"),
    ("README.md", "sh printed", 1, "guides/readme.rs::first_command"),
    ("docs/adding-a-derivation.md", "rust", 1, "guides/quoted.rs::code_of_the_documents_is_in_the_sources"),
    ("docs/adding-an-endpoint.md", "rust", 1, "guides/quoted.rs::code_of_the_documents_is_in_the_sources"),
    ("docs/api-conventions.md", "json", 1, "guides/pages.rs::error_of_the_conventions_is_answered"),
    ("docs/database.md", "rust", 1, "guides/quoted.rs::code_of_the_documents_is_in_the_sources"),
    ("docs/exports.md", "json", 1, "guides/on_demonstration.rs::lake"),
    (
        "docs/exports.md",
        "python readers",
        3,
        "averages.rs::examples_print_on_todays_demonstration_what_the_guides_show",
    ),
    ("docs/exports.md", "text", 3, "averages.rs::examples_print_on_todays_demonstration_what_the_guides_show"),
    (
        "docs/getting-started-data-scientist.md",
        "python readers",
        1,
        "averages.rs::examples_print_on_todays_demonstration_what_the_guides_show",
    ),
    (
        "docs/getting-started-data-scientist.md",
        "sql",
        1,
        "averages.rs::examples_of_samples_leave_out_what_means_no_value",
    ),
    (
        "docs/getting-started-data-scientist.md",
        "text",
        2,
        "averages.rs::examples_print_on_todays_demonstration_what_the_guides_show",
    ),
    (
        "docs/getting-started-operator.md",
        "toml",
        4,
        "../../src/config/example.rs::the_files_that_the_operators_guide_shows_are_ones_that_the_program_takes",
    ),
    ("docs/operations.md", "ini", 1, "systemd_unit.rs::addition_of_the_guide_takes_the_right_to_low_ports_away"),
    ("docs/validation.md", "sh", 1, "../../../vitals/tests/validation.rs::the_page_is_what_the_command_prints"),
];

/// Whether another test than the runner of pages has a block.
pub fn is_elsewhere(page: &str, block: &Block) -> bool {
    ELSEWHERE.iter().any(|(of, info, ..)| *of == page && *info == block.info())
}

/// What is wrong with the blocks of a page.
fn faults_of(page: &str, text: &str) -> Vec<String> {
    let is_run = RUN.iter().any(|(of, _)| *of == page);
    let mut elsewhere: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for block in blocks_in(page, text) {
        let is_of_runner = matches!(block.info().as_str(), "sh" | "sh yours" | "python" | "json");
        match block.reason() {
            // One word is no reason.
            Some(reason) if reason.split_whitespace().count() > 1 => {}
            _ if is_elsewhere(page, &block) => *elsewhere.entry(block.info()).or_default() += 1,
            _ if is_run && is_of_runner => {}
            _ => faults.push(format!(
                "{page}: nothing runs a block of `{}`, and no reason says why:\n{}",
                block.info(),
                block.text
            )),
        }
    }
    for (_, info, count, test) in ELSEWHERE.iter().filter(|(of, ..)| *of == page) {
        let there = elsewhere.get(*info).copied().unwrap_or(0);
        if there != *count {
            faults.push(format!("{page}: {there} blocks of `{info}`, and {test} is known to have {count}"));
        }
    }
    faults
}

/// What lies in docs/, and the pages elsewhere that this repository documents itself with. The README of `vitals` is not
/// among them: rustdoc runs its blocks.
pub fn pages() -> Vec<String> {
    let files = std::fs::read_dir(at_root("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let docs = docs.map(|path| format!("docs/{}", path.file_name().unwrap().to_str().unwrap()));
    let others = ["README.md", "ARCHITECTURE.md", "crates/portal/README.md"].map(str::to_owned);
    let mut pages: Vec<String> = docs.chain(others).collect();
    pages.sort();
    pages
}

#[test]
fn every_block_is_run_or_compared_or_has_a_reason() {
    let pages = pages();
    assert!(pages.len() > 20, "{pages:?}");
    for page in ["ARCHITECTURE.md", "crates/portal/README.md"] {
        assert!(pages.iter().any(|one| one == page) && !blocks_of(page).is_empty(), "{page}");
    }
    let text_of = |page: &String| std::fs::read_to_string(at_root(page)).unwrap();
    let faults: Vec<String> = pages.iter().flat_map(|page| faults_of(page, &text_of(page))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tests_of_blocks_are_there_and_name_the_page() {
    let tests =
        RUN.iter().map(|(page, test)| (page, test)).chain(ELSEWHERE.iter().map(|(page, _, _, test)| (page, test)));
    for (page, test) in tests {
        let (file, name) = test.split_once("::").unwrap();
        let source = std::fs::read_to_string(at_root("crates/pulseward/tests/real_socket").join(file)).unwrap();
        assert!(source.contains(&format!("fn {name}(")), "{test}");
        let page = page.rsplit('/').next().unwrap();
        assert!(source.contains(page) || source.contains("pages()"), "{test} does not name {page}");
    }
}

#[test]
fn block_that_nothing_runs_is_a_fault_without_a_reason() {
    let count =
        |page: &str, block: &str| faults_of(page, &format!("# Title\n\n- item\n\n  {block}\n  x\n  ```\n")).len();
    for block in ["```", "```sh", "```json", "```sh yours", "```sh no-run", "```sh no-run:", "```toml no-run: root"] {
        assert_eq!(count("docs/new.md", block), 1, "{block}");
    }
    assert_eq!(count("docs/new.md", "```toml no-run: needs root"), 0);
    let page = "docs/getting-started-researcher.md";
    assert_eq!((count(page, "```sh"), count(page, "```json"), count(page, "```sql")), (0, 0, 1));
    assert_eq!(count("docs/validation.md", "```sh"), 0);
    assert_eq!(count("docs/validation.md", "```json"), 2, "what is new, and what is not there any more");
}
