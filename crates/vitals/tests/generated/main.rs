//! Files that follow from the declarations of the data types: the table of the documentation, the portal's list, and the
//! words of the fuzzers. Each test makes a file's text and holds the file of the repository against it.
//!
//! `UPDATE_GENERATED=1 cargo test -p vitals --test generated` writes them again.

mod docs_table;
mod fuzz_words;
mod part;
mod portal_list;

use std::path::Path;

use vitals::registry::{DataType, Declaration};

/// Makes a text of the declarations, and of what else the file holds.
type Generator = fn(&[&Declaration], &str) -> String;

const FILES: [(&str, Generator); 4] = [
    ("docs/data-types.md", docs_table::page),
    ("crates/portal/web/src/data_types.ts", portal_list::module),
    ("fuzz/sync_json.dict", fuzz_words::of_json),
    ("fuzz/sync_arrow.dict", fuzz_words::of_arrow),
];

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[allow(clippy::disallowed_methods)] // a switch for people, not configuration of the program
fn files_are_what_the_declarations_say() {
    let is_written = std::env::var("UPDATE_GENERATED").is_ok();
    for (file, generate) in FILES {
        let checked_in = read(file);
        let text = generate(&DataType::declarations(), &checked_in);
        if is_written {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file), &text).expect("written");
            continue;
        }
        assert!(
            checked_in == text,
            "{file} is not what the declarations say; UPDATE_GENERATED=1 cargo test -p vitals --test generated writes it again"
        );
    }
}

#[test]
fn another_unit_in_a_declaration_is_another_table_and_another_list() {
    let rr = DataType::RrInterval.declaration();
    let mut columns = rr.columns.to_vec();
    columns[0].unit = "s";
    let changed = Declaration { columns: columns.leak(), ..*rr };
    let swap = |one: &'static Declaration| if one.name == rr.name { &changed } else { one };
    let types: Vec<&Declaration> = DataType::declarations().into_iter().map(swap).collect();
    for (file, generate) in [FILES[0], FILES[1]] {
        let checked_in = read(file);
        assert_ne!(generate(&types, &checked_in), checked_in, "{file}");
    }
}

#[test]
fn another_column_in_a_declaration_is_in_every_file() {
    let rr = DataType::RrInterval.declaration();
    let mut columns = rr.columns.to_vec();
    columns[0].name = "distance_of_beats";
    let changed = Declaration { columns: columns.leak(), ..*rr };
    for (file, generate) in FILES {
        assert!(generate(&[&changed], &read(file)).contains("distance_of_beats"), "{file}");
    }
}
