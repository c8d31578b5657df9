//! How many things each address holds.

use std::hash::Hash;

use runtime::HashMap;

/// Numbers by key. A key that holds nothing leaves nothing behind: an attacker has more addresses than this has memory.
#[derive(Clone, Debug)]
pub struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(HashMap::default())
    }
}

impl<K: Copy + Eq + Hash> Counts<K> {
    /// Returns how many a key holds.
    pub fn of(&self, key: K) -> usize {
        self.0.get(&key).copied().unwrap_or(0)
    }

    /// Counts one more.
    pub fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    /// Counts one less.
    pub fn take(&mut self, key: K) {
        match self.0.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(&key)),
        }
    }

    /// Returns whether no key holds anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_that_holds_nothing_leaves_nothing_behind() {
        let mut counts = Counts::default();
        counts.add(1);
        counts.add(1);
        counts.add(2);
        assert_eq!([1, 2, 3].map(|key| counts.of(key)), [2, 1, 0]);
        counts.take(1);
        counts.take(2);
        counts.take(3);
        assert_eq!([1, 2, 3].map(|key| counts.of(key)), [1, 0, 0]);
        counts.take(1);
        assert!(counts.is_empty());
    }
}
