//! The keys that sign tokens: Ed25519, one ring for each cloud, made when first needed, sealed at rest with
//! AES-256-GCM under the master key.

use std::sync::{Arc, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use jsonwebtoken::{DecodingKey, EncodingKey};
use runtime::HashMap;
use store::{SigningKey, SigningKeyId};

use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::cloud::Cloud;
use crate::identity::keyring::{Keyring, Keys};

/// Time for which a ring is used before a new look whether another node has rotated the keys.
const FRESH_MS: i64 = 60_000;
/// The shortest time between two looks that tokens with unknown keys, or questions for the keys, can cause.
const LOOK_AGAIN_MS: i64 = 1_000;

/// What became of the key that a cloud signs with when it was tried whether the master key opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningKeyFate {
    /// It signs as before, or there is none yet.
    Kept,
    /// The master key does not open it: it only verifies from now on, and a new one signs.
    Rotated,
}

#[boxed_futures]
impl Identity {
    /// Returns the keys of a cloud. Makes the first one.
    pub(crate) async fn keys(&self, cloud: Cloud) -> Result<Arc<Keys>> {
        match self.seen_keys(cloud, FRESH_MS) {
            Some(keys) => Ok(keys),
            None => self.load_keys(cloud).await,
        }
    }

    /// Returns the keys of a cloud, looked up again when a key of this name is not among them.
    pub(crate) async fn keys_with(&self, cloud: Cloud, kid: &SigningKeyId) -> Result<Arc<Keys>> {
        let keys = self.keys(cloud).await?;
        if keys.verifying.contains_key(kid) {
            return Ok(keys);
        }
        // Another node may have made it since. Made-up names cost one look a second at most.
        self.fresh_keys(cloud).await
    }

    /// Returns the keys of a cloud as they were a second ago at most.
    pub(crate) async fn fresh_keys(&self, cloud: Cloud) -> Result<Arc<Keys>> {
        match self.seen_keys(cloud, LOOK_AGAIN_MS) {
            Some(keys) => Ok(keys),
            None => self.load_keys(cloud).await,
        }
    }

    /// Makes a new key that signs from now on; what it replaces goes on verifying. Answers its name.
    pub async fn rotate_signing_key(&self, cloud: Cloud) -> Result<SigningKeyId> {
        let key = self.new_signing_key(cloud)?;
        let kid = key.kid.clone();
        match cloud {
            Cloud::Users => self.core.users().rotate_signing_key(key).await?,
            Cloud::Health => self.core.health().rotate_signing_key(key).await?,
        }
        // This node signs with the new key at once; others see it within a minute and verify it as soon as it comes.
        self.load_keys(cloud).await?;
        Ok(kid)
    }

    /// Makes a new key that signs where the master key does not open the one that is there, and only there.
    ///
    /// # Errors
    /// Those of the store, of which nothing follows about the key: it stays.
    pub async fn rotate_unopened_signing_key(&self, cloud: Cloud) -> Result<SigningKeyFate> {
        if self.opens_signing_key(cloud).await? {
            return Ok(SigningKeyFate::Kept);
        }
        self.rotate_signing_key(cloud).await?;
        Ok(SigningKeyFate::Rotated)
    }

    /// Returns whether the master key opens the key that a cloud signs with; true where there is none yet.
    pub async fn opens_signing_key(&self, cloud: Cloud) -> Result<bool> {
        opens_newest(self.core.master_key(), cloud, &self.stored_signing_keys(cloud).await?)
    }

    /// Returns whether the key that a cloud signs with is what was stored, both halves of it; true where there is none yet.
    pub async fn signing_key_is_whole(&self, cloud: Cloud) -> Result<bool> {
        let keys = match cloud {
            Cloud::Users => self.core.users().probe_signing_keys().await?,
            Cloud::Health => self.core.health().probe_signing_keys().await?,
        };
        let Some(newest) = keys.iter().rfind(|key| key.retired_ms.is_none()) else { return Ok(true) };
        Ok(self.open(cloud, newest)?.is_some_and(|opened| opened.public_key == newest.public_key))
    }

    /// Returns whether a cloud has a key that signs; the first one is made when it is needed.
    pub async fn has_signing_key(&self, cloud: Cloud) -> Result<bool> {
        Ok(!self.stored_signing_keys(cloud).await?.is_empty())
    }

    async fn stored_signing_keys(&self, cloud: Cloud) -> Result<Vec<SigningKey>> {
        let mut stored = self.stored_keys(cloud).await?;
        stored.retain(|key| key.retired_ms.is_none());
        Ok(stored)
    }

    fn seen_keys(&self, cloud: Cloud, younger_than_ms: i64) -> Option<Arc<Keys>> {
        let seen = self.keyring(cloud).seen.read().unwrap_or_else(PoisonError::into_inner);
        seen.clone().filter(|keys| self.core.now_ms() - keys.seen_ms < younger_than_ms)
    }

    /// Returns what this node remembers of the keys of a cloud.
    pub(crate) fn keyring(&self, cloud: Cloud) -> &Keyring {
        match cloud {
            Cloud::Users => &self.memory.users_keys,
            Cloud::Health => &self.memory.health_keys,
        }
    }

    async fn stored_keys(&self, cloud: Cloud) -> Result<Vec<SigningKey>> {
        Ok(match cloud {
            Cloud::Users => self.core.users().signing_keys().await?,
            Cloud::Health => self.core.health().signing_keys().await?,
        })
    }

