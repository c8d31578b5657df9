//! The write-ahead log as SQLite writes it: whether it was damaged, which SQLite takes for its end.
//!
//! After a crash SQLite reads the log up to the first frame whose checksum is wrong, because a crash leaves the last
//! transaction incomplete. A frame that was changed on the disk looks the same to it, and every transaction from there on is
//! gone without a word. The difference is what lies behind: a transaction is written only after the one before it is on
//! the disk, so a second commit behind the frame shows that what the frame belongs to had come to its end. One commit
//! alone does not: blocks reach the disk in any order, and a transaction larger than the cache has frames whose sums are made
//! right only after its commit was written. Frames of before the log was last begun again have other salts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The begin of each log. With the last bit set, checksums take words as big-endian.
const MAGIC: u32 = 0x377f_0682;
/// Bits of the sizes that a page can have: 512 to 65,536.
const PAGE_BITS: std::ops::RangeInclusive<u32> = 9..=16;
/// What comes behind the name of a database in that of its log, and behind this in that of a log that was kept.
pub(crate) const LOG: &str = "-wal";
const KEPT: &str = "-damaged-";

/// Damage of a write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// The first damaged frame, from 1 on; 0 where it is the header of the log.
    pub frame: u64,
    /// Transactions from there on, as far as they can be counted: none of them is read from the log any more.
    pub lost_commits: u64,
    /// The place of that frame in the file.
    at: u64,
}

/// Looks for damage in a log. A log that ends in an incomplete transaction is sound, and one whose last transaction was
/// changed looks like it.
///
/// # Errors
/// Those of reading the file.
pub fn examine_log(log: &Path) -> io::Result<Option<LogDamage>> {
    examine(&File::open(log)?)
}

/// Lists the damaged logs of a database that were kept, in the order of their names.
///
/// # Errors
/// Those of reading the folder.
pub fn damaged_logs(database: &Path) -> io::Result<Vec<PathBuf>> {
    // A log lies next to the file that a link leads to.
    let database = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
    let (Some(name), Some(folder)) = (database.file_name(), database.parent()) else { return Ok(Vec::new()) };
    let mut begin = name.to_owned();
    begin.push(LOG);
    begin.push(KEPT);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Keeps a copy of a log that is damaged, and cuts the log off where SQLite ends it. Nobody may write to it meanwhile.
// Cut off, because new frames are written over the old ones: what is left of these behind them would look like damage at
// the next crash.
pub(crate) fn put_damage_aside(log: &Path) -> io::Result<()> {
    let file = match OpenOptions::new().read(true).write(true).open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let Some(damage) = examine(&file)? else { return Ok(()) };
    keep(log)?;
    file.set_len(damage.at)?;
    file.sync_all()
}

/// Copies a log next to itself, under a name that is free.
fn keep(log: &Path) -> io::Result<()> {
    let mut number = 1;
    let kept = loop {
        let mut name = log.as_os_str().to_owned();
        name.push(format!("{KEPT}{number}"));
        if !Path::new(&name).exists() {
            break PathBuf::from(name);
        }
        number += 1;
    };
    let copied = fs::copy(log, &kept).and_then(|_| File::open(&kept)?.sync_all());
    if copied.is_err() {
        // A part of it would be taken for the whole.
        let _ = fs::remove_file(&kept);
    }
    copied
}

fn examine(file: &File) -> io::Result<Option<LogDamage>> {
    let length = file.metadata()?.len();
    if length < (HEADER_BYTES + FRAME_HEADER_BYTES) as u64 {
        return Ok(None);
    }
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0)?;
    match Header::read(&bytes) {
        Some(header) => header.examine_frames(file, length),
        None => examine_without_header(file, length),
    }
}

/// The header is damaged, so the first frame says which salts the others have.
fn examine_without_header(file: &File, length: u64) -> io::Result<Option<LogDamage>> {
    let first = FrameHeader::read(file, HEADER_BYTES as u64)?;
    for page_bits in PAGE_BITS {
        let frames = frames_behind(file, length, 1, 1 << page_bits)?;
        let is_alike = |frame: &FrameHeader| frame.salts == first.salts;
        // Of another size of pages, what is read there is the middle of a page.
        if !frames.get(1).is_none_or(is_alike) {
            continue;
        }
        let lost_commits = frames.iter().filter(|frame| is_alike(frame) && frame.is_commit()).count() as u64;
        return Ok((lost_commits > 0).then_some(LogDamage { frame: 0, lost_commits, at: 0 }));
    }
    Ok(None)
}

