//! Where in a sealed file the pages of some rows lie.

use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

/// Returns the bytes of all pages that hold any of some rows (numbers within the file, ascending), with the dictionaries
/// of their columns. Of a row group whose pages the metadata do not list, whole columns.
pub(super) fn bytes_of_rows(metadata: &ParquetMetaData, rows: &[Range<usize>]) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut first_row = 0;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let end_row = first_row + group.num_rows() as usize;
        let reaches_in = |rows: &&Range<usize>| rows.start < end_row && rows.end > first_row;
        let wanted: Vec<Range<usize>> = rows
            .iter()
            .filter(reaches_in)
            .map(|rows| rows.start.max(first_row) - first_row..rows.end.min(end_row) - first_row)
            .collect();
        if !wanted.is_empty() {
            add_pages(metadata, number, &wanted, &mut ranges);
        }
        first_row = end_row;
    }
    ranges
}

/// Adds the bytes of pages of one row group; the rows count from its first.
fn add_pages(metadata: &ParquetMetaData, group: usize, wanted: &[Range<usize>], ranges: &mut Vec<Range<u64>>) {
    let index = metadata.page_index_for_row_group(group);
    for (place, column) in metadata.row_group(group).columns().iter().enumerate() {
        let (start, bytes) = column.byte_range();
        let pages = index.page_locations(place).map_or(&[][..], Vec::as_slice);
        let Some(first) = pages.first() else {
            ranges.push(start..start + bytes);
            continue;
        };
        // A dictionary lies before the first page.
        ranges.push(start..first.offset as u64);
        for (at, page) in pages.iter().enumerate() {
            let end_row = pages.get(at + 1).map_or(usize::MAX, |next| next.first_row_index as usize);
            if wanted.iter().any(|rows| rows.start < end_row && rows.end > page.first_row_index as usize) {
                let from = page.offset as u64;
                ranges.push(from..from + page.compressed_page_size as u64);
            }
        }
    }
}
