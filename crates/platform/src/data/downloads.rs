//! Links that open one object for a while.
//!
//! A bucket signs such links itself. For a folder this service does: the link names the object, what it is called when
//! it is saved and when the link ends, and carries an HMAC-SHA256 of the three under a key that follows from the master
//! key, so that every node knows it and no table has to.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use store::ObjectRead;

use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// What the key of links is derived from the master key with.
const PURPOSE: &[u8] = b"pulseward download links 1";

/// What a link says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadLink {
    /// The object.
    pub path: String,
    /// What it is called when it is saved.
    pub name: String,
    /// Time at which the link ends, seconds since 1970.
    pub expires_s: i64,
    /// What proves that this service made it.
    pub signature: String,
}

#[boxed_futures]
impl Data {
    /// Returns an address at which anyone who has it can fetch an object for a while.
    pub(crate) async fn download_url(&self, path: &str, name: &str, lifetime: Duration) -> Result<String> {
        // Object stores that sign addresses themselves serve the bytes without passing them through this process.
        if let Some(url) = self.core.objects().signed_url(path, name, lifetime).await? {
            return Ok(url);
        }
        let expires_s = self.core.now_ms().div_euclid(1000) + lifetime.as_secs() as i64;
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&self.link_key(), &signed_text(path, name, expires_s)));
        let base = &self.core.settings().integration_url;
        let (path, name) = (escaped(path), escaped(name));
        Ok(format!("{base}/downloads/{name}?object={path}&expires={expires_s}&signature={signature}"))
    }

    /// Opens the object of a link, or some positions of it. Forbidden when the link has ended or was not made here;
    /// not found when the object is gone.
    pub async fn open_download(&self, link: &DownloadLink) -> Result<u64> {
        let text = signed_text(&link.path, &link.name, link.expires_s);
        let signature = URL_SAFE_NO_PAD.decode(&link.signature).unwrap_or_default();
        // The signature first: the answer to a made-up link must not depend on the time in it or on what is stored.
        if hmac::verify(&self.link_key(), &text, &signature).is_err() {
            return Err(PlatformError::Forbidden("the link is not valid"));
        }
        if self.core.now_ms().div_euclid(1000) >= link.expires_s {
            return Err(PlatformError::Forbidden("the link has expired"));
        }
        // The size is known before the first byte, so a range can be answered and a missing object is a 404.
        self.core.health().size_of_object(&link.path).await?.ok_or(PlatformError::NotFound("download"))
    }

    /// Returns the bytes at some positions of the object of a link that has been opened.
    pub async fn read_download(&self, link: &DownloadLink, range: std::ops::Range<u64>) -> Result<ObjectRead> {
        self.core.objects().read(&link.path, Some(range)).await?.ok_or(PlatformError::NotFound("download"))
    }

    fn link_key(&self) -> hmac::Key {
        let master = hmac::Key::new(hmac::HMAC_SHA256, self.core.master_key());
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&master, PURPOSE).as_ref())
    }
}

/// Returns what is signed: each part with its length, so that no two links read the same.
fn signed_text(path: &str, name: &str, expires_s: i64) -> Vec<u8> {
    format!("{}:{path}{}:{name}{expires_s}", path.len(), name.len()).into_bytes()
}

/// Returns a part of an address in which nothing has a meaning of its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            _ => escaped.extend(['%', hex_digit(byte >> 4), hex_digit(byte & 15)]),
        }
    }
    escaped
}

fn hex_digit(value: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(value)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_characters_stay() {
        assert_eq!(escaped("type=ppg2 ä/&?#"), "type%3Dppg2%20%C3%A4%2F%26%3F%23");
    }

    #[test]
    fn parts_cannot_be_shifted_into_one_another() {
        assert_ne!(signed_text("ab", "c", 1), signed_text("a", "bc", 1));
        assert_ne!(signed_text("a", "b", 11), signed_text("a", "b1", 1));
    }
}
