//! What commands need of a store.

/// What a command expects of the stores that it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A store with its objects and its master key. One that is made where an address was mistyped would look well and be
    /// empty.
    Store,
    /// The same, or nothing yet: then they are made.
    StoreOrNothing,
    /// The databases of a store with its master key; nothing is asked of its objects, wherever they lie.
    Databases,
    /// The same, or nothing yet: then a store is made.
    DatabasesOrNothing,
    /// The databases of a store whose master key is lost: another one is made.
    LostKey,
    /// Databases that were brought back, whose objects may be somewhere else now.
    RestoredStore,
}

impl Expected {
    /// Returns whether objects are asked for.
    pub fn needs_objects(self) -> bool {
        matches!(self, Expected::Store | Expected::StoreOrNothing | Expected::RestoredStore)
    }

    /// Returns whether databases and objects become a store that are none yet, and older ones are brought up to date.
    pub fn makes_store(self) -> bool {
        matches!(self, Expected::StoreOrNothing | Expected::DatabasesOrNothing | Expected::RestoredStore)
    }
}
