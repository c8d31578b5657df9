//! Patients who were erased since a backup: they are erased again before anybody opens what was restored.

use std::collections::BTreeSet;
use std::path::Path;

use platform::{Platform, PlatformError};
use store::PatientId;
use uuid::Uuid;

use crate::failure::Failure;

/// How many were erased again, and how many of the named the databases do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Erased {
    pub again: u64,
    pub unknown: u64,
}

/// Erases the patients that the list of the erased or the caller names and the restored databases still have.
pub(super) async fn erase_again(platform: &Platform, named: BTreeSet<PatientId>) -> Result<Erased, Failure> {
    let mut all: BTreeSet<PatientId> = platform.upkeep.erased().await?.into_iter().collect();
    // The store's own list and the operator's: either may know of erasures that the other does not.
    all.extend(named.iter().cloned());
    let mut erased = Erased::default();
    for patient in all {
        if !platform.upkeep.knows_patient(&patient).await? {
            erased.unknown += u64::from(named.contains(&patient));
            continue;
        }
        match platform.people.erase_patient_as_operator(&patient).await {
            // Not found means that an erasure was under way in the backup and has been finished just now.
            Ok(_) | Err(PlatformError::NotFound(_)) => erased.again += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(erased)
}

/// Returns the uuids of a file, one a line; empty lines and those that begin with `#` are none. What cannot be read as
/// a uuid may have been meant as one, so it is an error and not left out.
pub(super) fn read_uuids(path: &Path) -> Result<BTreeSet<PatientId>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate();
    let named = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let uuid_of = |(at, line): (usize, &str)| match Uuid::parse_str(line) {
        Ok(uuid) => Ok(PatientId::new(uuid.hyphenated().to_string())),
        Err(_) => Err(Failure::Usage(format!("{}, line {}: not a uuid", path.display(), at + 1))),
    };
    named.map(uuid_of).collect()
}
