//! The body of `POST /v1/sync`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    api::fuzzing::sync_json(bytes);
});
