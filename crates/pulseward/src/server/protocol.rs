//! The versions of HTTP that a connection can speak.

/// What a connection speaks. It is settled before the first byte, because a server that waits for bytes to find out
/// waits without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}
