//! Every SQL text is declared through [`sql!`], so that a test can prepare each of them on both engines.

/// Declares SQL texts as constants, and `TEXTS`, the list of them.
macro_rules! sql {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* const $name: &str = $text;)*
        /// Every statement of this module, for the test that prepares each on both engines.
        pub(crate) const TEXTS: &[&str] = &[$($name),*];
    };
}
pub(crate) use sql;
