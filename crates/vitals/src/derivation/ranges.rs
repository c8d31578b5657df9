//! Ranges of keys of which everything is known.

/// Ranges, both ends included, in order and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(i64, i64)>);

impl Ranges {
    /// Adds a range; those that touch or overlap become one.
    pub fn add(&mut self, from: i64, to: i64) {
        if from > to {
            return;
        }
        let (mut from, mut to) = (from, to);
        self.0.retain(|(first, last)| {
            let is_apart = *last < from.saturating_sub(1) || *first > to.saturating_add(1);
            if !is_apart {
                (from, to) = (from.min(*first), to.max(*last));
            }
            is_apart
        });
        let at = self.0.partition_point(|(first, _)| *first < from);
        self.0.insert(at, (from, to));
    }

    /// Returns whether all of a range is known. An empty range is.
    pub fn has(&self, from: i64, to: i64) -> bool {
        from > to || self.around(from).is_some_and(|(_, last)| to <= last)
    }

    /// Returns the known range that holds a key.
    pub fn around(&self, key: i64) -> Option<(i64, i64)> {
        let at = self.0.partition_point(|(first, _)| *first <= key);
        let found = self.0[..at].last().copied()?;
        (key <= found.1).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Ranges::default();
        for (from, to) in [(10, 20), (40, 50), (30, 29), (21, 25), (24, 41)] {
            ranges.add(from, to);
        }
        assert_eq!(ranges, Ranges(vec![(10, 50)]));
        ranges.add(60, i64::MAX);
        ranges.add(i64::MIN, 5);
        assert_eq!(ranges, Ranges(vec![(i64::MIN, 5), (10, 50), (60, i64::MAX)]));
        assert!(ranges.has(10, 50) && ranges.has(70, i64::MAX) && ranges.has(9, 8));
        assert!(!ranges.has(5, 10) && !ranges.has(51, 51) && !ranges.has(45, 60));
        assert_eq!(ranges.around(50), Some((10, 50)));
        assert_eq!(ranges.around(55), None);
    }
}
