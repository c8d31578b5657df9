//! Damaged tables of signing keys and of the store's identity, and what an operator can do.

use platform::{DamagedEssential, EssentialFault};

/// Returns what is wrong with a table, what does not work, and what to do.
pub(super) fn problem(damaged: &DamagedEssential) -> String {
    let DamagedEssential { database, table, fault, effect } = damaged;
    match fault {
        EssentialFault::Unreadable(reason) => format!(
            "the {database} database: {table} cannot be read ({reason}): {effect}. Check the disk, then restore a backup; \
             docs/operations.md, \"Damaged keys\", says what that costs"
        ),
        EssentialFault::Altered => format!(
            "the {database} database: the key in {table} is not what was sealed: {effect}. `pulseward admin rotate-keys` \
             makes a new one, also while the service runs; docs/operations.md, \"Damaged keys\", says what that costs"
        ),
    }
}
