//! Every SQL text is declared through [`sql!`], so that a test can prepare each of them on both engines.

use crate::engine::param::Param;
use crate::error::Result;

/// Declares SQL texts as constants, and `TEXTS`, the list of them.
macro_rules! sql {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* const $name: &str = $text;)*
        #[cfg(test)]
        /// Every statement of this module, for the test that prepares each on both engines.
        pub(crate) const TEXTS: &[&str] = &[$($name),*];
    };
}
pub(crate) use sql;

/// Declares the columns of a record once: `$columns!()` lists them in statements, as an argument of `concat!`, and
/// `$read` reads them in the same order, from a row or from the next columns of one.
///
/// Columns have the names of the fields. `prefix` comes before each, such as `"s."` where a statement joins tables;
/// a text that the statement computes is given after its field, and `by` names a function that makes of its column
/// what the field holds. A field that is a record itself, `field <- columns!(read)`, has its columns there. A record that
/// is made of its columns only after they have been compared with each other is read as a tuple, `-> (i64, …)`.
macro_rules! record {
    (@text $prefix:literal $field:ident) => { concat!($prefix, stringify!($field)) };
    (@text $prefix:literal $field:ident $computed:literal) => { $computed };
    (@text $prefix:literal $field:ident $nested:ident) => { $nested!() };
    (@take $from:ident) => { $from.take()? };
    (@take $from:ident $read:ident) => { $read($from)? };
    (@list $columns:ident $prefix:literal {
        $first:ident $(= $first_computed:literal)? $(<- $first_nested:ident!($first_read:ident))? $(by $first_made:ident)?
        $(, $field:ident $(= $computed:literal)? $(<- $nested:ident!($read:ident))? $(by $made:ident)?)* $(,)?
    }) => {
        macro_rules! $columns {
            () => {
                concat!(
                    $crate::texts::record!(@text $prefix $first $($first_computed)? $($first_nested)?)
                    $(, ", ", $crate::texts::record!(@text $prefix $field $($computed)? $($nested)?))*
                )
            };
        }
    };
    (@reader $visibility:vis $reader:ident $record:ident {
        $($field:ident $(= $computed:literal)? $(<- $nested:ident!($read:ident))? $(by $made:ident)?),* $(,)?
    }) => {
        $visibility fn $reader(columns: &mut $crate::engine::row::Columns<'_, '_>) -> $crate::error::Result<$record> {
            // Fields are computed in the order in which they are written.
            Ok($record { $($field: $crate::texts::record!(@take columns $($read)? $($made)?)),* })
        }
    };
    ($columns:ident!($prefix:literal), $visibility:vis $read:ident(row) -> $record:ident $fields:tt) => {
        $crate::texts::record! { @list $columns $prefix $fields }

        $visibility fn $read(row: &$crate::engine::row::Row<'_>) -> $crate::error::Result<$record> {
            $crate::texts::record! { @reader read_columns $record $fields }
            read_columns(&mut $crate::engine::row::Columns::of(row))
        }
    };
    ($columns:ident!($prefix:literal), $visibility:vis $read:ident(columns) -> $record:ident $fields:tt) => {
        $crate::texts::record! { @list $columns $prefix $fields }
        $crate::texts::record! { @reader $visibility $read $record $fields }
    };
    ($columns:ident!($prefix:literal), $visibility:vis $read:ident(columns) -> ($($kind:ty),*) {
        $($field:ident),* $(,)?
    }) => {
        $crate::texts::record! { @list $columns $prefix { $($field),* } }

        $visibility fn $read(columns: &mut $crate::engine::row::Columns<'_, '_>) -> $crate::error::Result<($($kind),*)> {
            $(let $field = columns.take::<$kind>()?;)*
            Ok(($($field),*))
        }
    };
}
pub(crate) use record;

/// `$1` to `$64`, for `IN (...)` over as many values as [`LIST_LENGTH`]; to be used inside `concat!`.
macro_rules! list_of_64 {
    () => {
        "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,\
         $30,$31,$32,$33,$34,$35,$36,$37,$38,$39,$40,$41,$42,$43,$44,$45,$46,$47,$48,$49,$50,$51,$52,$53,$54,$55,\
         $56,$57,$58,$59,$60,$61,$62,$63,$64"
    };
}
pub(crate) use list_of_64;

/// How many values [`list_of_64!`] takes.
pub(crate) const LIST_LENGTH: usize = 64;

/// Returns the parameters of a list and some more.
pub(crate) fn with_more<'params>(list: &[&'params dyn Param], more: &[&'params dyn Param]) -> Vec<&'params dyn Param> {
    debug_assert_eq!(list.len(), LIST_LENGTH);
    list.iter().chain(more).copied().collect()
}

/// Calls `use_list` with the parameters for each [`LIST_LENGTH`] of the values; the last list is padded by
/// repeating its last value, so that one prepared text serves every length.
pub(crate) async fn in_lists(
    values: &[impl Param],
    mut use_list: impl AsyncFnMut(&[&dyn Param]) -> Result<()>,
) -> Result<()> {
    for part in values.chunks(LIST_LENGTH) {
        let padded = (0..LIST_LENGTH).map(|at| &part[at.min(part.len() - 1)] as &dyn Param);
        use_list(&padded.collect::<Vec<_>>()).await?;
    }
    Ok(())
}
