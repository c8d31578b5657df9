//! The key that guards the end of the audit log. It follows from the master key and is in no database.

use std::sync::Arc;

use aws_lc_rs::hmac;

/// Key of the codes of the audit log's end, with the public key of its checkpoints. Clones share it.
#[derive(Clone)]
pub struct AuditKey {
    // Prepared, it has more than a kilobyte, and each operation that writes an entry carries one.
    code_key: Arc<hmac::Key>,
    public_key: [u8; 32],
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AuditKey")
    }
}

impl AuditKey {
    /// Makes the key of a secret. `public_key` (Ed25519) names it, and follows from the same master key.
    pub fn new(secret: &[u8; 32], public_key: [u8; 32]) -> Self {
        AuditKey { code_key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret)), public_key }
    }

    /// Returns the public key that checkpoints are verified with.
    pub fn public_key(&self) -> &[u8; 32] {
        &self.public_key
    }

    /// Returns the code of some fields.
    pub(crate) fn code(&self, fields: &[&[u8]]) -> Vec<u8> {
        hmac::sign(&self.code_key, &joined(fields)).as_ref().to_vec()
    }

    /// Returns whether a code is that of some fields; compared in constant time.
    pub(crate) fn accepts(&self, fields: &[&[u8]], code: &[u8]) -> bool {
        hmac::verify(&self.code_key, &joined(fields), code).is_ok()
    }
}

/// Each field with its length, so that no two lists read the same.
fn joined(fields: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
        bytes.extend_from_slice(field);
    }
    bytes
}
