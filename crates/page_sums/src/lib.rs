//! A checksum in each page of an SQLite file, compared whenever the page is read.
//!
//! SQLite trusts its file: a bit that changed on the disk changes a value, hides a row behind a damaged key, or sends a look-up
//! to another page, and an answer without that row looks whole. It can be asked to leave some bytes at the end of each page
//! unused. A file system between SQLite and the one of the machine keeps a CRC-32 there, of the page and of its place in
//! the file: written with the page, compared when it is read. A page that is another one is an error (`SQLITE_CORRUPT`) that ends the
//! statement and not its transaction.
//!
//! - Files without room for sums (of earlier versions, of other programs) are read and written as they are. SQLite makes room
//!   when such a file is rewritten whole (`VACUUM`, with a write-ahead log) right after [`reserve`].
//! - Other tools can read such a file, since room at the end of pages is a part of the format. Pages that they write have a sum
//!   that is wrong, and a tool that is the last to close a file after a crash writes: they are to read a copy.
//! - A statement that ends with this error is undone by the savepoint that it runs behind, and not always by SQLite.
//! - The write-ahead log has SQLite's own sums, which are compared after a crash and not at each read; what is moved from it
//!   into the file gets its sum then. SQLite ends a log at the first frame that is wrong, and says nothing of what it leaves
//!   out. A log that was damaged is copied to the name of the database with `-wal-damaged-1` before ([`damaged_logs`],
//!   [`examine_log`]); where it cannot be copied, the database is not opened.
//!
//! This is the one crate with unsafe code. Files are the machine's own, with some functions replaced (`file_system.rs`); what
//! these do with a page is safe (`page.rs`), and so is what they do with a log (`log.rs`).

mod file_system;
mod log;
mod page;

use rusqlite::Connection;

pub use log::{LogDamage, damaged_logs, examine_log};
pub use page::PagesRead;
use page::Sums;

/// Makes all connections of this process compare and write sums that are opened from now on. Calling it again does nothing.
///
/// # Errors
/// When SQLite cannot be initialised.
pub fn install() -> rusqlite::Result<()> {
    file_system::install()
}

/// Asks SQLite to leave room for sums in a file that this connection makes or rewrites. Comes before its first statement.
pub fn reserve(connection: &Connection) -> rusqlite::Result<()> {
    file_system::reserve(connection, page::SUM_BYTES)
}

/// Writes into a file with sums that it has them, so that a damaged header cannot pass for one of a file without; a file that
/// is still empty is begun. Comes after [`reserve`]. Files without room for sums stay as they are.
pub fn mark(connection: &Connection) -> rusqlite::Result<()> {
    if file_system::sums(connection)? == Some(Sums::None) {
        return Ok(());
    }
    let marked = connection.query_row("PRAGMA application_id", [], |row| row.get::<_, i32>(0))?;
    if marked == page::MARK {
        return Ok(());
    }
    connection.pragma_update(None, "application_id", page::MARK)
}

/// Returns whether the pages of a file have sums; those of an empty file have none.
pub fn are_in(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(file_system::sums(connection)? == Some(Sums::InPages))
}

/// Reads up to `most` pages of a file behind one, from 0, and compares each with its sum, whatever uses them. A page that is
/// being written at the same time can look damaged once, but not again. Of a file without sums nothing is read.
pub fn read_pages(connection: &Connection, behind: u64, most: u64) -> rusqlite::Result<PagesRead> {
    file_system::read_pages(connection, behind, most)
}
