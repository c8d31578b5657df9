//! The list of derivations, and what follows from it.

use std::collections::BTreeSet;

use super::declaration::{Derivation, Input, Work};
use super::figure::Figure;
use super::output::Output;
use super::{af_records, aggregates, extra, latest, news, sections};
use crate::registry::DataType;

/// All derivations, in the order in which they are computed: each after its inputs. Those that read rows of the same
/// types are together, so that the rows are read once.
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
        let derived = DERIVATIONS.iter().filter(|input| self.takes(input));
        self.row_types().chain(derived.flat_map(Derivation::all_row_types)).collect()
    }

    /// Returns whether values of another derivation are among its inputs.
    pub fn takes(&self, other: &Derivation) -> bool {
        self.inputs.iter().any(|input| match input {
            Input::Derived(id) => *id == other.id,
            Input::Aggregates => other.output == Some(Output::Slots),
            Input::Rows(_) | Input::Body | Input::Settings => false,
        })
    }
}

/// Returns the first derivation that writes an output: how values of the output are frozen and compared.
pub fn of_output(output: Output) -> Option<&'static Derivation> {
    DERIVATIONS.iter().find(|derivation| derivation.output == Some(output))
}

/// Returns all figures, in the order of the list.
pub fn figures() -> impl Iterator<Item = &'static Figure> {
    DERIVATIONS.iter().filter_map(|derivation| match &derivation.work {
        Work::Figure(figure) => Some(figure),
        _ => None,
    })
}

/// Returns whether anything is derived from rows of a type.
pub fn is_input(data_type: DataType) -> bool {
    DERIVATIONS.iter().any(|derivation| derivation.row_types().any(|input| input == data_type))
}

/// Returns all ids with their versions, as it is stored next to what they have computed: `id=version,…`.
pub fn versions() -> String {
    let versions: Vec<String> =
        DERIVATIONS.iter().map(|derivation| format!("{}={}", derivation.id, derivation.version)).collect();
    versions.join(",")
}

/// Returns the ids with versions that two texts of [`versions`] have in common: what both programs compute alike.
pub fn common_versions(one: &str, other: &str) -> String {
    let others: BTreeSet<&str> = other.split(',').collect();
    one.split(',').filter(|version| others.contains(version)).collect::<Vec<_>>().join(",")
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
    use super::super::output::KEYS_OF_DAY;
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
            let later = DERIVATIONS[at..].iter().find(|later| derivation.takes(later));
            assert!(later.is_none(), "{} comes before {later:?}", derivation.id);
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

    /// What a change of an input reaches is found by days, so an input of hours or times would never be noticed.
    #[test]
    fn derivations_of_days_take_only_what_is_kept_by_days() {
        let of_days = DERIVATIONS.iter().filter(|derivation| !matches!(derivation.work, Work::Windows { .. }));
        for derivation in of_days {
            for input in DERIVATIONS.iter().filter(|input| derivation.takes(input)) {
                assert!(input.output.is_some_and(Output::is_of_days), "{} takes {}", derivation.id, input.id);
            }
            assert_eq!(derivation.row_types().next(), None, "{}: rows reach windows", derivation.id);
        }
    }

    /// How values of an output are compared, and what remains of them, is asked of the first that writes it.
    #[test]
    fn derivations_of_one_output_agree_on_what_remains_and_what_is_the_same() {
        for derivation in DERIVATIONS {
            let Some(first) = derivation.output.and_then(of_output) else { continue };
            assert!(std::ptr::fn_addr_eq(derivation.frozen, first.frozen), "{}", derivation.id);
            assert!(std::ptr::fn_addr_eq(derivation.is_same, first.is_same), "{}", derivation.id);
            // Answers show what figures name.
            let is_extra = derivation.output == Some(Output::Extra);
            assert_eq!(is_extra, matches!(derivation.work, Work::Figure(_)), "{}", derivation.id);
        }
    }

    #[test]
    fn versions_that_two_programs_share_are_kept() {
        let newer = format!("{},figure=1", versions().replace("news=2", "news=3"));
        let common = common_versions(&versions(), &newer);
        assert_eq!(types_to_derive_again(&common), BTreeSet::from([DataType::Activity, DataType::Tests]));
        assert_eq!(common_versions(&versions(), &versions()), versions());
    }

    #[test]
    fn figures_have_numbers_and_names_of_their_own() {
        let numbers: BTreeSet<i64> = figures().map(|figure| figure.number).collect();
        let names: BTreeSet<(&str, &str)> = figures().map(|figure| (figure.topic, figure.name)).collect();
        assert_eq!((numbers.len(), names.len()), (figures().count(), figures().count()));
        assert!(numbers.iter().all(|number| (0..KEYS_OF_DAY).contains(number)));
    }
}
