//! Tables that the whole service leans on: the keys that sign tokens, and the identity of the store.
//!
//! Each is a row or two in a page of its own, so that damage there takes no patient's data and yet much of the service.

use boxed_futures::boxed_futures;

use crate::core::error::{PlatformError, Result};
use crate::identity::cloud::Cloud;
use crate::upkeep::Upkeep;

/// A table that is not what was stored, and what does not work without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedEssential {
    /// Name of the database.
    pub database: &'static str,
    /// Name of the table.
    pub table: &'static str,
    /// What is wrong with it.
    pub fault: EssentialFault,
    /// What does not work, for an operator.
    pub effect: &'static str,
}

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EssentialFault {
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It can be read, and the key in it is not what was sealed.
    Altered,
}

const KEYS: &str = "signing_key";
const IDENTITY: &str = "store_identity";
/// All of them: database and table.
pub const ESSENTIALS: [(&str, &str); 4] =
    [("users", KEYS), ("health", KEYS), ("users", IDENTITY), ("health", IDENTITY)];

#[boxed_futures]
impl Upkeep {
    /// Returns those of the tables that are damaged.
    ///
    /// # Errors
    /// Those of the stores but damage.
    pub async fn damaged_essentials(&self) -> Result<Vec<DamagedEssential>> {
        // At once: readiness has a second for everything.
        let (users_keys, health_keys, users_identity, health_identity) = futures::try_join!(
            found(self.identity.signing_key_is_whole(Cloud::Users)),
            found(self.identity.signing_key_is_whole(Cloud::Health)),
            found(async { Ok(self.core.users().probe_identity().await.map(|()| true)?) }),
            found(async { Ok(self.core.health().probe_identity().await.map(|()| true)?) }),
        )?;
        let faults = [users_keys, health_keys, users_identity, health_identity];
        let damaged = ESSENTIALS.into_iter().zip(faults).filter_map(|((database, table), fault)| {
            let fault = fault?;
            Some(DamagedEssential { database, table, effect: effect_of(database, table, &fault), fault })
        });
        Ok(damaged.collect())
    }
}

/// Returns what a look at a table has found; `None` of one that is sound.
async fn found(look: impl Future<Output = Result<bool>>) -> Result<Option<EssentialFault>> {
    match look.await {
        Ok(is_whole) => Ok((!is_whole).then_some(EssentialFault::Altered)),
        Err(PlatformError::Store(error)) if error.is_damage() => {
            Ok(Some(EssentialFault::Unreadable(error.to_string())))
        }
        Err(error) => Err(error),
    }
}

fn effect_of(database: &str, table: &str, fault: &EssentialFault) -> &'static str {
    match (database, table, fault) {
        ("users", KEYS, EssentialFault::Unreadable(_)) => {
            "logins to the Users Cloud and its tokens are answered 503, and so are logins to the Health Cloud with one; \
             uploads under health tokens, API keys and sessions of pages go on"
        }
        (_, KEYS, EssentialFault::Unreadable(_)) => {
            "tokens of the Health Cloud are answered 503, uploads with them too, which apps send again later; the Users \
             Cloud, API keys and sessions of pages go on"
        }
        ("users", KEYS, EssentialFault::Altered) => {
            "where its private half is hit, logins to the Users Cloud are answered 503; its tokens of before are good"
        }
        (_, KEYS, EssentialFault::Altered) => {
            "where its private half is hit, logins to the Health Cloud are answered 503; its tokens of before are good"
        }
        ("users", ..) => {
            "what is written to the audit log is answered 503: logins, enrolments, changes of studies, accounts and \
             patients; the log cannot be verified; uploads and reads go on"
        }
        _ => "at a start, the other database and the objects alone are compared; nothing else needs it",
    }
}
