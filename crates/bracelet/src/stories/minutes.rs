//! Begins of stories.

use std::ops::Range;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::time::MINUTE_MS;

/// Draws a whole minute in the range, none when it is empty.
pub(super) fn whole_minute_in(range: Range<i64>, random: &mut ChaCha8Rng) -> Option<i64> {
    let (first, last) = ((range.start + MINUTE_MS - 1).div_euclid(MINUTE_MS), range.end.div_euclid(MINUTE_MS));
    (first < last).then(|| random.random_range(first..last) * MINUTE_MS)
}
