//! The file system between SQLite and the machine's: the machine's own, of whose database files reading and writing go
//! through here.

use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use rusqlite::{Connection, ffi};

use crate::log::{LOG, put_damage_aside};
use crate::page::{HEADER_BYTES, PagesRead, Sums, is_intact, is_page, page_size_of_header, seal, sums_of_header};

/// Methods of the third version map files into memory, and would read without us.
const WITHOUT_MAPPING: c_int = 2;

/// Damage, of a kind of our own. After an error of reading SQLite ends the transaction, and after its own kind of damage it
/// writes nothing more in it; others have their work in the same one.
const DAMAGED_PAGE: c_int = ffi::SQLITE_CORRUPT | 0x50 << 8;

/// The lock that SQLite holds for itself alone while it reads the log after a crash, and at no other time.
const RECOVERY_LOCK: c_int = 2;
const LOCK_ALONE: c_int = ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE;
const UNLOCK_ALONE: c_int = ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE;

/// Where the page lies that is locked and never written.
const LOCK_BYTES_AT: i64 = 1 << 30;

/// A database file. SQLite knows where its methods lie, and what else is needed lies behind them.
#[repr(C)]
struct Watched {
    /// The machine's, with some replaced.
    methods: ffi::sqlite3_io_methods,
    machine: &'static ffi::sqlite3_io_methods,
    sums: Sums,
    /// Its write-ahead log, which may not be there; none of a file without a name.
    log: Option<PathBuf>,
    /// A page with its sum, while it is written: what SQLite gave must stay as it is.
    page: Vec<u8>,
}

pub(crate) fn install() -> rusqlite::Result<()> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    checked(*REGISTERED.get_or_init(register))
}

fn register() -> c_int {
    // SAFETY: a null name asks for the default; the answer is null or lives as long as the process.
    let machine = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    if machine.is_null() {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: it was just found, and nothing but registering writes to it.
    let mut ours = unsafe { *machine };
    ours.zName = c"page sums".as_ptr();
    ours.pNext = ptr::null_mut();
    // Of the machine's functions only the one that is replaced looks at this field.
    ours.pAppData = machine.cast();
    ours.xOpen = Some(open);
    // SAFETY: what is registered lives as long as the process.
    unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 1) }
}

pub(crate) fn reserve(connection: &Connection, bytes: u8) -> rusqlite::Result<()> {
    let mut bytes = c_int::from(bytes);
    // SAFETY: the handle is open as long as the connection is borrowed; this control reads and writes one integer.
    checked(unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            ptr::from_mut(&mut bytes).cast(),
        )
    })
}

/// Returns the file of a connection and its method of reading; `None` of one that is not open.
// Not another file of the same path: closing that would end the locks that this process has on it.
fn file_of(connection: &Connection) -> rusqlite::Result<Option<OpenFile>> {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the handle is open as long as the connection is borrowed; this control writes one pointer.
    checked(unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            ptr::from_mut(&mut file).cast(),
        )
    })?;
    // SAFETY: the answer is null or the file of the connection; one that is not open has no methods.
    let methods = unsafe { file.as_ref().and_then(|file| file.pMethods.as_ref()) };
    let methods = methods.and_then(|methods| Some((methods.xRead?, methods.xFileSize?)));
    Ok(methods.map(|(read, size)| OpenFile { file, read, size }))
}

/// The file of a connection that nobody else uses meanwhile.
struct OpenFile {
    file: *mut ffi::sqlite3_file,
    read: unsafe extern "C" fn(*mut ffi::sqlite3_file, *mut c_void, c_int, i64) -> c_int,
    size: unsafe extern "C" fn(*mut ffi::sqlite3_file, *mut i64) -> c_int,
}

impl OpenFile {
    /// Reads from a place of the file on, as SQLite does; answers the result code.
    fn read(&self, to: &mut [u8], offset: i64) -> c_int {
        // SAFETY: there is room for as much as is asked for, the file is open, and nobody else uses the connection.
        unsafe { (self.read)(self.file, to.as_mut_ptr().cast(), to.len() as c_int, offset) }
    }

