//! Files of SQLite, opened one way: no page is read or written without its checksum.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::Result;

/// Opens a file, which may be made.
pub(in crate::engine) fn open(path: &Path) -> Result<Connection> {
    open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Opens a file that is there.
pub(in crate::engine) fn open_existing(path: &Path) -> Result<Connection> {
    open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens a file that nothing is written to.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection> {
    open_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn open_with(path: &Path, flags: OpenFlags) -> Result<Connection> {
    page_sums::install()?;
    let connection = Connection::open_with_flags(path, flags)?;
    // Also of one that has no sums yet: it gets them when it is rewritten.
    page_sums::reserve(&connection)?;
    Ok(connection)
}
