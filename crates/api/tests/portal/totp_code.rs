//! The code that an app shows which knows the secret and the time.

use aws_lc_rs::hmac;

pub const STEP_MS: i64 = 30_000;

/// Returns the code that an app shows (RFC 6238).
pub fn code(secret: &str, at_ms: i64) -> String {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u64, 0);
    for letter in secret.bytes() {
        let digit = if letter.is_ascii_uppercase() { letter - b'A' } else { letter - b'2' + 26 };
        bits = bits << 5 | u64::from(digit);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    let tag = hmac::sign(&key, &at_ms.div_euclid(STEP_MS).to_be_bytes());
    let offset = usize::from(tag.as_ref()[19] & 15);
    let word: [u8; 4] = tag.as_ref()[offset..offset + 4].try_into().expect("four bytes");
    format!("{:06}", (u32::from_be_bytes(word) & 0x7fff_ffff) % 1_000_000)
}
