//! What sections and slots are made of, as values: descriptions of the interface follow from the types themselves.

use super::local_time::{OffsetTime, TimeOfDay};
use crate::zone::LocalDay;

/// A section, a slot or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name of its type.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Its fields, in the order in which they are written.
    pub fields: &'static [FieldDescription],
}

/// A field of a section, a slot or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct FieldDescription {
    /// Name in JSON.
    pub name: &'static str,
    /// What it means and when it is null or left out.
    pub meaning: &'static str,
    /// What its values are.
    pub shape: Shape,
    /// Whether it can be null.
    pub is_nullable: bool,
    /// Whether it can be left out; it is never null then.
    pub is_optional: bool,
    /// Lowest and highest value.
    pub range: Option<(f64, f64)>,
    /// A usual value, as JSON; those of objects and lists follow from their fields.
    pub example: Option<&'static str>,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A number; the unit is empty for scores and factors, and for those whose field names its own.
    Number {
        /// Unit.
        unit: &'static str,
        /// Whether it has no fraction.
        is_whole: bool,
        /// Lowest and highest value, where they are those of the type.
        range: Option<(f64, f64)>,
    },
    /// True or false.
    Flag,
    /// A string of this form.
    Text(TextForm),
    /// Fields of its own.
    Object(&'static Description),
    /// Any number of these.
    List(&'static Description),
}

/// The form of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// `2025-11-20`.
    Date,
    /// `23:05`.
    TimeOfDay,
    /// `2025-11-20T23:05:30+01:00`.
    OffsetTime,
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// A type whose fields are described.
pub trait Described {
    /// The description.
    const DESCRIPTION: Description;
}

/// A type that a field can have.
pub(super) trait Shaped {
    const SHAPE: Shape;
    const IS_NULLABLE: bool = false;
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const IS_NULLABLE: bool = true;
}

impl<T: Described> Shaped for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::DESCRIPTION);
}

impl<T: Described> Shaped for T {
    const SHAPE: Shape = Shape::Object(&T::DESCRIPTION);
}

macro_rules! shapes {
    ($($kind:ty: $shape:expr;)+) => {$(
        impl Shaped for $kind {
            const SHAPE: Shape = $shape;
        }
    )+};
}

shapes! {
    f64: Shape::Number { unit: "", is_whole: false, range: None };
    i64: Shape::Number { unit: "", is_whole: true, range: None };
    u8: Shape::Number { unit: "", is_whole: true, range: Some((0.0, u8::MAX as f64)) };
    u32: Shape::Number { unit: "", is_whole: true, range: Some((0.0, u32::MAX as f64)) };
    u64: Shape::Number { unit: "", is_whole: true, range: None };
    bool: Shape::Flag;
    LocalDay: Shape::Text(TextForm::Date);
    TimeOfDay: Shape::Text(TextForm::TimeOfDay);
    OffsetTime: Shape::Text(TextForm::OffsetTime);
}

/// Declares a section, a slot or a part of one, with its description.
///
/// Each field has a line of documentation, its type, a usual value, its unit where its type has none, and its range where its
/// type has none: as two numbers (`in`) or as bounds that follow from others (`within`). Fields of the second
/// list are left out where they would be empty; without a usual value they are made of fields themselves.
macro_rules! described {
    (
        #[doc = $meaning:literal] $(#[doc = $more:literal])* $(#[derive($($derived:ident),+)])?
        pub struct $name:ident {
            $(
                #[doc = $said:literal] $(#[$attribute:meta])*
                pub $field:ident: $kind:ty = $example:literal $($unit:literal)? $(in $low:literal to $high:literal)? $(within $bounds:expr)?,
            )*
        }
        $(
            optional {
                $(
                    #[doc = $optional_said:literal]
                    pub $optional:ident: $optional_kind:ty $(= $optional_example:literal)?,
                )+
            }
        )?
    ) => {
        #[doc = $meaning]
        $(#[doc = $more])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize $(, $($derived),+)?)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(
                #[doc = $said]
                $(#[$attribute])*
                pub $field: $kind,
            )*
            $($(
                #[doc = $optional_said]
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_kind>,
            )+)?
        }

        impl $crate::summary::described::Described for $name {
            const DESCRIPTION: $crate::summary::described::Description = {
                #[allow(unused_imports, reason = "not every type has a bounded field")]
                use $crate::summary::described::{Description, FieldDescription, Shaped, range, with_unit};
                Description {
                    name: stringify!($name),
                    meaning: concat!($meaning $(, $more)*),
                    fields: &[
                        $(FieldDescription {
                            name: stringify!($field),
                            meaning: $said,
                            shape: with_unit(<$kind as Shaped>::SHAPE, concat!($($unit)?)),
                            is_nullable: <$kind as Shaped>::IS_NULLABLE,
                            is_optional: false,
                            range: range(<$kind as Shaped>::SHAPE, &[$(($low as f64, $high as f64))? $($bounds)?]),
                            example: Some(stringify!($example)),
                        },)*
                        $($(FieldDescription {
                            name: stringify!($optional),
                            meaning: $optional_said,
                            shape: <$optional_kind as Shaped>::SHAPE,
                            is_nullable: false,
                            is_optional: true,
                            range: None,
                            example: {
                                #[allow(unused_mut, unused_assignments, reason = "fields made of fields have none")]
                                let mut example = None;
                                $(example = Some(stringify!($optional_example));)?
                                example
                            },
                        },)+)?
                    ],
                }
            };
        }
    };
}

pub(super) use described;

/// Returns the range that a field names, else that of its type; none of what is no number.
pub(super) const fn range(shape: Shape, named: &[(f64, f64)]) -> Option<(f64, f64)> {
    match (named, shape) {
        ([range], _) => Some(*range),
        (_, Shape::Number { range, .. }) => range,
        _ => None,
    }
}

/// Returns a shape with the unit that a field names, if it names one.
pub(super) const fn with_unit(shape: Shape, named: &'static str) -> Shape {
    match shape {
        Shape::Number { is_whole, range, .. } if !named.is_empty() => Shape::Number { unit: named, is_whole, range },
        other => other,
    }
}
