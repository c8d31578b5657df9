//! Parameters of statements that are the same on both engines.

use tokio_postgres::types::ToSql;

/// A value that both drivers can bind: i64, f64, bool, text, bytes, and options of them.
pub trait Param: rusqlite::ToSql + ToSql + Sync {
    /// Returns the value itself, for a statement that is still on its way when the caller has gone on.
    fn boxed(&self) -> Box<dyn ToSql + Sync + Send>;
}

impl<T: rusqlite::ToSql + ToSql + Sync + Owned> Param for T {
    fn boxed(&self) -> Box<dyn ToSql + Sync + Send> {
        Box::new(self.owned())
    }
}

/// A parameter that can be kept.
pub trait Owned {
    /// What keeps it.
    type Kept: ToSql + Sync + Send + 'static;
    /// Copies it.
    fn owned(&self) -> Self::Kept;
}

macro_rules! owned_by_clone {
    ($($kind:ty),*) => {
        $(impl Owned for $kind {
            type Kept = $kind;
            fn owned(&self) -> $kind {
                self.clone()
            }
        })*
    };
}
owned_by_clone!(i64, f64, bool, String, Vec<u8>);

impl Owned for &str {
    type Kept = String;
    fn owned(&self) -> String {
        (*self).to_owned()
    }
}

impl Owned for &[u8] {
    type Kept = Vec<u8>;
    fn owned(&self) -> Vec<u8> {
        self.to_vec()
    }
}

impl<T: Owned> Owned for &T {
    type Kept = T::Kept;
    fn owned(&self) -> T::Kept {
        (**self).owned()
    }
}

impl<T: Owned> Owned for Option<T> {
    type Kept = Option<T::Kept>;
    fn owned(&self) -> Option<T::Kept> {
        self.as_ref().map(Owned::owned)
    }
}
