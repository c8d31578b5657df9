//! One file for each data type, and the one list of them.
//!
//! To add a type: its file here, the line of the file and the line of the list. The list's order is the order of every
//! output: first the specification's eleven, then ours. `docs/data-types.md` says what follows by itself.

mod acc;
mod activity;
mod bioz;
mod ecg;
mod eda;
mod gyro;
mod heart_rate_variability;
mod ppg1;
mod ppg2;
mod rr_interval;
mod sleep;
mod spot_tests;
mod temperature;

use super::declaration::Declaration;

/// Makes the enum of the types and the table of their declarations, so that neither can miss one of the other.
macro_rules! data_types {
    ($($variant:ident => $module:ident,)*) => {
        /// A kind of raw data that a bracelet uploads. The order is the order of every list of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DataType {
            $(
                #[doc = concat!("What `registry/types/", stringify!($module), ".rs` declares.")]
                $variant,
            )*
        }

        impl DataType {
            /// All types: the specification's eleven in its order, then ours.
            pub const ALL: [DataType; [$(stringify!($variant)),*].len()] = [$(DataType::$variant),*];
        }

        /// What is declared of each type, in the order of [`DataType::ALL`].
        pub(super) const DECLARATIONS: [Declaration; DataType::ALL.len()] = [$($module::DECLARATION),*];
    };
}

data_types! {
    Activity => activity,
    RrInterval => rr_interval,
    Sleep => sleep,
    Temperature => temperature,
    HeartRateVariability => heart_rate_variability,
    Ppg1 => ppg1,
    Ppg2 => ppg2,
    Bioz => bioz,
    Acc => acc,
    Ecg => ecg,
    Tests => spot_tests,
    Eda => eda,
    Gyro => gyro,
}
