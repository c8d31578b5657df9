//! The body of `POST /v1/sync/:type`, behind a byte that chooses the type.
//!
//! Most of a stream is lengths and offsets that depend on each other, so most random changes only show again that a
//! damaged schema is refused. Three of four changes here leave the schema and the length of the stream alone.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    api::fuzzing::sync_arrow(bytes);
});

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let behind_schema = end_of_first_message(&bytes[..size]);
    match behind_schema {
        Some(start) if start < size && !seed.is_multiple_of(4) => {
            change_in_place(&mut bytes[start..size], seed);
            size
        }
        _ => libfuzzer_sys::fuzzer_mutate(bytes, size, max_size),
    }
});

/// Changes a window of at most 64 bytes and nothing else.
fn change_in_place(bytes: &mut [u8], seed: u32) {
    let place = seed / 4;
    let start = place as usize % bytes.len();
    let end = bytes.len().min(start + 1 + (place >> 16) as usize % 64);
    let window = &mut bytes[start..end];
    let before = window.to_vec();
    let left = libfuzzer_sys::fuzzer_mutate(window, before.len(), before.len());
    window[left..].copy_from_slice(&before[left..]);
}

/// Returns the type's byte, the mark, the length, and as many bytes.
fn end_of_first_message(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(5..9)?.first_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
    length.checked_add(9)
}
