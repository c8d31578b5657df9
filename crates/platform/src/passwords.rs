//! Passwords: Argon2id with the parameters that OWASP names, off the async threads and only a few at once.

use std::sync::OnceLock;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// KiB of memory, passes, lanes: the second of the choices in OWASP's password storage cheat sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

const SHORTEST_PASSWORD: usize = 10;
/// Longer ones only cost work.
const LONGEST_PASSWORD: usize = 1024;

/// A hash that no password has: what is checked for a user who does not exist, so that it costs the same.
static NOBODY: OnceLock<String> = OnceLock::new();

impl Platform {
    /// The hash of a new password, in PHC form. Invalid when it is too short.
    pub(crate) async fn hash_new_password(&self, password: &str) -> Result<String> {
        check_new_password(password)?;
        let (password, salt) = (password.to_owned(), self.random_bytes::<16>());
        self.hashing(move || hash(&password, &salt)).await
    }

    /// Whether a password is the one of a hash. Without a hash the answer is no, after equal work.
    pub(crate) async fn password_fits(&self, password: &str, hash: Option<String>) -> Result<bool> {
        let password: String = password.chars().take(LONGEST_PASSWORD).collect();
        self.hashing(move || {
            let known = hash.is_some();
            let hash = match hash {
                Some(hash) => hash,
                None => nobody()?,
            };
            let hash = PasswordHash::new(&hash).map_err(broken)?;
            Ok(argon2()?.verify_password(password.as_bytes(), &hash).is_ok() && known)
        })
        .await
    }

    async fn hashing<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let _permit = self.memory.hashing.acquire().await.map_err(broken)?;
        tokio::task::spawn_blocking(work).await.map_err(broken)?
    }
}

/// Invalid when a password is shorter than ten characters or absurdly long.
pub(crate) fn check_new_password(password: &str) -> Result<()> {
    let length = password.chars().count();
    if length < SHORTEST_PASSWORD {
        return Err(PlatformError::invalid("password", "must have at least 10 characters"));
    }
    if length > LONGEST_PASSWORD {
        return Err(PlatformError::invalid("password", "must have at most 1024 characters"));
    }
    Ok(())
}

fn hash(password: &str, salt: &[u8]) -> Result<String> {
    let hash = argon2()?.hash_password_with_salt(password.as_bytes(), salt).map_err(broken)?;
    Ok(hash.to_string())
}

fn nobody() -> Result<String> {
    if let Some(hash) = NOBODY.get() {
        return Ok(hash.clone());
    }
    let made = hash("", b"nobody's password")?;
    Ok(NOBODY.get_or_init(|| made).clone())
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(broken)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("password hashing: {error}"))
}
