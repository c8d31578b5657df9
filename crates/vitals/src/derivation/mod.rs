//! Derivations: everything that is computed from a patient's rows, as one list of values.
//!
//! A [`Derivation`] names its inputs, says what a change of them reaches, and computes it as a pure function of what is
//! stored. [`Batch`] runs the list over what is dirty of one patient: whoever drives it reads what it asks for and
//! commits what it answers, once. Recomputation, versions, metrics and the tests of order run over the same list, so a
//! new entry is covered on the day on which it is added.
//!
//! A computation that lacks something stops with what it lacks ([`Missing`]) and begins again when that was read. So it
//! never waits, and reads in the middle of a long history cost a second look at what is in hand.

mod af_records;
mod aggregates;
mod batch;
mod days;
mod extra;
mod latest;
mod need;
mod news;
mod output;
mod ranges;
mod sections;
mod subject;
mod view;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

pub use batch::{Batch, Changes, Progress, Start};
pub use days::days_around;
pub use extra::{Figure, extra_of_day, figures};
pub use need::{Answer, Missing, Need, Rows};
pub use news::LOOK_BACK_WINDOWS;
pub use output::{DerivedRow, KEYS_OF_DAY, Output, day_and, day_and_type, day_of, keys_of_days};
pub use subject::{GOAL_SETTING, NEWS_SETTING, RULE_SETTING, Setting, Subject, WEIGHT_SETTING};
pub use view::View;
pub use windows::{Windows, joined};

use crate::registry::DataType;
use crate::zone::LocalDay;
use need::Computed;

/// All derivations, in the order in which they are computed: each after its inputs. Those that read rows of the same
/// types stand together, so that the rows are read once.
pub static DERIVATIONS: &[Derivation] = &[
    aggregates::TEMPERATURE,
    aggregates::SLEEP,
    aggregates::VARIABILITY,
    aggregates::BEATS,
    af_records::AF_RECORDS,
    aggregates::MOTION,
    aggregates::ECG,
    aggregates::PPG1,
    aggregates::PPG2,
    aggregates::ACTIVITY,
    aggregates::SPOT,
    news::NEWS,
    latest::LATEST,
    sections::DAY_SECTIONS,
    sections::DAY_INPUTS,
    sections::SLEEP_SECTIONS,
    sections::RECOVERY_SECTION,
    extra::night_resting_heart_rate::DERIVATION,
];

/// The types of rows that latest values and NEWS come from.
pub const VITAL_TYPES: [DataType; 2] = [DataType::Activity, DataType::Tests];

/// Something that is computed from a patient's rows and settings.
#[derive(Clone, Copy, Debug)]
pub struct Derivation {
    /// Name, for metrics and versions. It never changes.
    pub id: &'static str,
    /// Version of its definitions; a change of them raises it, and every patient becomes dirty.
    pub version: i64,
    /// Where its values are kept; `None` for those that are part of the patient's row.
    pub output: Option<Output>,
    /// What it is computed from.
    pub inputs: &'static [Input],
    /// What a change of its inputs reaches, and how that is computed.
    pub work: Work,
    /// What remains of a stored value where rows have expired that it came from; `None` where it can be computed again.
    pub frozen: fn(&Frozen, i64, &[u8]) -> Option<Vec<u8>>,
    /// Whether two bodies say the same.
    pub is_same: fn(&[u8], &[u8]) -> bool,
}

/// What a derivation is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Rows of a type.
    Rows(DataType),
    /// Values of another derivation, by its id.
    Derived(&'static str),
    /// Birthday, sex, height and weight.
    Body,
    /// Settings of patient and study.
    Settings,
}

/// What a change reaches, and how that is computed.
#[derive(Clone, Copy)]
pub enum Work {
    /// Windows of five minutes, of rows.
    Windows {
        /// Touched windows are widened to multiples of so many.
        aligned: i64,
        /// Windows whose rows are in memory at once; all of a batch without.
        at_once: Option<i64>,
        /// Computes some of the touched windows.
        compute: fn(&mut View, &[Windows]) -> Computed,
    },
    /// Local days whose inputs have changed.
    Days {
        /// So many days after a changed one are reached.
        after: i32,
        /// Computes the days.
        compute: fn(&mut View, &BTreeSet<LocalDay>) -> Computed,
    },
    /// A figure of a local day; nights begin the evening before, so the next day is reached.
    Figure(Figure),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Work::Windows { .. } => "Windows",
            Work::Days { .. } => "Days",
            Work::Figure(_) => "Figure",
        })
    }
}

