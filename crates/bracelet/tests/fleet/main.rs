//! The fleet against a small stand-in for the service that loses, delays and refuses requests.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a client of the service, outside the runtime seam"
)]

mod delivery;
mod stopping;
mod stories;
mod stub;
mod trouble;
