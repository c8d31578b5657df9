//! The web portal: pages that are bundled when this crate is built, embedded, and served around the API that they use.
//!
//! The pages know nothing but the public API and what is under `/portal`, so this crate has no access to the
//! store. It answers a request only when it names one of its files or is a browser's request for a page; everything
//! else goes on to the API, whose answers to programs do not change.

mod files;
mod negotiation;
mod pages;

pub use pages::around;
