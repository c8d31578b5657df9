//! The payload of a chunk, behind a byte that chooses the type.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    api::fuzzing::payload(bytes);
});
