//! What a node remembers of the keys that sign tokens.

use std::sync::{Arc, RwLock};

use jsonwebtoken::{DecodingKey, EncodingKey};
use runtime::HashMap;

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
pub(crate) struct Keys {
    /// The name of the key that signs.
    pub signing_kid: String,
    /// The key that signs.
    pub signing: EncodingKey,
    /// The keys that verify, by name, and their public bytes.
    pub verifying: HashMap<String, (DecodingKey, Vec<u8>)>,
    /// Time at which they were looked up, ms.
    pub seen_ms: i64,
}