    async fn load_keys(&self, cloud: Cloud) -> Result<Arc<Keys>> {
        let keys = match self.read_keys(cloud).await {
            Err(error) if error.is_damage() => self.kept_keys(cloud).ok_or(error)?,
            // Without a key seen before, at least what verifies is there.
            Ok(keys) if keys.signing.is_none() => self.kept_keys(cloud).unwrap_or(keys),
            read => read?,
        };
        let keys = Arc::new(keys);
        *self.keyring(cloud).seen.write().unwrap_or_else(PoisonError::into_inner) = Some(keys.clone());
        Ok(keys)
    }

    /// Returns the keys that this node has seen before those in the store were damaged: what they sign and verify is as good
    /// as it was, and a page that is damaged must not end everybody's work before the operator has come.
    fn kept_keys(&self, cloud: Cloud) -> Option<Keys> {
        let seen = self.keyring(cloud).seen.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        tracing::error!(cloud = cloud.name(), "the keys of tokens cannot be read, and those seen before are used");
        Some(Keys { seen_ms: self.core.now_ms(), are_kept: true, ..Keys::clone(&seen) })
    }

    async fn read_keys(&self, cloud: Cloud) -> Result<Keys> {
        let mut stored = self.stored_keys(cloud).await?;
        if stored.iter().all(|key| key.retired_ms.is_some()) {
            let key = self.new_signing_key(cloud)?;
            match cloud {
                Cloud::Users => self.core.users().rotate_signing_key(key).await?,
                Cloud::Health => self.core.health().rotate_signing_key(key).await?,
            }
            // Two nodes that start at once make two keys; each then signs with the newer one, which both read here.
            stored = self.stored_keys(cloud).await?;
        }
        let newest = stored.iter().rfind(|key| key.retired_ms.is_none());
        let signing_kid = newest.ok_or_else(|| broken("no key signs"))?.kid.clone();
        let (mut verifying, mut signing) = (HashMap::default(), None);
        for key in stored {
            let opened = self.open(cloud, &key)?;
            // The private half is sealed, so where it opens it is right, and the public half follows from it. What lies in
            // the clear may have lost a bit, and every token would be refused as forged.
            let public_key = opened.as_ref().map_or(key.public_key, |opened| opened.public_key.clone());
            let decoding = DecodingKey::from_ed_components(&URL_SAFE_NO_PAD.encode(&public_key)).map_err(broken)?;
            if key.kid == signing_kid {
                signing = opened.map(|opened| opened.signing);
            }
            verifying.insert(key.kid, (decoding, public_key));
        }
        Ok(Keys { signing_kid, signing, verifying, seen_ms: self.core.now_ms(), are_kept: false })
    }

    fn new_signing_key(&self, cloud: Cloud) -> Result<SigningKey> {
        let seed = self.core.random_bytes::<32>();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(broken)?;
        let kid = SigningKeyId::new(self.core.new_record_id());
        let nonce = self.core.random_bytes::<NONCE_LEN>();
        let mut sealed = pair.to_pkcs8v1().map_err(broken)?.as_ref().to_vec();
        self.sealing_key()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), sealed_for(cloud, &kid), &mut sealed)
            .map_err(broken)?;
        Ok(SigningKey {
            kid,
            sealed_key: [&nonce[..], &sealed].concat(),
            public_key: pair.public_key().as_ref().to_vec(),
            created_ms: self.core.now_ms(),
            retired_ms: None,
        })
    }

    fn open(&self, cloud: Cloud, key: &SigningKey) -> Result<Option<OpenedKey>> {
        opened(&self.sealing_key()?, cloud, key)
    }

    /// Returns the key that seals what only this service may read.
    pub(crate) fn sealing_key(&self) -> Result<LessSafeKey> {
        sealing_key_of(self.core.master_key())
    }
}

/// Returns whether a master key opens the newest of some keys of a cloud that sign, oldest first; true where there is
/// none.
pub fn opens_newest(master_key: &[u8; 32], cloud: Cloud, signing: &[SigningKey]) -> Result<bool> {
    match signing.last() {
        Some(newest) => Ok(opened(&sealing_key_of(master_key)?, cloud, newest)?.is_some()),
        None => Ok(true),
    }
}

/// A key that the master key has opened.
struct OpenedKey {
    signing: EncodingKey,
    public_key: Vec<u8>,
}

/// Opens a key; `None` when the master key does not open it.
fn opened(sealing: &LessSafeKey, cloud: Cloud, key: &SigningKey) -> Result<Option<OpenedKey>> {
    let Some((nonce, sealed)) = key.sealed_key.split_at_checked(NONCE_LEN) else { return Ok(None) };
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(broken)?;
    let mut sealed = sealed.to_vec();
    let Ok(private) = sealing.open_in_place(nonce, sealed_for(cloud, &key.kid), &mut sealed) else { return Ok(None) };
    let pair = Ed25519KeyPair::from_pkcs8(private).map_err(broken)?;
    let public_key = pair.public_key().as_ref().to_vec();
    Ok(Some(OpenedKey { signing: EncodingKey::from_ed_der(private), public_key }))
}

fn sealing_key_of(master_key: &[u8; 32]) -> Result<LessSafeKey> {
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &master_key[..]).map_err(broken)?))
}

/// Ties sealed bytes to their place, so that they cannot be passed off as another key.
fn sealed_for(cloud: Cloud, kid: &SigningKeyId) -> Aad<Vec<u8>> {
    Aad::from(format!("{}/{kid}", cloud.name()).into_bytes())
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("signing key: {error}"))
}
