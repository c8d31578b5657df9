//! Following the chain of the audit log from its start.

use std::sync::Arc;

use boxed_futures::boxed_futures;

use super::audit_head::{self, Head};
use super::audit_link::{entry_columns, link_columns, primary_columns, read_link, secondary_columns};
use super::audit_seal::AuditEnd;
use super::db::UsersDb;
use crate::audit_key::AuditKey;
use crate::engine::{Tx, Work};
use crate::error::Result;
use crate::texts::sql;

sql! {
    CHAIN = concat!("SELECT ", link_columns!(), " FROM audit_entry WHERE number > $1 ORDER BY number LIMIT 1000");
}

/// What somebody knows of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownEntry {
    /// Number in the log.
    pub number: i64,
    /// Its hash.
    pub entry_hash: [u8; 32],
}

/// What following the chain has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditVerdict {
    /// Entries that hold.
    pub entries: i64,
    /// Number of the first that is not what was written.
    pub first_broken: Option<i64>,
    /// The end of the log.
    pub end: AuditEnd,
    /// How many of the known entries were compared: those up to the last entry that holds.
    pub compared: usize,
    /// Positions of those, among the known entries, that are others in the log.
    pub differing: Vec<usize>,
}

#[boxed_futures]
impl UsersDb {
    /// Follows the chain. How many entries hold, and the number of the first that is not what was written. It does not
    /// look at the seal.
    pub async fn verify_audit(&self) -> Result<(i64, Option<i64>)> {
        let found = self.followed(Vec::new()).await?;
        Ok((found.entries, found.first_broken))
    }

    /// Follows the chain, looks at its end, and compares what is known of entries; `known` is in the order of their
    /// numbers. In memory there are `known` and a page of the log.
    pub async fn verify_audit_against(&self, key: &AuditKey, known: Vec<KnownEntry>) -> Result<AuditVerdict> {
        let Found { entries, first_broken, head, compared, differing } = self.followed(known).await?;
        Ok(AuditVerdict { entries, first_broken, end: AuditEnd::of(head, key), compared, differing })
    }

    async fn followed(&self, known: Vec<KnownEntry>) -> Result<Found> {
        let known = Arc::new(known);
        self.db.with_deadlines_of(Work::Scan).read(async move |tx| follow(tx, &known).await).await
    }
}

#[derive(Default)]
struct Found {
    entries: i64,
    first_broken: Option<i64>,
    head: Head,
    compared: usize,
    differing: Vec<usize>,
}

async fn follow(tx: &Tx<'_>, known: &[KnownEntry]) -> Result<Found> {
    let mut found = Found { head: audit_head::read(tx).await?, ..Found::default() };
    let mut last_hash = Vec::new();
    loop {
        let links = tx.query(CHAIN, &[&found.entries], read_link).await?;
        if links.is_empty() {
            break;
        }
        for link in links {
            if link.entry.number != found.entries + 1 || !link.holds(&last_hash) {
                found.first_broken = Some(found.entries + 1);
                return Ok(found);
            }
            found.entries = link.entry.number;
            last_hash = link.entry_hash;
            found.compare(known, &last_hash);
        }
    }
    // Entries that were cut off at the end leave a chain that holds; the head says where it ended.
    let is_end =
        found.head.number == found.entries && found.head.entry_hash.as_ref().unwrap_or(&Vec::new()) == &last_hash;
    found.first_broken = (!is_end).then_some(found.entries + 1);
    Ok(found)
}

impl Found {
    /// Compares what is known of the last entry that holds.
    fn compare(&mut self, known: &[KnownEntry], entry_hash: &[u8]) {
        // Several may know the same entry, and one may know a number that no log has.
        while let Some(entry) = known.get(self.compared).filter(|entry| entry.number <= self.entries) {
            if entry.number != self.entries || entry.entry_hash[..] != *entry_hash {
                self.differing.push(self.compared);
            }
            self.compared += 1;
        }
    }
}
