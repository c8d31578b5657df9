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
use store::{ObjectRead, Objects};

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

/// The right to read an object whose link was valid when it was opened. Sealed samples are read with it and with no link:
///
/// ```
/// async fn read(download: &platform::OpenedDownload) {
///     let _ = download.read(0..1).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn read(link: &platform::DownloadLink) {
///     let _ = link.read(0..1).await;
/// }
/// ```
///
/// Nobody can make one, name another object in it or keep it by a copy:
///
/// ```compile_fail
/// fn other(download: platform::OpenedDownload, path: String) -> platform::OpenedDownload {
///     platform::OpenedDownload { path, ..download }
/// }
/// ```
///
/// ```compile_fail
/// fn kept(download: &platform::OpenedDownload) -> platform::OpenedDownload {
///     download.clone()
/// }
/// ```
pub struct OpenedDownload {
    objects: Objects,
    path: String,
    name: String,
    size: u64,
}

#[boxed_futures]
impl OpenedDownload {
    /// Returns what the file is called when it is saved.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes that the file has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns what distinguishes the file from all others: an object is written once, so the end of its path says which it is.
    pub fn mark(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the bytes at some positions.
    pub async fn read(&self, range: std::ops::Range<u64>) -> Result<ObjectRead> {
        self.objects.read(&self.path, Some(range)).await?.ok_or(PlatformError::NotFound("download"))
    }
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

    /// Opens the object of a link. Forbidden when the link has ended or was not made here; not found when the object is
    /// gone.
    pub async fn open_download(&self, link: DownloadLink) -> Result<OpenedDownload> {
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
        let size = self.core.health().size_of_object(&link.path).await?.ok_or(PlatformError::NotFound("download"))?;
        Ok(OpenedDownload { objects: self.core.objects().clone(), path: link.path, name: link.name, size })
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
