//! Recovery codes: ten with each second factor, shown once, of which each signs in once in the place of six digits.
//!
//! They need no master key, so that they help where it was lost as well. A code has 80 random bits, which no guess and no
//! search for its hash reaches, so a plain hash is enough (NIST SP 800-63B, look-up secrets).

use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};
use store::{AccountId, EntityId, SecurityEventType, UsedFactor};
use totp_rs::Secret;

use super::caller::PortalCaller;
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;

/// Codes that are made at once.
const CODES: usize = 10;
/// Random bytes of a code.
const CODE_BYTES: usize = 10;
/// Characters of a code in base 32, five bits each.
const CODE_LENGTH: usize = 16;
/// Characters of a group, as a code is shown.
const GROUP_LENGTH: usize = 4;

/// Recovery codes that have just been made.
pub(super) struct NewRecoveryCodes {
    /// As they are shown.
    pub shown: Vec<String>,
    /// As they are stored.
    pub hashes: Vec<Vec<u8>>,
}

#[boxed_futures]
impl Identity {
    /// Puts new recovery codes in the place of those of before, for somebody who knows the password; answers them, which
    /// cannot be read again. Not found without a second factor.
    pub async fn renew_recovery_codes(
        &self,
        caller: &PortalCaller,
        password: &str,
        address: &str,
    ) -> Result<Vec<String>> {
        self.check_own_password(caller, "password", password, address).await?;
        let new = self.new_recovery_codes(&caller.account);
        if !self.core.users().replace_recovery_codes(&caller.account, new.hashes).await? {
            return Err(PlatformError::NotFound("second factor"));
        }
        self.note_by(SecurityEventType::RecoveryCodesMade, &caller.security_actor(), EntityId::from(&caller.account))
            .await;
        Ok(new.shown)
    }

    /// Returns how many of the caller's recovery codes have not been used. Not found without a second factor.
    pub async fn recovery_codes_left(&self, caller: &PortalCaller) -> Result<i64> {
        let left = self.core.users().recovery_codes_left(&caller.account).await?;
        left.ok_or(PlatformError::NotFound("second factor"))
    }

    /// Makes recovery codes for an account.
    pub(super) fn new_recovery_codes(&self, account: &AccountId) -> NewRecoveryCodes {
        let codes = (0..CODES).map(|_| written(&self.core.random_bytes::<CODE_BYTES>()));
        let (shown, hashes) = codes.map(|code| (in_groups(&code), hash(account, &code))).unzip();
        NewRecoveryCodes { shown, hashes }
    }

    /// Returns what a recovery code of an account is used as; `None` when it is not one or was used before. Wrong ones are
    /// counted and slowed with the wrong codes of the app.
    pub(super) async fn check_recovery_code(
        &self,
        account: &AccountId,
        code: &str,
        address: &str,
    ) -> Result<Option<UsedFactor>> {
        let guesses = guesses_of(account);
        self.check_backoff(&guesses, address)?;
        let hash = hash(account, code);
        if !self.core.users().has_recovery_code(account, &hash).await? {
            self.note_failed_guess(&guesses, address);
            return Ok(None);
        }
        self.memory.backoff.succeeded(&guesses, address);
        Ok(Some(UsedFactor::RecoveryCode(hash)))
    }
}

/// Returns the name that wrong codes of an account are counted under, of the app and for recovery alike.
pub(super) fn guesses_of(account: &AccountId) -> String {
    format!("totp {account}")
}

/// Returns what was typed as a recovery code, however it was grouped and in whatever case; `None` when it is none.
pub(super) fn read(typed: &str) -> Option<String> {
    let code: String = typed.chars().filter(|char| !char.is_whitespace() && *char != '-').collect();
    let code = code.to_ascii_uppercase();
    (code.len() == CODE_LENGTH && code.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'))).then_some(code)
}

/// Returns a code in base 32, in capitals.
fn written(bytes: &[u8; CODE_BYTES]) -> String {
    Secret::new(bytes[..].into()).to_base32()
}

fn in_groups(code: &str) -> String {
    let code = code.to_ascii_lowercase();
    let groups = code.as_bytes().chunks(GROUP_LENGTH).map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("-")
}

/// Returns the hash of a code, which is another for each account.
fn hash(account: &AccountId, code: &str) -> Vec<u8> {
    // With the account: who reads the hashes must not see that two accounts have one code.
    Sha256::new().chain_update(format!("pulseward recovery code {account} {code}")).finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_however_it_is_typed() {
        let code = written(b"0123456789");
        assert_eq!(code.len(), CODE_LENGTH);
        let shown = in_groups(&code);
        assert_eq!(shown, "gayt-emzu-gu3d-oobz");
        let with_blanks = shown.replace('-', " ");
        for typed in [&shown, &code, &with_blanks, &format!(" {shown} "), &shown.to_uppercase()] {
            assert_eq!(read(typed).as_ref(), Some(&code), "{typed}");
        }
        for wrong in
            ["", "123456", "123 456", "gayt-emzu-gu3d-oob", "gayt-emzu-gu3d-oobzz", "gayt-emzu-gu3d-oob1", "éééééééé"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn one_code_of_two_accounts_has_two_hashes() {
        let (ada, bob) = (AccountId::new("ada"), AccountId::new("bob"));
        assert_ne!(hash(&ada, "GAYTEMZUGU3DOOBZ"), hash(&bob, "GAYTEMZUGU3DOOBZ"));
    }
}