    fn bytes(&self) -> rusqlite::Result<u64> {
        let mut bytes = 0;
        // SAFETY: as for reading; it writes one integer.
        checked(unsafe { (self.size)(self.file, ptr::from_mut(&mut bytes)) })?;
        Ok(bytes as u64)
    }
}

/// Reads what the header of a file says; `None` of an empty one.
pub(crate) fn sums(connection: &Connection) -> rusqlite::Result<Option<Sums>> {
    let Some(file) = file_of(connection)? else { return Ok(None) };
    let mut header = [0; HEADER_BYTES];
    match file.read(&mut header, 0) {
        ffi::SQLITE_IOERR_SHORT_READ => Ok(None),
        code => checked(code).map(|()| Some(sums_of_header(&header))),
    }
}

/// Reads pages of a file with sums behind a number of them; see [`crate::read_pages`].
pub(crate) fn read_pages(connection: &Connection, behind: u64, most: u64) -> rusqlite::Result<PagesRead> {
    let mut found = PagesRead::default();
    let Some(file) = file_of(connection)? else { return Ok(found) };
    let mut header = [0; HEADER_BYTES];
    match file.read(&mut header, 0) {
        ffi::SQLITE_IOERR_SHORT_READ => return Ok(found),
        code => checked(code)?,
    }
    if sums_of_header(&header) == Sums::None {
        return Ok(found);
    }
    let Some(size) = page_size_of_header(&header) else {
        return Ok(PagesRead { damaged: vec![1], ..found });
    };
    let pages = file.bytes()? / size as u64;
    let last = pages.min(behind.saturating_add(most));
    let mut page = vec![0; size];
    for number in behind + 1..=last {
        let offset = (number - 1) as i64 * size as i64;
        found.bytes += size as u64;
        match file.read(&mut page, offset) {
            // Zeros are of a page that was given back before it was ever written. One that is in use is found by its reader.
            DAMAGED_PAGE if offset != LOCK_BYTES_AT && page.iter().any(|byte| *byte != 0) => found.damaged.push(number),
            ffi::SQLITE_OK | DAMAGED_PAGE => {}
            code => checked(code)?,
        }
    }
    found.next = (last < pages).then_some(last);
    Ok(found)
}

/// Opens a file as the machine does, and watches it where it is a database.
unsafe extern "C" fn open(
    ours: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: `register` has put the machine's file system there.
    let machine = unsafe { (*ours).pAppData }.cast::<ffi::sqlite3_vfs>();
    // SAFETY: as above, and nothing writes to this field.
    let Some(open) = (unsafe { (*machine).xOpen }) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are SQLite's own, for a file as long as the machine's file system asks.
    let code = unsafe { open(machine, name, file, flags, flags_out) };
    if code != ffi::SQLITE_OK || flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
        return code;
    }
    // SAFETY: a file that was opened has methods, in a table that lives as long as the process.
    let machine = unsafe { &*(*file).pMethods };
    let mut methods = *machine;
    methods.iVersion = methods.iVersion.min(WITHOUT_MAPPING);
    methods.xClose = Some(close);
    methods.xRead = Some(read);
    methods.xWrite = Some(write);
    methods.xDeviceCharacteristics = Some(characteristics);
    methods.xLock = Some(lock);
    if methods.xShmLock.is_some() {
        methods.xShmLock = Some(shm_lock);
    }
    // SAFETY: the name is SQLite's own.
    let log = unsafe { log_of(name) };
    let watched = Box::new(Watched { methods, machine, sums: Sums::None, log, page: Vec::new() });
    // SAFETY: the table is the first field of the box, which `close` frees.
    unsafe { (*file).pMethods = Box::into_raw(watched).cast() };
    code
}

