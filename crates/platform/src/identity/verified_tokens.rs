//! Tokens whose signature this node has verified, and what they say.
//!
//! Verifying an Ed25519 signature is a quarter of what a one-row sync computes, and an app sends the same token for an hour.
//! What is remembered cannot become wrong: a token with other bytes has another digest. Whether its key still verifies and
//! whether its session is in force is looked up for every request as before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use runtime::HashMap;
use store::SigningKeyId;

use crate::identity::claims::Claims;

/// Tables that are locked apart from each other.
const SHARDS: usize = 16;
/// Tokens that a shard keeps at most; when it is full, it begins again. Some 8 MiB for each cloud.
const LARGEST_SHARD: usize = 1024;

/// SHA-256 of a token, so that no table of tokens that are good lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenDigest([u8; 32]);

/// A token whose signature, issuer and audience hold.
#[derive(Clone)]
pub(crate) struct VerifiedToken {
    /// Name of the key that verified it.
    pub kid: SigningKeyId,
    /// Content of the token.
    pub claims: Arc<Claims>,
}

/// The verified tokens of one cloud.
#[derive(Default)]
pub(crate) struct VerifiedTokens {
    shards: [Mutex<HashMap<TokenDigest, VerifiedToken>>; SHARDS],
}

impl TokenDigest {
    /// Returns the digest of a token as it was sent.
    pub(crate) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        TokenDigest(bytes)
    }
}

impl VerifiedTokens {
    /// Returns a token that was verified before.
    pub(crate) fn find(&self, token: &TokenDigest) -> Option<VerifiedToken> {
        self.shard(token).get(token).cloned()
    }

    /// Remembers a token. Only what was verified comes in here, so nobody else can make the table forget.
    pub(crate) fn add(&self, token: TokenDigest, verified: VerifiedToken) {
        let mut shard = self.shard(&token);
        if shard.len() >= LARGEST_SHARD {
            shard.clear();
        }
        shard.insert(token, verified);
    }

    fn shard(&self, token: &TokenDigest) -> MutexGuard<'_, HashMap<TokenDigest, VerifiedToken>> {
        self.shards[usize::from(token.0[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use store::{PatientId, SessionId, User};

    use super::*;

    fn verified(session: &str) -> VerifiedToken {
        let claims = Claims {
            iss: "https://study.example".to_owned(),
            aud: "health".to_owned(),
            user: User::Patient(PatientId::new("ada")),
            jti: SessionId::new(session),
            iat: 0,
            exp: 60,
            scope: None,
            act: None,
            client_id: None,
        };
        VerifiedToken { kid: SigningKeyId::new("key"), claims: Arc::new(claims) }
    }

    #[test]
    fn token_is_found_by_all_of_its_bytes() {
        let tokens = VerifiedTokens::default();
        tokens.add(TokenDigest::of("header.claims.signature"), verified("one"));
        let found = tokens.find(&TokenDigest::of("header.claims.signature")).expect("a token");
        assert_eq!((found.kid.as_str(), &found.claims.jti), ("key", &SessionId::new("one")));
        for other in ["header.claims.signaturf", "header.claims.signature ", "Header.claims.signature", ""] {
            assert!(tokens.find(&TokenDigest::of(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn table_does_not_grow_without_end() {
        let tokens = VerifiedTokens::default();
        for number in 0..2 * SHARDS * LARGEST_SHARD {
            tokens.add(TokenDigest::of(&number.to_string()), verified("one"));
        }
        let kept: usize = tokens.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= SHARDS * LARGEST_SHARD, "{kept}");
    }
}
