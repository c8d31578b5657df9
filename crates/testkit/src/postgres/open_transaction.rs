//! A transaction of another program that stays open, as of an administrator who went to lunch.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What is said when a statement has been carried out.
const DONE: &str = "the statement is done";

/// An open transaction. It is rolled back when this is dropped.
#[derive(Debug)]
pub struct OpenTransaction {
    psql: Child,
}

impl OpenTransaction {
    /// Carries a statement out in a new transaction; returns when that has been done.
    pub(super) fn begin(programs: &Path, url: &str, statement: &str) -> Self {
        let psql = Command::new(programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut psql = psql.unwrap_or_else(|error| panic!("psql: {error}"));
        let (Some(input), Some(output)) = (psql.stdin.as_mut(), psql.stdout.take()) else { panic!("no pipes") };
        let sent = writeln!(input, "BEGIN;\n{statement};\n\\echo {DONE}");
        sent.unwrap_or_else(|error| panic!("psql: {error}"));
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == DONE), "the statement failed: {statement}");
        OpenTransaction { psql }
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        // The server rolls back when it finds the connection closed.
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}
