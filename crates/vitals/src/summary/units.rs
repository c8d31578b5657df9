//! Quantities of the daily summary, each a type with its unit.
//!
//! Only what is measured in something has a type here: counts, scores from 0 to 100 and factors are plain numbers.

use super::bounds::{Bounds, TIME_MS};
use super::described::{Shape, Shaped};

/// Declares quantities: each is a number that is read and written as that number alone, with its bounds where all fields of it
/// have the same.
macro_rules! quantities {
    ($($(#[$meaning:meta])* $name:ident($number:ty), $unit:literal $(within $bounds:expr)?;)*) => {$(
        $(#[$meaning])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $number);

        impl $name {
            /// The unit, as docs/summary-fields.md has it.
            pub const UNIT: &'static str = $unit;
        }

        impl Shaped for $name {
            const SHAPE: Shape = match <$number as Shaped>::SHAPE {
                Shape::Number { is_whole, .. } => {
                    Shape::Number { unit: $unit, is_whole, range: bounds(&[$($bounds)?]) }
                }
                other => other,
            };
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "{} {}", self.0, Self::UNIT)
            }
        }

        impl From<$name> for $number {
            fn from(quantity: $name) -> Self {
                quantity.0
            }
        }
    )*};
}

/// Returns the bounds that are named, none without.
const fn bounds(named: &[Bounds]) -> Option<Bounds> {
    match named {
        [bounds] => Some(*bounds),
        _ => None,
    }
}

quantities! {
    /// Rate of the heart.
    BeatsPerMinute(f64), "/min";
    /// Rate of breathing.
    BreathsPerMinute(f64), "/min";
    /// Share or change in percent.
    Percent(f64), "%";
    /// Blood pressure in millimetres of mercury.
    MmHg(f64), "mmHg";
    /// Temperature in degrees Celsius.
    Celsius(f64), "°C";
    // A type of its own, because a difference of 1 is a fever and a temperature of 1 is a body in ice.
    /// Difference of two temperatures in degrees Celsius.
    CelsiusDifference(f64), "°C";
    /// Distance in metres.
    Metres(f64), "m";
    /// Speed in metres per second.
    MetresPerSecond(f64), "m/s";
    /// Energy in kilocalories.
    Kilocalories(f64), "kcal";
    /// Duration in whole seconds.
    Seconds(i64), "s";
    /// Length or spread of beat intervals in milliseconds.
    Milliseconds(f64), "ms";
    /// Spectral power of beat intervals in square milliseconds.
    SquareMilliseconds(f64), "ms²";
    /// Time in milliseconds since 1970-01-01T00:00:00Z.
    EpochMs(i64), "ms" within TIME_MS;
}
