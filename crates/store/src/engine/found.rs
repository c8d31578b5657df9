//! What checks of a whole database find.

use crate::error::{Result, StoreError};

/// What an engine's own check of a database came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCheck {
    /// Damage, in the engine's own words.
    pub findings: Vec<String>,
    /// What could not be checked, and what would have to be done first.
    pub unchecked: Vec<String>,
}

impl EngineCheck {
    /// Takes what became of checking a part. Only damage is a finding.
    pub(super) fn take(&mut self, part: &str, checked: Result<()>) {
        match checked {
            Ok(()) => {}
            Err(StoreError::Damaged(message)) => self.findings.push(format!("{part}: {message}")),
            Err(error) => self.unchecked.push(format!("{part} could not be checked: {error}")),
        }
    }
}

/// A page that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPage {
    /// The table that it belongs to, where that is known.
    pub table: Option<String>,
    /// Its number, from 1 in SQLite's file, from 0 in a table of PostgreSQL.
    pub page: u64,
    /// What was found.
    pub reason: String,
}

/// What reading some pages came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesPart {
    /// Bytes that were read.
    pub bytes: u64,
    /// Pages that are damaged.
    pub damaged: Vec<DamagedPage>,
    /// Behind what to go on; `None` at the end.
    pub next: Option<String>,
}
