//! The master key as the store's own, and what it has sealed. Damaged tables are no reason to refuse it: what does not need
//! them is to go on, and no key is made in their place.

use std::path::Path;

use platform::{Cloud, Platform};
use store::{AuditEnd, HealthDb, SealState, StoreError, UsersDb};

use super::expected::Expected;
use crate::failure::Failure;

/// Makes sure that the master key is that of the store, and lets it guard the audit log of a store that is new or of
/// before.
pub(super) async fn take(platform: &Platform, key_path: &Path, expected: Expected) -> Result<(), Failure> {
    // Otherwise any key is wrong: the right one is lost.
    if expected != Expected::LostKey {
        refuse_wrong_key(platform, key_path).await?;
    }
    if expected.makes_store() {
        // One that cannot be read is sealed already: a new store has no damage.
        unless_damaged(platform.upkeep.seal_new_audit_log().await)?;
        report_damage(platform).await?;
    }
    Ok(())
}

/// Refuses a master key that is not the one of the store: every login would fail, keys that sign would be sealed by two,
/// and the audit log would look as if somebody had changed it.
async fn refuse_wrong_key(platform: &Platform, key_path: &Path) -> Result<(), Failure> {
    let end = unless_damaged(platform.upkeep.audit_end().await)?;
    let is_others = end.as_ref().is_some_and(AuditEnd::is_of_other_key);
    // A code or a key that it opens was made with it. What it does not open is damaged then, and no reason to refuse what
    // is right: an operator would look for another key, which there is not.
    let mut is_proven = end.is_some_and(|end| end.state == SealState::Sealed);
    let mut opens_all = true;
    for cloud in [Cloud::Users, Cloud::Health] {
        match unless_damaged(platform.identity.opens_signing_key(cloud).await)? {
            // Also where there is none yet, of which nothing follows.
            Some(true) => is_proven |= platform.identity.has_signing_key(cloud).await?,
            Some(false) => opens_all = false,
            None => {}
        }
    }
    if !is_others && (opens_all || is_proven) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} is not the master key of this store: put the right one in its place, or name it with --master-key-file. If \
         that is lost for good, move this one away and run `pulseward admin rotate-keys --new-master-key`",
        key_path.display()
    )))
}

/// Says in the log of a service what of it will not work.
async fn report_damage(platform: &Platform) -> Result<(), Failure> {
    for damaged in platform.upkeep.damaged_essentials().await? {
        let (database, table, effect) = (damaged.database, damaged.table, damaged.effect);
        tracing::error!(database, table, effect, "a table is damaged; `pulseward doctor` says what to do");
    }
    Ok(())
}

/// Returns an answer; `None` where what it is made of is damaged.
pub(super) fn unless_damaged<T>(answer: platform::Result<T>) -> Result<Option<T>, Failure> {
    match answer {
        Err(platform::PlatformError::Store(error)) if error.is_damage() => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

/// Returns whether anything of the store was sealed with a master key. Of what is damaged that is not known, and a new
/// master key next to it would close it for good.
pub(super) async fn hold_sealed(users: &UsersDb, health: &HealthDb) -> Result<bool, StoreError> {
    let is_sealed = |answer: Result<bool, StoreError>| match answer {
        Err(error) if error.is_damage() => Ok(true),
        answer => answer,
    };
    Ok(is_sealed(users.holds_sealed().await)? || is_sealed(health.holds_sealed().await)?)
}

pub(super) fn is_lost(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} is missing, and the store holds what was sealed with this master key: put its copy there, or name it with \
         --master-key-file. If it is lost for good, `pulseward admin rotate-keys --new-master-key` makes another one and \
         new keys that sign; second factors cannot be read any more then, and `pulseward admin remove-second-factor` \
         takes them away",
        path.display()
    ))
}

pub(super) fn is_missing(path: &Path) -> Failure {
    Failure::Other(format!(
        "{} is missing: name the store's master key with --master-key-file; where there is none yet, `pulseward migrate` \
         and the start of the service make it",
        path.display()
    ))
}
