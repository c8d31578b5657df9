//! The keys of the audit log, which follow from the master key: one for the code of its end, one that signs checkpoints.
//!
//! They are derived and not stored, so that nobody who can write to the databases can put others in their place, and every
//! node has them.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use store::AuditKey;

const CODE: &[u8] = b"pulseward audit log: code of its end";
const CHECKPOINTS: &[u8] = b"pulseward audit log: signature of checkpoints";

/// The keys of the audit log.
pub(crate) struct AuditKeys {
    /// What seals the end of the log.
    pub head: AuditKey,
    /// What signs checkpoints.
    pub signing: Ed25519KeyPair,
}

impl AuditKeys {
    /// Returns the keys that follow from a master key.
    pub fn of(master_key: &[u8; 32]) -> Self {
        let seed = derived(master_key, CHECKPOINTS);
        let signing = Ed25519KeyPair::from_seed_unchecked(&seed)
            // 32 bytes are a seed, whatever they are.
            .unwrap_or_else(|error| panic!("a seed of 32 bytes makes no key: {error}"));
        let mut public_key = [0; 32];
        public_key.copy_from_slice(signing.public_key().as_ref());
        AuditKeys { head: AuditKey::new(&derived(master_key, CODE), public_key), signing }
    }
}

/// Returns what seals the audit log of a store with this master key.
pub fn audit_key(master_key: &[u8; 32]) -> AuditKey {
    AuditKeys::of(master_key).head
}

fn derived(master_key: &[u8; 32], purpose: &[u8]) -> [u8; 32] {
    // One purpose, one key: what signs is public by its other half, and nothing else may follow from it.
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, master_key), purpose);
    let mut key = [0; 32];
    key.copy_from_slice(tag.as_ref());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_purpose_and_by_master_key() {
        assert_ne!(derived(&[1; 32], CODE), derived(&[1; 32], CHECKPOINTS));
        assert_eq!(audit_key(&[1; 32]).public_key(), audit_key(&[1; 32]).public_key());
        assert_ne!(audit_key(&[1; 32]).public_key(), audit_key(&[2; 32]).public_key());
    }
}
