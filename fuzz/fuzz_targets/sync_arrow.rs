//! The body of `POST /v1/sync/:type`, behind a byte that chooses the type.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    api::fuzzing::sync_arrow(bytes);
});
