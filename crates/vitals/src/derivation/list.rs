//! The list of derivations, and what follows from it.

use std::collections::BTreeSet;

use super::declaration::{Derivation, Input};
use super::output::Output;
use super::{af_records, aggregates, extra, latest, news, sections};
use crate::registry::DataType;

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

impl Derivation {
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

#[cfg(test)]
mod tests {
    use super::super::{KEYS_OF_DAY, figures};
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
