//! What a node remembers of the keys that sign tokens.

use std::sync::{Arc, RwLock};

use jsonwebtoken::{DecodingKey, EncodingKey};
use runtime::HashMap;
use store::{SigningKeyId, StoreError};

use crate::core::error::Result;
use crate::identity::verified_tokens::VerifiedTokens;

/// The keys of one cloud as this node last saw them, and what they have verified.
#[derive(Default)]
pub(crate) struct Keyring {
    /// The keys.
    pub seen: RwLock<Option<Arc<Keys>>>,
    /// Tokens that they have verified.
    pub verified: VerifiedTokens,
}

/// The keys of one cloud.
#[derive(Clone)]
pub(crate) struct Keys {
    /// The name of the key that signs.
    pub signing_kid: SigningKeyId,
    /// The key that signs; `None` where it is not what was stored. Tokens are verified all the same.
    pub signing: Option<EncodingKey>,
    /// The keys that verify, by name, and their public bytes.
    pub verifying: HashMap<SigningKeyId, (DecodingKey, Vec<u8>)>,
    /// Time at which they were looked up, ms.
    pub seen_ms: i64,
    /// Whether they could not be read when they were looked up: then these are the ones of before.
    pub are_kept: bool,
}

impl Keys {
    /// Returns the key of a name; `None` where the store has none.
    ///
    /// # Errors
    /// Damage, where the stored keys cannot be read: it may be among them.
    pub fn verifying(&self, kid: &SigningKeyId) -> Result<Option<&DecodingKey>> {
        match self.verifying.get(kid) {
            // An app that hears that its token is not valid forgets it, and has its patient log in for nothing.
            None if self.are_kept => Err(StoreError::Damaged("the keys that verify tokens".to_owned()).into()),
            found => Ok(found.map(|(key, _)| key)),
        }
    }
}
