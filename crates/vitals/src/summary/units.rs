//! Quantities of the daily summary, each a type with its unit.
//!
//! Only what is measured in something has a type here: counts, scores from 0 to 100 and factors are plain numbers.

use super::described::{Shape, Shaped, lowest};

/// Declares quantities: each is a number that is read and written as that number alone, where it begins if anywhere.
macro_rules! quantities {
    ($($(#[$meaning:meta])* $name:ident($number:ty), $unit:literal $(from $lowest:literal)?;)*) => {$(
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
                    Shape::Number { unit: $unit, is_whole, lowest: lowest(&[$($lowest as f64)?]) }
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

quantities! {
    /// Rate of the heart.
    BeatsPerMinute(f64), "/min" from 0;
    /// Rate of breathing.
    BreathsPerMinute(f64), "/min" from 0;
    /// Share or change in percent.
    Percent(f64), "%";
    /// Blood pressure in millimetres of mercury.
    MmHg(f64), "mmHg" from 0;
    /// Temperature in degrees Celsius.
    Celsius(f64), "°C";
    // A type of its own, because a difference of 1 is a fever and a temperature of 1 is a body in ice.
    /// Difference of two temperatures in degrees Celsius.
    CelsiusDifference(f64), "°C";
    /// Distance in metres.
    Metres(f64), "m" from 0;
    /// Speed in metres per second.
    MetresPerSecond(f64), "m/s" from 0;
    /// Energy in kilocalories.
    Kilocalories(f64), "kcal" from 0;
    /// Duration in whole seconds.
    Seconds(i64), "s" from 0;
    /// Length or spread of beat intervals in milliseconds.
    Milliseconds(f64), "ms" from 0;
    /// Spectral power of beat intervals in square milliseconds.
    SquareMilliseconds(f64), "ms²" from 0;
    /// Time in milliseconds since 1970-01-01T00:00:00Z.
    EpochMs(i64), "ms";
}