/// Headers of all frames from one on, whether they are sound or not.
fn frames_behind(file: &File, length: u64, first: u64, page_bytes: usize) -> io::Result<Vec<FrameHeader>> {
    let frames = (length - HEADER_BYTES as u64) / (FRAME_HEADER_BYTES + page_bytes) as u64;
    (first..=frames).map(|frame| FrameHeader::read(file, place_of(frame, page_bytes))).collect()
}

fn place_of(frame: u64, page_bytes: usize) -> u64 {
    HEADER_BYTES as u64 + (frame - 1) * (FRAME_HEADER_BYTES + page_bytes) as u64
}

/// What the header of a log says.
struct Header {
    page_bytes: usize,
    words: Words,
    salts: [u8; 8],
    sum: Sum,
}

impl Header {
    /// Reads a header; `None` where SQLite would not take the file for a log.
    fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let (magic, page_bytes) = (number(&bytes[..4]), number(&bytes[8..12]));
        let is_page = page_bytes.is_power_of_two() && PAGE_BITS.contains(&page_bytes.trailing_zeros());
        if magic & !1 != MAGIC || !is_page {
            return None;
        }
        let words = if magic & 1 == 1 { Words::BigEndian } else { Words::LittleEndian };
        let sum = Sum::default().add(&bytes[..24], words);
        let salts = bytes[16..24].try_into().ok()?;
        let header = Header { page_bytes: page_bytes as usize, words, salts, sum };
        (sum == Sum::read(&bytes[24..])).then_some(header)
    }

    fn examine_frames(&self, file: &File, length: u64) -> io::Result<Option<LogDamage>> {
        let first = self.first_unsound(file, length)?;
        let frames = frames_behind(file, length, first, self.page_bytes)?;
        let is_current = |frame: &FrameHeader| frame.salts == self.salts;
        let lost_commits = frames.iter().filter(|frame| is_current(frame) && frame.is_commit()).count() as u64;
        let at = place_of(first, self.page_bytes);
        Ok((lost_commits > 1).then_some(LogDamage { frame: first, lost_commits, at }))
    }

    /// The number of the first frame that SQLite does not take, or of the one behind the last.
    fn first_unsound(&self, file: &File, length: u64) -> io::Result<u64> {
        let frames = (length - HEADER_BYTES as u64) / (FRAME_HEADER_BYTES + self.page_bytes) as u64;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        reader.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        let mut bytes = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        let mut sum = self.sum;
        for frame in 1..=frames {
            reader.read_exact(&mut bytes)?;
            let (header, page) = bytes.split_at(FRAME_HEADER_BYTES);
            sum = sum.add(&header[..8], self.words).add(page, self.words);
            if header[8..16] != self.salts || number(&header[..4]) == 0 || sum != Sum::read(&header[16..]) {
                return Ok(frame);
            }
        }
        Ok(frames + 1)
    }
}

/// What is in front of each page.
struct FrameHeader {
    page: u32,
    /// Pages of the database after the commit; 0 where the frame commits nothing.
    pages_after: u32,
    salts: [u8; 8],
}

impl FrameHeader {
    fn read(file: &File, at: u64) -> io::Result<FrameHeader> {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        file.read_exact_at(&mut bytes, at)?;
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[8..16]);
        Ok(FrameHeader { page: number(&bytes[..4]), pages_after: number(&bytes[4..8]), salts })
    }

    fn is_commit(&self) -> bool {
        self.page != 0 && self.pages_after != 0
    }
}

/// What sums are made of: words as the machine that began the log has them.
#[derive(Clone, Copy)]
enum Words {
    LittleEndian,
    BigEndian,
}

/// The sum of everything up to a place of the log.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    fn read(bytes: &[u8]) -> Sum {
        Sum(number(&bytes[..4]), number(&bytes[4..8]))
    }

    fn add(self, bytes: &[u8], words: Words) -> Sum {
        let word = |bytes: &[u8]| match words {
            Words::BigEndian => number(bytes),
            Words::LittleEndian => number(bytes).swap_bytes(),
        };
        bytes.chunks_exact(8).fold(self, |Sum(first, second), pair| {
            let first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
            Sum(first, second.wrapping_add(word(&pair[4..])).wrapping_add(first))
        })
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}
