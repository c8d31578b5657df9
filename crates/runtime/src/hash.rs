//! Hash tables whose seed comes from the runtime.
#![expect(clippy::disallowed_types, reason = "the place where the standard tables get their hasher")]

use std::hash::{BuildHasher, DefaultHasher, RandomState};

/// Hash map seeded by the runtime. Made with `HashMap::default()`.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Hashing>;

/// Hash set seeded by the runtime. Made with `HashSet::default()`.
pub type HashSet<T> = std::collections::HashSet<T, Hashing>;

/// Builder of hashers with a seed of the runtime. Nobody outside the process can foresee the seed, so keys chosen by a
/// client cannot be made to collide.
#[derive(Clone, Debug)]
pub struct Hashing(RandomState);

impl Default for Hashing {
    fn default() -> Self {
        Hashing(RandomState::new())
    }
}

impl BuildHasher for Hashing {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        self.0.build_hasher()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_builder_hashes_equal_values_alike_and_two_builders_do_not() {
        let (one, other) = (Hashing::default(), Hashing::default());
        assert_eq!(one.hash_one("a"), one.clone().hash_one("a"));
        assert_ne!(one.hash_one("a"), other.hash_one("a"));
    }
}
