//! Compression of what is sent.

use clap::ValueEnum;

/// How the bodies of the syncs are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Not at all
    None,
    /// gzip
    Gzip,
    /// Zstandard
    Zstd,
}