/// Returns the path of a database's log.
///
/// # Safety
/// The name must be null or a text that ends with zero.
unsafe fn log_of(name: *const c_char) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // SAFETY: passed on from the caller.
    let mut log = unsafe { CStr::from_ptr(name) }.to_bytes().to_vec();
    log.extend(LOG.as_bytes());
    Some(PathBuf::from(OsString::from_vec(log)))
}

/// # Safety
/// The file must have been opened by [`open`] as a database and not closed. SQLite uses a file from one thread at a time.
unsafe fn watched<'file>(file: *mut ffi::sqlite3_file) -> &'file mut Watched {
    // SAFETY: `open` has put the box there, as a whole.
    unsafe { &mut *(*file).pMethods.cast::<Watched>().cast_mut() }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes once what was opened; the box is the one that `open` put there.
    let watched = unsafe { Box::from_raw((*file).pMethods.cast::<Watched>().cast_mut()) };
    // SAFETY: the file is the machine's again before its box is freed.
    unsafe { (*file).pMethods = watched.machine };
    // SAFETY: the argument is SQLite's own.
    watched.machine.xClose.map_or(ffi::SQLITE_OK, |close| unsafe { close(file) })
}

/// Reads, and compares the sum of what is a page.
unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, bytes: c_int, offset: i64) -> c_int {
    // SAFETY: only files that `open` watches have this method.
    let watched = unsafe { watched(file) };
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { read_as_it_is(watched, file, to, bytes, offset) };
    if code == ffi::SQLITE_IOERR_SHORT_READ && offset > 0 && watched.sums == Sums::InPages {
        // SQLite would take what is missing for zeros.
        return DAMAGED_PAGE;
    }
    if code != ffi::SQLITE_OK {
        return code;
    }
    // SAFETY: so many bytes were just read there.
    let found = unsafe { slice::from_raw_parts(to.cast::<u8>(), bytes as usize) };
    watched.look_at_header(found, offset);
    let is_sound = match watched.sums {
        Sums::None => Ok(true),
        Sums::InPages if !is_page(found.len(), offset) => Ok(true),
        // SAFETY: the file is SQLite's own, and open.
        Sums::InPages if offset == 0 => unsafe { is_first_page_intact(watched, file, found) },
        Sums::InPages => Ok(is_intact(found, offset)),
        Sums::Contradicted => Ok(false),
    };
    match is_sound {
        Ok(true) => code,
        Ok(false) => DAMAGED_PAGE,
        Err(failed) => failed,
    }
}

/// Compares the first page, of which another part than the whole may have been read: a connection that was opened while
/// the file was empty learns the size of its pages from it.
///
/// # Safety
/// The file must be open.
unsafe fn is_first_page_intact(watched: &Watched, file: *mut ffi::sqlite3_file, found: &[u8]) -> Result<bool, c_int> {
    let Some(size) = page_size_of_header(found) else { return Ok(false) };
    if let Some(page) = found.get(..size) {
        return Ok(is_intact(page, 0));
    }
    let mut page = vec![0; size];
    // SAFETY: the page has room for as much as is asked for.
    match unsafe { read_as_it_is(watched, file, page.as_mut_ptr().cast(), size as c_int, 0) } {
        ffi::SQLITE_OK => Ok(is_intact(&page, 0)),
        ffi::SQLITE_IOERR_SHORT_READ => Ok(false),
        failed => Err(failed),
    }
}

