//! Second factors: codes of six digits that change every thirty seconds (RFC 6238 with HMAC-SHA-1, as apps have them).
//!
//! A code counts one step early or late, because clocks differ, and once.

use aws_lc_rs::aead::{Aad, NONCE_LEN, Nonce};
use boxed_futures::boxed_futures;
use store::{AccountId, Totp, UsedFactor};
use totp_rs::{Algorithm, Builder, Secret};

use super::recovery_codes::{self, guesses_of};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;

const STEP_S: u64 = 30;
const DIGITS: u8 = 6;
/// Bytes of a secret: as many as the hash has (RFC 4226, 4).
const SECRET_BYTES: usize = 20;

#[boxed_futures]
impl Identity {
    /// Returns a new secret: as text for people, and sealed for its account.
    pub(super) fn new_totp_secret(&self, account: &AccountId) -> Result<(String, Vec<u8>)> {
        let secret = Secret::new_stack(self.core.random_bytes::<SECRET_BYTES>());
        let nonce = self.core.random_bytes::<NONCE_LEN>();
        let mut sealed = secret.as_bytes().to_vec();
        self.sealing_key()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), sealed_for(account), &mut sealed)
            .map_err(broken)?;
        Ok((secret.to_base32(), [&nonce[..], &sealed].concat()))
    }

    /// Returns what was given as the second factor of an account, a code of the app or a recovery code; `None` when it is
    /// not right or was used before.
    pub(super) async fn check_factor(
        &self,
        account: &AccountId,
        totp: &Totp,
        code: &str,
        address: &str,
    ) -> Result<Option<UsedFactor>> {
        match recovery_codes::read(code) {
            Some(code) => self.check_recovery_code(account, &code, address).await,
            None => Ok(self.check_totp(account, totp, code, address)?.map(UsedFactor::Step)),
        }
    }

    /// Returns the step that a code of an account is of; `None` when it is not right or was used before. Guessing is
    /// slowed like guessing of passwords, and counted apart from it: here the password was right.
    pub(super) fn check_totp(
        &self,
        account: &AccountId,
        totp: &Totp,
        code: &str,
        address: &str,
    ) -> Result<Option<i64>> {
        let name = guesses_of(account);
        self.check_backoff(&name, address)?;
        let secret = self.open_totp_secret(account, &totp.sealed_secret).inspect_err(|_| {
            tracing::warn!("a second factor cannot be opened; `admin remove-second-factor` takes it away");
        })?;
        let now_ms = self.core.now_ms();
        // Later than the last one: a code that was watched while it was typed opens nothing.
        let step = step_of(&secret, code, now_ms).filter(|step| *step > totp.last_step);
        match step {
            Some(_) => self.memory.backoff.succeeded(&name, address),
            None => self.memory.backoff.failed(&name, address, now_ms),
        }
        Ok(step)
    }

    /// Returns how many second factors the master key does not open.
    pub async fn count_unreadable_second_factors(&self) -> Result<u64> {
        let mut count = 0;
        for (account, sealed) in self.core.users().sealed_totp_secrets().await? {
            match self.open_totp_secret(&account, &sealed) {
                Ok(_) => {}
                Err(PlatformError::Conflict { .. }) => count += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    fn open_totp_secret(&self, account: &AccountId, sealed: &[u8]) -> Result<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or_else(|| broken("too short"))?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(broken)?;
        let mut sealed = sealed.to_vec();
        let opened = self.sealing_key()?.open_in_place(nonce, sealed_for(account), &mut sealed);
        let Ok(opened) = opened else { return Err(unreadable()) };
        Ok(opened.to_vec())
    }
}

/// Returns what a store that was restored without its master key answers: no code is right any more, and only an
/// operator can help.
fn unreadable() -> PlatformError {
    PlatformError::Conflict {
        code: "second_factor_unreadable",
        message: "the second factor cannot be read with the master key of this server; sign in with a recovery code, \
                  or an operator takes it away with `pulseward admin remove-second-factor`, and the password alone signs in then",
    }
}

/// Returns whether a text has the form of a code.
pub(super) fn is_code(text: &str) -> bool {
    let digits = digits_of(text);
    digits.len() == usize::from(DIGITS) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a code without the blank that apps show between its two groups, and that people copy.
fn digits_of(code: &str) -> String {
    code.replace(' ', "")
}

/// Returns the step around now whose code this is.
fn step_of(secret: &[u8], code: &str, now_ms: i64) -> Option<i64> {
    let digits = digits_of(code);
    let now_s = u64::try_from(now_ms.div_euclid(1_000)).ok()?;
    let step = generator(secret).check(&digits, now_s)?;
    i64::try_from(step).ok()
}

/// Returns the codes of a secret. RFC 6238, 5.2: clocks of telephones differ, and typing takes time.
fn generator(secret: &[u8]) -> totp_rs::Totp {
    let secret = Secret::new(secret.into());
    // Apps take SHA-1 where an address names no other, and some take no other.
    let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(DIGITS);
    // What is checked otherwise is known here: the digits, the step, and a secret that this program made.
    builder.with_step_duration(STEP_S).with_skew(1).with_secret(secret).build_noncompliant()
}

/// Ties a sealed secret to its account.
fn sealed_for(account: &AccountId) -> Aad<Vec<u8>> {
    Aad::from(format!("totp/{account}").into_bytes())
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("second factor: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of RFC 6238, appendix B.
    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_standard() {
        // The last six of the eight digits that the appendix lists.
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(step_of(SECRET, code, seconds * 1_000), Some(seconds / 30), "{seconds}");
        }
    }

    #[test]
    fn a_clock_may_differ_by_a_step() {
        let at_ms = 1_111_111_111_000;
        let step = at_ms / 30_000;
        for (ms, expected) in
            [(0, Some(step)), (30_000, Some(step)), (-30_000, Some(step)), (60_000, None), (-60_000, None)]
        {
            assert_eq!(step_of(SECRET, "050 471", at_ms + ms), expected, "{ms}");
        }
        for wrong in ["", "050472", "50471", "0504711", "+50471", "٠٥٠٤٧١"] {
            assert_eq!(step_of(SECRET, wrong, at_ms), None, "{wrong}");
        }
        assert_eq!(step_of(SECRET, "050471", -1), None, "before 1970");
    }

    #[test]
    fn secrets_are_written_in_base_32_without_padding() {
        let secret = Secret::new_stack(*b"12345678901234567890");
        assert_eq!(secret.to_base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    }
}
