//! Passwords: Argon2id with the parameters that OWASP names, off the async threads and only a few at once.
//!
//! Which passwords are taken follows NIST SP 800-63B: a length, no rules of composition, and none that an attacker tries
//! first (`new_password.rs`).

use std::sync::atomic::Ordering;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tracing::Instrument as _;

use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::memory::Memory;
use crate::identity::new_password::{LONGEST_PASSWORD, OwnWords, check_new_password};

/// KiB of memory, passes, lanes: the second of the choices in OWASP's password storage cheat sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// What is checked for a user who does not exist, so that it costs the same.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5cyBwYXNzd29yZA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Identity {
    /// Returns the hash of a new password, in PHC form. Invalid when it is too short or easily guessed; `field` is what it
    /// came as, `own` what is known of its owner.
    pub(crate) async fn hash_new_password(&self, field: &str, password: &str, own: &OwnWords) -> Result<String> {
        check_new_password(field, password, own)?;
        let (password, salt) = (password.to_owned(), self.core.random_bytes::<16>());
        self.hashing(move || hash(&password, &salt)).await
    }

    /// Returns whether a password is the one of a hash. Without a hash the answer is no, after equal work. `name` is
    /// what was logged in with, `address` where the call comes from; too many failures of these make the next ones
    /// wait.
    ///
    /// Failures are looked at and counted while the permit to hash is held: otherwise a thousand guesses sent at once
    /// would all be looked at before the first was counted.
    pub(crate) async fn password_fits(
        &self,
        name: &str,
        address: &str,
        password: &str,
        hash: Option<String>,
    ) -> Result<bool> {
        self.check_backoff(name, address)?;
        // One character too long is as wrong as a megabyte, and costs less to hash.
        let password: String = password.chars().take(LONGEST_PASSWORD + 1).collect();
        let permit = self.memory.hashing.clone().acquire_owned().await.map_err(broken)?;
        self.check_backoff(name, address)?;
        let (memory, clock) = (self.memory.clone(), self.core.clock().clone());
        let (name, address) = (name.to_owned(), address.to_owned());
        let verifying = runtime::blocking("hash a password", move || {
            // Here and not after it: anyone who breaks the connection off has tried all the same, and keeps their
            // permit until the work is done.
            let _permit = permit;
            let fits = verify(&memory, &password, hash.as_deref())?;
            if fits {
                memory.backoff.succeeded(&name, &address);
            } else {
                memory.backoff.failed(&name, &address, clock());
            }
            Ok(fits)
        });
        verifying.instrument(tracing::debug_span!("hash password")).await.map_err(broken)?
    }

    /// Too many when this name has been tried too often from this address.
    pub(crate) fn check_backoff(&self, name: &str, address: &str) -> Result<()> {
        match self.memory.backoff.wait_s(name, address, self.core.now_ms()) {
            Some(retry_after_s) => Err(PlatformError::TooMany { retry_after_s }),
            None => Ok(()),
        }
    }

    /// The same, without what others have failed with from this address.
    pub(crate) fn check_own_backoff(&self, name: &str, address: &str) -> Result<()> {
        match self.memory.backoff.own_wait_s(name, address, self.core.now_ms()) {
            Some(retry_after_s) => Err(PlatformError::TooMany { retry_after_s }),
            None => Ok(()),
        }
    }

    /// Counts a guess that was wrong, of what is no password.
    pub(crate) fn note_failed_guess(&self, name: &str, address: &str) {
        self.memory.backoff.failed(name, address, self.core.now_ms());
    }

    async fn hashing<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let permit = self.memory.hashing.clone().acquire_owned().await.map_err(broken)?;
        let working = runtime::blocking("hash a password", move || {
            let _permit = permit;
            work()
        });
        working.instrument(tracing::debug_span!("hash password")).await.map_err(broken)?
    }
}

/// Checks a password against a hash, or against nobody's.
fn verify(memory: &Memory, password: &str, hash: Option<&str>) -> Result<bool> {
    let parsed = PasswordHash::new(hash.unwrap_or(NOBODY)).map_err(broken)?;
    memory.hashes_verified.fetch_add(1, Ordering::Relaxed);
    Ok(argon2()?.verify_password(password.as_bytes(), &parsed).is_ok() && hash.is_some())
}

fn hash(password: &str, salt: &[u8]) -> Result<String> {
    let hash = argon2()?.hash_password_with_salt(password.as_bytes(), salt).map_err(broken)?;
    Ok(hash.to_string())
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(broken)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("password hashing: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::settings::Settings;

    #[test]
    fn nobody_costs_what_anybody_costs() {
        let real = hash("correct horse", b"sixteen bytes of").expect("a hash");
        let (real, nobody) = (PasswordHash::new(&real).expect("a hash"), PasswordHash::new(NOBODY).expect("a hash"));
        assert_eq!((real.algorithm, real.version, &real.params), (nobody.algorithm, nobody.version, &nobody.params));
        let length = |hash: &PasswordHash| {
            let digest = hash.hash.as_ref().expect("a digest");
            (hash.salt.as_ref().expect("a salt").len(), digest.len())
        };
        assert_eq!(length(&real), length(&nobody));
    }

    #[test]
    fn every_look_computes_one_hash() {
        let memory = Memory::new(&Settings::default());
        let known = hash("correct horse", b"sixteen bytes of").expect("a hash");
        let cases = [("correct horse", Some(known.as_str()), true), ("wrong", Some(&known), false), ("", None, false)];
        for (done, (password, hash, fits)) in cases.into_iter().enumerate() {
            assert_eq!(verify(&memory, password, hash).expect("an answer"), fits);
            assert_eq!(memory.hashes_verified.load(Ordering::Relaxed), done as u64 + 1);
        }
    }
}
