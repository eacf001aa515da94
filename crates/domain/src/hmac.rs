//! HMAC with SHA-256 (RFC 2104), and comparison in constant time. Callers pass keys in; nothing here keeps one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// Returns the MAC of the parts in their order, as if they were one text.
#[must_use]
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    if key.len() > BLOCK {
        let short = Sha256::digest(key);
        for (place, byte) in block.iter_mut().zip(short.iter()) {
            *place = *byte;
        }
    } else {
        for (place, byte) in block.iter_mut().zip(key) {
            *place = *byte;
        }
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// Returns true if the MAC of the parts is `offered`. The time does not depend on where the two differ.
#[must_use]
pub fn verify(key: &[u8], parts: &[&[u8]], offered: &[u8]) -> bool {
    hmac_sha256(key, parts).ct_eq(offered).into()
}

/// Returns the key of a secret for webhooks: the bytes whose base64 follows the prefix `whsec_`, or the secret itself.
/// `None` if there is no key: with an empty one anybody could sign.
#[must_use]
pub fn key_of(secret: &str) -> Option<Vec<u8>> {
    let key = match secret.strip_prefix("whsec_") {
        Some(encoded) => STANDARD.decode(encoded).ok()?,
        None => secret.as_bytes().to_vec(),
    };
    (!key.is_empty()).then_some(key)
}

/// Spells bytes as lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// Reads hexadecimal of either case. `None` if it is not hexadecimal.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| {
        char::from(c)
            .to_digit(16)
            .and_then(|n| u8::try_from(n).ok())
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_without_a_key_has_no_use() {
        for (secret, has_key) in [
            ("", false),
            ("whsec_", false),
            ("whsec_!!!", false),
            ("whsec_AAAA", true),
            ("plain", true),
        ] {
            assert_eq!(key_of(secret).is_some(), has_key, "{secret:?}");
        }
    }

    #[test]
    fn the_published_test_cases_hold() {
        let mac = |key: &[u8], data: &[u8]| hex(&hmac_sha256(key, &[data]));
        assert_eq!(
            mac(&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            mac(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            mac(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn parts_count_as_one_text_and_a_changed_bit_is_noticed() {
        let whole = hmac_sha256(b"k", &[b"abc"]);
        assert_eq!(hmac_sha256(b"k", &[b"a", b"", b"bc"]), whole);
        assert!(verify(b"k", &[b"abc"], &whole));
        let mut changed = whole;
        changed[31] ^= 1;
        assert!(!verify(b"k", &[b"abc"], &changed));
        assert!(!verify(b"k", &[b"abc"], &whole[..31]));
        assert!(!verify(b"k", &[b"abc"], b""));
    }

    #[test]
    fn hexadecimal_is_read_back_and_anything_else_refused() {
        assert_eq!(from_hex(&hex(&[0, 9, 255])), Some(vec![0, 9, 255]));
        assert_eq!(from_hex("0aF"), None);
        assert_eq!(from_hex("zz"), None);
        assert_eq!(from_hex("AB"), Some(vec![0xab]));
    }
}
