//! Random bytes of the operating system: the one place where they are drawn.

use rand::TryRng;
#[expect(clippy::disallowed_types, reason = "the one place where the system's randomness is drawn")]
use rand::rngs::SysRng;

/// Fills bytes from the operating system.
///
/// # Panics
/// When the system has no randomness to give: nothing could be made safely then.
pub fn fill_random(bytes: &mut [u8]) {
    if let Err(error) = SysRng.try_fill_bytes(bytes) {
        panic!("the operating system has no randomness: {error}");
    }
}
