//! A checkpoint: which entry the audit log ended with at a time, signed.
//!
//! What is signed is a text of one line for each field, in their order, so that a checkpoint can be checked without this
//! program (`docs/operations.md` shows how).

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use store::AuditKeyId;

use crate::core::ids::hex;

/// Version of the fields and of what is signed.
pub(crate) const FORMAT: u32 = 1;

/// A checkpoint as it lies among the objects. Hashes, keys and the signature are hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Version of the format.
    pub format: u32,
    /// Identity of the store.
    pub store: String,
    /// Number of the last entry.
    pub number: i64,
    /// Time at which the checkpoint was made, ISO 8601.
    pub time: String,
    /// Hash of the entry, which binds all before it.
    pub entry_hash: String,
    /// The last entry that was there when the key began to guard the log.
    pub sealed_from: i64,
    /// Time of that, ms since 1970.
    pub sealed_ms: i64,
    /// Name of the public key.
    pub key_id: AuditKeyId,
    /// The public key (Ed25519).
    pub public_key: String,
    /// Signature of the other fields.
    #[serde(default)]
    pub signature: String,
}

impl Checkpoint {
    /// Returns the checkpoint with its signature.
    #[must_use]
    pub(crate) fn signed(mut self, key: &Ed25519KeyPair) -> Self {
        self.signature = hex(key.sign(self.signed_text().as_bytes()).as_ref());
        self
    }

    /// Returns whether the signature is that of the key which the checkpoint names.
    pub(crate) fn is_signed(&self) -> bool {
        let (Some(key), Some(signature)) = (unhex(&self.public_key), unhex(&self.signature)) else { return false };
        self.key_id == key_id(&key)
            && UnparsedPublicKey::new(&ED25519, &key).verify(self.signed_text().as_bytes(), &signature).is_ok()
    }

    fn signed_text(&self) -> String {
        // Without `key_id`, which follows from the public key and is compared with it.
        let Checkpoint { format, store, number, time, entry_hash, sealed_from, sealed_ms, public_key, .. } = self;
        format!(
            "pulseward audit checkpoint {format}\nstore {store}\nnumber {number}\ntime {time}\nentry_hash {entry_hash}\n\
             sealed_from {sealed_from}\nsealed_ms {sealed_ms}\npublic_key {public_key}\n"
        )
    }
}

/// Returns the name of a public key: the first 16 digits of its SHA-256.
pub(crate) fn key_id(public_key: &[u8]) -> AuditKeyId {
    AuditKeyId::new(hex(&Sha256::digest(public_key)[..8]))
}

/// Returns the bytes of hexadecimal digits, small ones as they are written.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        // Capitals would be a second way to write a checkpoint, which comparing files would take for another one.
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::audit_keys::AuditKeys;

    fn example() -> Checkpoint {
        let keys = AuditKeys::of(&[1; 32]);
        let checkpoint = Checkpoint {
            format: FORMAT,
            store: "0123456789abcdef0123456789abcdef".to_owned(),
            number: 7,
            time: "2026-11-26T12:00:00Z".to_owned(),
            entry_hash: hex(&[7; 32]),
            sealed_from: 0,
            sealed_ms: 5,
            key_id: key_id(keys.head.public_key()),
            public_key: hex(keys.head.public_key()),
            signature: String::new(),
        };
        checkpoint.signed(&keys.signing)
    }

    #[test]
    fn checkpoint_with_any_field_changed_is_not_signed() {
        assert!(example().is_signed());
        let text = serde_json::to_value(example()).unwrap();
        let read: Checkpoint = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(read, example());
        let other_key = hex(AuditKeys::of(&[2; 32]).head.public_key());
        for (field, value) in text.as_object().unwrap() {
            let changed = match (field.as_str(), value) {
                ("public_key", _) => other_key.clone().into(),
                (_, serde_json::Value::Number(number)) => (number.as_i64().unwrap() + 1).into(),
                (_, serde_json::Value::String(text)) => text.replacen(['0', '2', '7'], "3", 1).into(),
                (field, value) => panic!("{field}: {value}"),
            };
            assert_ne!(changed, *value, "{field}");
            let mut text = text.clone();
            text[field] = changed;
            let changed: Checkpoint = serde_json::from_value(text).unwrap();
            assert!(!changed.is_signed(), "{field}");
        }
    }

    #[test]
    fn only_small_hexadecimal_digits_in_pairs_are_bytes() {
        assert_eq!(unhex("00ff1a"), Some(vec![0, 255, 26]));
        for wrong in ["0", "0g", "FF", "ä0"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
