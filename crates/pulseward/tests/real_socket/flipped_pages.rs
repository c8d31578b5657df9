//! Pages of database files that are damaged on purpose, and what the program says of them.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::harness::run;

/// Runs `doctor`; answers its exit status and its report.
pub fn doctor(data: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run(&[&["doctor", "--json", "--data", data.to_str().unwrap()], arguments].concat());
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code(), report.unwrap_or_else(|_| panic!("{output:?}")))
}

/// Flips a bit of the last page that holds rows of a table; answers the number of the page.
pub fn flip_in(data: &Path, database: &str, table: &str) -> i64 {
    const LEAF: &str = "SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY path DESC";
    let file = data.join(database);
    // Of a copy: who closes a database last can write to it.
    let copy = data.join("to look at");
    std::fs::copy(&file, &copy).unwrap();
    let page: i64 = Connection::open(&copy).unwrap().query_row(LEAF, [table], |row| row.get(0)).unwrap();
    std::fs::remove_file(&copy).unwrap();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let (place, mut byte) = (page as u64 * 8192 - 100, [0]);
    file.read_exact_at(&mut byte, place).unwrap();
    file.write_all_at(&[byte[0] ^ 1], place).unwrap();
    page
}

/// Returns whether a problem names both.
pub fn names(report: &Value, one: &str, other: &str) -> bool {
    let problems = report["problems"].as_array().unwrap();
    problems.iter().any(|line| line.as_str().unwrap().contains(one) && line.as_str().unwrap().contains(other))
}

/// Reads JSON that anybody may read.
pub async fn json_at(url: &str) -> (u16, Value) {
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}
