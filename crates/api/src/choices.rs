//! The values of which one is chosen, by the names that they have in JSON.

use platform::exports::{ArchiveCompression, ArchiveFormat};
use store::{ExportStage, Gender, PatientState, Role, UserRole};
use vitals::news2::Availability;
use vitals::registry::DataType;

use crate::body::typed::{Choice, Name};

/// A gender by its name.
pub(crate) type GenderName = Name<Gender>;
/// A role of an account by its name.
pub(crate) type RoleName = Name<Role>;
/// A role of a user by its name.
pub(crate) type UserRoleName = Name<UserRole>;
/// A state of a patient by its name.
pub(crate) type PatientStateName = Name<PatientState>;
/// A stage of an export by its name.
pub(crate) type ExportStageName = Name<ExportStage>;
/// A format of archives by its name.
pub(crate) type ArchiveFormatName = Name<ArchiveFormat>;
/// A compression of archives by its name.
pub(crate) type ArchiveCompressionName = Name<ArchiveCompression>;
/// A reason why a measurement did not enter a score, by its name.
pub(crate) type MissingReasonName = Name<Availability>;

/// Returns the pattern of texts that are one of a few names, for lists that grow: a client in which they are a type of their
/// own would have to be generated again for each.
pub(crate) fn one_of<'name>(names: impl IntoIterator<Item = &'name str>) -> String {
    format!("^({})$", names.into_iter().collect::<Vec<_>>().join("|"))
}

/// Returns the pattern of texts that are the name of a data type.
pub(crate) fn one_of_data_types() -> String {
    one_of(DataType::names())
}

/// Makes choices of the enums of the store, which have their names there.
macro_rules! stored_choices {
    ($($kind:ty: $title:literal,)+) => {$(
        impl Choice for $kind {
            const TITLE: &'static str = $title;
            const ALL: &'static [Self] = <$kind>::ALL;

            fn name(self) -> &'static str {
                <$kind>::name(self)
            }
        }
    )+};
}

stored_choices! {
    Gender: "Gender",
    Role: "Role",
    UserRole: "UserRole",
    PatientState: "PatientState",
    ExportStage: "ExportStage",
}

/// Without `fresh`, which is no reason to be missing.
impl Choice for Availability {
    const TITLE: &'static str = "MissingReason";
    const ALL: &'static [Self] = &[Availability::LowQuality, Availability::Missing, Availability::Stale];

    fn name(self) -> &'static str {
        Availability::name(self)
    }
}

impl Choice for ArchiveFormat {
    const TITLE: &'static str = "ArchiveFormat";
    const ALL: &'static [Self] = &[ArchiveFormat::Csv, ArchiveFormat::Parquet];

    fn name(self) -> &'static str {
        match self {
            ArchiveFormat::Csv => "csv",
            ArchiveFormat::Parquet => "parquet",
        }
    }
}

impl Choice for ArchiveCompression {
    const TITLE: &'static str = "ArchiveCompression";
    const ALL: &'static [Self] = &[ArchiveCompression::Deflate, ArchiveCompression::Store];

    fn name(self) -> &'static str {
        match self {
            ArchiveCompression::Deflate => "deflate",
            ArchiveCompression::Store => "store",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_list_are_a_pattern_of_all_of_them() {
        assert_eq!(one_of(["acc", "rr-interval"]), "^(acc|rr-interval)$");
        for data_type in DataType::ALL {
            assert!(one_of_data_types().contains(data_type.name()));
        }
    }
}
