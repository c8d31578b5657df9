//! Rows that the service has rejected, named by where they come from.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use serde::Deserialize;

/// Rows that are named; more are only counted.
const MOST_NAMED: u64 = 100;

/// A row of a sync that is not stored, as the answer has it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Rejection {
    /// Position among the rows of the sync, from 0.
    pub index: u64,
    /// The column at fault.
    pub column: String,
    /// The reason.
    pub reason: String,
}

/// Origin of the rows of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, as it is called in messages.
    pub path: PathBuf,
    /// Its rows.
    pub rows: OriginRows,
}

/// Rows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginRows {
    /// The line of each.
    Lines(Vec<u64>),
    /// As many as follow each other from this one, counted from 1.
    From(u64),
}

impl Origin {
    /// Makes the origin of rows that have lines.
    pub fn of_lines(path: &Path, lines: Vec<u64>) -> Self {
        Origin { path: path.to_owned(), rows: OriginRows::Lines(lines) }
    }

    /// Makes the origin of rows that follow each other in a file without lines.
    pub fn from_row(path: &Path, first: u64) -> Self {
        Origin { path: path.to_owned(), rows: OriginRows::From(first) }
    }

    fn place_of(&self, index: u64) -> String {
        let path = self.path.display();
        let line = |lines: &Vec<u64>| usize::try_from(index).ok().and_then(|index| lines.get(index).copied());
        match &self.rows {
            OriginRows::Lines(lines) => match line(lines) {
                Some(line) => format!("{path}, line {line}"),
                // A service that counts otherwise than this program is still quoted.
                None => format!("{path}, row {}", index + 1),
            },
            OriginRows::From(first) => format!("{path}, row {}", first + index),
        }
    }
}

/// Names the first rejected rows on standard error.
#[derive(Debug, Default)]
pub struct Rejections {
    named: u64,
}

impl Rejections {
    /// Names the rows that an answer rejects.
    pub fn name(&mut self, origin: &Origin, rejected: &[Rejection], bar: &ProgressBar) {
        for row in rejected.iter().take((MOST_NAMED - self.named) as usize) {
            let Rejection { index, column, reason } = row;
            bar.suspend(|| eprintln!("rejected: {}: {column} {reason}", origin.place_of(*index)));
            self.named += 1;
        }
    }

    /// Says how many were not named.
    pub fn end(&self, rejected: u64) {
        if rejected > self.named {
            eprintln!("{} more rows were rejected", rejected - self.named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_by_their_lines_or_by_their_place() {
        let lines = Origin::of_lines(Path::new("a.csv"), vec![2, 5]);
        let places = [0, 1, 2].map(|index| lines.place_of(index));
        assert_eq!(places, ["a.csv, line 2", "a.csv, line 5", "a.csv, row 3"]);
        assert_eq!(Origin::from_row(Path::new("a.parquet"), 100_001).place_of(6), "a.parquet, row 100007");
    }
}