/// Writes, a page with its sum.
unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, bytes: c_int, offset: i64) -> c_int {
    // SAFETY: only files that `open` watches have this method.
    let watched = unsafe { watched(file) };
    let Some(write) = watched.machine.xWrite else { return ffi::SQLITE_IOERR_WRITE };
    // SAFETY: SQLite gives so many bytes.
    let given = unsafe { slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
    watched.look_at_header(given, offset);
    if offset > 0 && watched.sums == Sums::None {
        // Another connection may have rewritten the file with room for sums since this one last looked.
        let mut header = [0; HEADER_BYTES];
        // SAFETY: the header is as long as what is asked for.
        let code = unsafe { read_as_it_is(watched, file, header.as_mut_ptr().cast(), HEADER_BYTES as c_int, 0) };
        match code {
            ffi::SQLITE_OK => watched.sums = sums_of_header(&header),
            // The file is still without its first page.
            ffi::SQLITE_IOERR_SHORT_READ => {}
            failed => return failed,
        }
    }
    if watched.sums == Sums::Contradicted {
        return DAMAGED_PAGE;
    }
    if !is_page(given.len(), offset) || watched.sums != Sums::InPages {
        // SAFETY: the arguments are SQLite's own.
        return unsafe { write(file, from, bytes, offset) };
    }
    watched.page.clear();
    watched.page.extend_from_slice(given);
    seal(&mut watched.page, offset);
    // SAFETY: the copy is as long as what was given.
    unsafe { write(file, watched.page.as_ptr().cast(), bytes, offset) }
}

/// Says of a file what the machine says, but that parts of a page may be read: they have no sum.
unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: only files that `open` watches have this method.
    let watched = unsafe { watched(file) };
    // SAFETY: the argument is SQLite's own.
    let of_machine = watched.machine.xDeviceCharacteristics.map_or(0, |ask| unsafe { ask(file) });
    of_machine & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

/// Locks the index of the log, and puts the log aside where it is damaged before SQLite reads it after a crash.
// Only now does nobody write to it: another process may have the database open, or open it at the same time.
unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: only files that `open` watches have this method.
    let watched = unsafe { watched(file) };
    let Some(lock) = watched.machine.xShmLock else { return ffi::SQLITE_IOERR_SHMLOCK };
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { lock(file, first, count, flags) };
    let is_recovery = flags == LOCK_ALONE && (first..first + count).contains(&RECOVERY_LOCK);
    if code != ffi::SQLITE_OK || !is_recovery || watched.is_log_in_order() {
        return code;
    }
    // SQLite would go on and write over what could not be copied.
    // SAFETY: the same lock, which is held.
    unsafe { lock(file, first, count, UNLOCK_ALONE) };
    ffi::SQLITE_IOERR
}

/// Locks the database, and does the same before SQLite is alone with it.
// The last one to close a database empties the log under this lock, and reads it without the other one where nobody has
// read it before: after an opening that failed.
unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: only files that `open` watches have this method.
    let watched = unsafe { watched(file) };
    // SAFETY: the arguments are SQLite's own.
    let code = watched.machine.xLock.map_or(ffi::SQLITE_IOERR_LOCK, |lock| unsafe { lock(file, level) });
    if code != ffi::SQLITE_OK || level != ffi::SQLITE_LOCK_EXCLUSIVE || watched.is_log_in_order() {
        return code;
    }
    if let Some(unlock) = watched.machine.xUnlock {
        // SAFETY: back to the lock that a database with a log is used under.
        unsafe { unlock(file, ffi::SQLITE_LOCK_SHARED) };
    }
    ffi::SQLITE_BUSY
}

/// # Safety
/// As of the method: `to` has room for so many bytes, and the file is open.
unsafe fn read_as_it_is(
    watched: &Watched,
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: passed on from the caller.
    watched.machine.xRead.map_or(ffi::SQLITE_IOERR_READ, |read| unsafe { read(file, to, bytes, offset) })
}

impl Watched {
    /// Puts the log aside where it is damaged; false where it cannot be.
    fn is_log_in_order(&self) -> bool {
        self.log.as_deref().is_none_or(|log| put_damage_aside(log).is_ok())
    }

    /// Keeps what the header says, where bytes begin with it.
    fn look_at_header(&mut self, bytes: &[u8], offset: i64) {
        if offset == 0 && bytes.len() >= HEADER_BYTES {
            self.sums = sums_of_header(bytes);
        }
    }
}

/// Turns a result code into an error of the driver.
fn checked(code: i32) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)) }
}
