//! Sums as a page and the header of a file state them.

use crc32fast::Hasher;

/// Bytes at the end of a page that hold its sum.
pub(crate) const SUM_BYTES: u8 = 4;
/// Bytes of the header at the begin of a file, of the fields of which two are read here.
pub(crate) const HEADER_BYTES: usize = 100;
/// Says in the field for the kind of an application that the file has sums: `PwSm`.
pub(crate) const MARK: i32 = 0x5077_536d;

/// The begin of each file of SQLite.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The number of bytes at the end of each page that are left unused.
const RESERVED_AT: usize = 20;
/// Two bytes, the size of a page; 1 is 65,536.
const PAGE_SIZE_AT: usize = 16;
const MARK_AT: usize = 68;
/// Pages have powers of two from here on. Shorter reads are of the header.
const LEAST_PAGE: usize = 512;
const LARGEST_PAGE: usize = 65_536;

/// The state of sums in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sums {
    /// Nothing of the file is known yet, or there is no room for them.
    #[default]
    None,
    /// Each page has one.
    InPages,
    /// The file is marked as one with sums, and its header says that it has no room for them.
    Contradicted,
}

/// What reading some pages came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// Bytes that were read.
    pub bytes: u64,
    /// Numbers of the pages, from 1, that are not what was written.
    pub damaged: Vec<u64>,
    /// The last page that was read; `None` at the end of the file.
    pub next: Option<u64>,
}

/// Reads a header, which may have more behind it.
pub(crate) fn sums_of_header(header: &[u8]) -> Sums {
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return Sums::None;
    }
    let is_marked = header[MARK_AT..MARK_AT + 4] == MARK.to_be_bytes();
    match (header[RESERVED_AT] == SUM_BYTES, is_marked) {
        // The room decides and not the mark, a flipped bit of which would otherwise end all comparing.
        (true, _) => Sums::InPages,
        (false, true) => Sums::Contradicted,
        (false, false) => Sums::None,
    }
}

/// Returns the size of a file's pages as its header states it; `None` when it states what no page has.
pub(crate) fn page_size_of_header(header: &[u8]) -> Option<usize> {
    let stated = header.get(PAGE_SIZE_AT..PAGE_SIZE_AT + 2)?;
    let bytes = match usize::from(u16::from_be_bytes([stated[0], stated[1]])) {
        // The one size that two bytes cannot hold.
        1 => LARGEST_PAGE,
        bytes => bytes,
    };
    is_page(bytes, 0).then_some(bytes)
}

/// Returns whether so many bytes at a place of a file are a page.
pub(crate) const fn is_page(bytes: usize, offset: i64) -> bool {
    bytes >= LEAST_PAGE && bytes.is_power_of_two() && (offset as u64).is_multiple_of(bytes as u64)
}

/// Returns whether a page is the one that was written at this place.
pub(crate) fn is_intact(page: &[u8], offset: i64) -> bool {
    let (content, sum) = page.split_at(page.len() - SUM_BYTES as usize);
    sum == sum_of(content, offset)
}

/// Writes the sum of a page into it.
pub(crate) fn seal(page: &mut [u8], offset: i64) {
    let (content, sum) = page.split_at_mut(page.len() - SUM_BYTES as usize);
    sum.copy_from_slice(&sum_of(content, offset));
}

/// The place counts too: a page that a disk wrote where another belongs is whole and yet wrong.
fn sum_of(content: &[u8], offset: i64) -> [u8; SUM_BYTES as usize] {
    let mut hasher = Hasher::new();
    hasher.update(content);
    hasher.update(&offset.to_be_bytes());
    hasher.finalize().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: i64 = 3 * LEAST_PAGE as i64;

    #[test]
    fn every_flipped_bit_and_another_place_are_found() {
        let mut page: Vec<u8> = (0..LEAST_PAGE).map(|at| (at * 7) as u8).collect();
        seal(&mut page, PLACE);
        assert!(is_intact(&page, PLACE));
        assert!(!is_intact(&page, PLACE + LEAST_PAGE as i64));
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(&page, PLACE), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn header_of_a_marked_file_that_says_it_has_no_room_is_a_contradiction() {
        let mut header = [0; HEADER_BYTES];
        assert_eq!(sums_of_header(&header), Sums::None);
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        assert_eq!(sums_of_header(&header), Sums::None);
        header[RESERVED_AT] = SUM_BYTES;
        assert_eq!(sums_of_header(&header), Sums::InPages);
        header[MARK_AT..MARK_AT + 4].copy_from_slice(&MARK.to_be_bytes());
        assert_eq!(sums_of_header(&header), Sums::InPages);
        for bit in 0..8 {
            header[RESERVED_AT] = SUM_BYTES ^ (1 << bit);
            assert_eq!(sums_of_header(&header), Sums::Contradicted);
        }
        assert_eq!(sums_of_header(&header[..HEADER_BYTES - 1]), Sums::None);
    }

    #[test]
    fn header_states_the_size_of_pages() {
        let mut header = [0; HEADER_BYTES];
        for (stated, size) in [([2, 0], Some(512)), ([0x20, 0], Some(8192)), ([0, 1], Some(LARGEST_PAGE))] {
            header[PAGE_SIZE_AT..PAGE_SIZE_AT + 2].copy_from_slice(&stated);
            assert_eq!(page_size_of_header(&header), size);
        }
        for stated in [[0, 0], [1, 0], [0x20, 1], [0x30, 0]] {
            header[PAGE_SIZE_AT..PAGE_SIZE_AT + 2].copy_from_slice(&stated);
            assert_eq!(page_size_of_header(&header), None);
        }
        assert_eq!(page_size_of_header(&header[..PAGE_SIZE_AT]), None);
    }

    #[test]
    fn parts_of_a_page_are_no_page() {
        assert!(is_page(8192, 8192 * 5) && is_page(512, 0));
        assert!(!is_page(100, 0) && !is_page(16, 24) && !is_page(8192, 100) && !is_page(8000, 0));
    }
}