impl Derivation {
    /// Returns the types of rows that it reads itself.
    pub fn row_types(&self) -> impl Iterator<Item = DataType> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Rows(data_type) => Some(*data_type),
            _ => None,
        })
    }

    /// Returns the types of rows that it comes from, by way of other derivations too.
    pub fn all_row_types(&self) -> BTreeSet<DataType> {
        let derived = self.inputs.iter().filter_map(|input| match input {
            Input::Derived(id) => by_id(id),
            _ => None,
        });
        self.row_types().chain(derived.flat_map(Derivation::all_row_types)).collect()
    }
}

/// Returns the derivation of an id.
pub fn by_id(id: &str) -> Option<&'static Derivation> {
    DERIVATIONS.iter().find(|derivation| derivation.id == id)
}

/// Returns the first derivation that writes an output: how values of the output are frozen and compared.
pub fn of_output(output: Output) -> Option<&'static Derivation> {
    DERIVATIONS.iter().find(|derivation| derivation.output == Some(output))
}

/// Whether anything is derived from rows of a type.
pub fn is_input(data_type: DataType) -> bool {
    DERIVATIONS.iter().any(|derivation| derivation.row_types().any(|input| input == data_type))
}

/// Returns all ids with their versions, as it is stored beside what they have computed: `id=version,…`.
pub fn versions() -> String {
    let versions: Vec<String> =
        DERIVATIONS.iter().map(|derivation| format!("{}={}", derivation.id, derivation.version)).collect();
    versions.join(",")
}

/// Returns the types whose rows have to be derived again where other versions have computed what is stored: those of
/// every derivation that is new or has another version.
pub fn types_to_derive_again(stored_versions: &str) -> BTreeSet<DataType> {
    let stored: BTreeSet<&str> = stored_versions.split(',').collect();
    let is_stored =
        |derivation: &&Derivation| stored.contains(format!("{}={}", derivation.id, derivation.version).as_str());
    DERIVATIONS.iter().filter(|derivation| !is_stored(derivation)).flat_map(Derivation::all_row_types).collect()
}

/// What lies before the first row of its type: it was derived from rows that have expired.
///
/// What is made of several types, such as the summary of a day, is frozen where any of them has expired. A batch still
/// brings a summary up to date where rows of another one are left, but not NEWS.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// First row of each type that has any, µs.
    pub first_us: BTreeMap<DataType, i64>,
    /// From when on rows of a type are kept, µs, where some have expired.
    pub kept_from_us: BTreeMap<DataType, i64>,
}

impl Frozen {
    /// Returns the first row of some types, µs; the end of time without any.
    pub fn first_of(&self, types: &[DataType]) -> i64 {
        types.iter().filter_map(|data_type| self.first_us.get(data_type)).copied().min().unwrap_or(i64::MAX)
    }

    /// Returns from when on what is made of all these types can be made again, µs.
    pub fn whole_from(&self, types: &[DataType]) -> i64 {
        let kept_from = types.iter().filter_map(|data_type| self.kept_from_us.get(data_type)).copied().max();
        self.first_of(types).max(kept_from.unwrap_or(i64::MIN))
    }
}

fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivations_come_after_their_inputs_and_have_names_of_their_own() {
        for (at, derivation) in DERIVATIONS.iter().enumerate() {
            let before: Vec<&str> = DERIVATIONS[..at].iter().map(|before| before.id).collect();
            assert!(!before.contains(&derivation.id), "{}", derivation.id);
            for input in derivation.inputs {
                let Input::Derived(id) = input else { continue };
                assert!(before.contains(id), "{} comes before its input {id}", derivation.id);
            }
            assert!(!derivation.all_row_types().is_empty(), "{} comes from no rows", derivation.id);
        }
    }

    #[test]
    fn each_version_that_changes_makes_just_its_rows_dirty() {
        assert!(types_to_derive_again(&versions()).is_empty());
        let older = versions().replace("af_records=1", "af_records=0");
        assert_eq!(types_to_derive_again(&older), BTreeSet::from([DataType::RrInterval]));
        assert_eq!(types_to_derive_again("").len(), DataType::ALL.into_iter().filter(|known| is_input(*known)).count());
    }

    #[test]
    fn figures_have_numbers_and_names_of_their_own() {
        let numbers: BTreeSet<i64> = figures().map(|figure| figure.number).collect();
        let names: BTreeSet<(&str, &str)> = figures().map(|figure| (figure.topic, figure.name)).collect();
        assert_eq!((numbers.len(), names.len()), (figures().count(), figures().count()));
        assert!(numbers.iter().all(|number| (0..KEYS_OF_DAY).contains(number)));
    }
}
