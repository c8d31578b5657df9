//! A transaction that another program leaves open, such as an administrator in psql.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Line that psql prints after the statement.
const DONE: &str = "the statement is done";

/// An open transaction. It is rolled back when this is dropped.
#[derive(Debug)]
pub struct OpenTransaction {
    psql: Child,
}

impl OpenTransaction {
    /// Executes a statement in a new transaction; returns when it is done.
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
