//! Reading the audit log page by page, while others write it.
//!
//! A short transaction raises the head's time and notes its number. Entries up to that number are committed and stay as
//! they are, but for details that an erasure drops, so they can be read afterwards in any number of steps without
//! holding anything: a log of a million entries costs as much memory as one page, and no operation waits for its reader.
//!
//! Time never falls from one entry to the next, so the order of time and number is the order of the log, and the
//! indexes by who appears are in this order. A page takes the next entries of each of the three indexes and keeps the
//! first of them all. Only then it looks at action codes and at what a key is limited to, so a page is bounded in time
//! as well; it may have few entries, or none, and others follow.

use boxed_futures::boxed_futures;

use super::audit::AuditQuery;
use super::audit_link::{AuditEntry, entry_columns, primary_columns, read_entry, secondary_columns};
use super::db::UsersDb;
use crate::engine::row::Columns;
use crate::engine::{Db, Row, Tx};
use crate::error::Result;
use crate::names::ActionCode;
use crate::texts::sql;

/// Entries that a page looks at. One has some hundred bytes.
const PAGE: i64 = 1000;

sql! {
    RAISE = "UPDATE audit_head SET time_ms = $1 WHERE time_ms < $1";
    LAST = "SELECT number FROM audit_head";
    NEXT = concat!("SELECT ", entry_columns!(), ",
        ($7 = '' OR action_type = $7)
        AND (COALESCE($8, '') = ''
            OR EXISTS (SELECT 1 FROM api_key_group s JOIN membership m ON m.group_code = s.group_code
                JOIN study_group g ON g.code = s.group_code
                WHERE s.api_key = $8 AND m.account = $1
                AND (g.id = secondary_entity_id
                     OR g.id = primary_entity_id AND COALESCE(secondary_entity_type, '') <> 'group.id'))
            OR COALESCE(secondary_entity_type, '') <> 'group.id'
                AND (EXISTS (SELECT 1 FROM group_patient h JOIN api_key_group s ON s.group_code = h.group_code
                        JOIN membership m ON m.group_code = h.group_code
                        WHERE h.patient IN (primary_entity_id, secondary_entity_id)
                        AND s.api_key = $8 AND m.account = $1)
                     OR EXISTS (SELECT 1 FROM bracelet_attachment w JOIN group_patient h ON h.patient = w.patient
                        JOIN api_key_group s ON s.group_code = h.group_code
                        JOIN membership m ON m.group_code = h.group_code
                        WHERE w.bracelet IN (primary_entity_id, secondary_entity_id) AND w.detached_ms IS NULL
                        AND s.api_key = $8 AND m.account = $1)))
        FROM audit_entry
        WHERE number IN (SELECT number FROM (
            SELECT time_ms, number FROM (SELECT time_ms, number FROM audit_entry
                WHERE user_id = $1 AND (time_ms, number) > ($2, $3) AND time_ms <= $4 AND number <= $5
                ORDER BY time_ms, number LIMIT $6) by_user
            UNION SELECT time_ms, number FROM (SELECT time_ms, number FROM audit_entry
                WHERE primary_entity_id = $1 AND (time_ms, number) > ($2, $3) AND time_ms <= $4 AND number <= $5
                ORDER BY time_ms, number LIMIT $6) by_primary
            UNION SELECT time_ms, number FROM (SELECT time_ms, number FROM audit_entry
                WHERE secondary_entity_id = $1 AND (time_ms, number) > ($2, $3) AND time_ms <= $4 AND number <= $5
                ORDER BY time_ms, number LIMIT $6) by_secondary
            ORDER BY time_ms, number LIMIT $6) appearing)
        ORDER BY time_ms, number");
}

/// A reading of the audit log as it was at one moment.
#[derive(Debug)]
pub struct AuditReader {
    db: Db,
    query: AuditQuery,
    /// Number of the last entry that there was.
    last: i64,
    /// Time and number of the last entry that was looked at; `None` when all were.
    after: Option<(i64, i64)>,
}

#[boxed_futures]
impl UsersDb {
    /// Begins to read the entries that a query asks for. What lies before `now_ms` never gains an entry afterwards.
    pub async fn read_audit(&self, query: AuditQuery, now_ms: i64) -> Result<AuditReader> {
        let begin = async move |tx: &Tx<'_>| {
            // Waits for entries that are being written, and stamps those that come later with a later time.
            tx.put(RAISE, &[&now_ms]).await?;
            tx.query_opt(LAST, &[], |row| row.get(0)).await
        };
        let last = self.write_logged(begin).await?.unwrap_or_default();
        // Numbers begin at 1, so all entries of the first time come after this.
        let after = Some((query.from_ms, 0));
        Ok(AuditReader { db: self.db.clone(), query, last, after })
    }
}

#[boxed_futures]
impl AuditReader {
    /// Returns the next entries, ascending: at most a thousand, none when those that were looked at are not asked for.
    /// `None` when there are no further ones. What a scoped key may see is what it may see now.
    pub async fn next_page(&mut self) -> Result<Option<Vec<AuditEntry>>> {
        let Some((time_ms, number)) = self.after else { return Ok(None) };
        let AuditQuery { appears, to_ms, action_type, scoped_key, .. } = self.query.clone();
        let action_type = action_type.map_or("", ActionCode::name);
        let last = self.last;
        let next = async move |tx: &Tx<'_>| {
            let read = |row: &Row<'_>| {
                let mut columns = Columns::of(row);
                Ok((read_entry(&mut columns)?, columns.take()?))
            };
            tx.query(NEXT, &[&appears, &time_ms, &number, &to_ms, &last, &PAGE, &action_type, &scoped_key], read).await
        };
        let seen: Vec<(AuditEntry, bool)> = self.db.read_single(next).await?;
        // By what was looked at and not by what is asked for, of which a page may have none.
        let is_last = (seen.len() as i64) < PAGE;
        self.after = seen.last().filter(|_| !is_last).map(|(entry, _)| (entry.time_ms, entry.number));
        Ok(Some(seen.into_iter().filter_map(|(entry, is_asked_for)| is_asked_for.then_some(entry)).collect()))
    }
}
