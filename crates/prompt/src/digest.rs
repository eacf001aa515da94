//! Hashes in hex: names of stored texts, which must not collide, and shorter identities of caches.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Bytes kept of a name: 128 bits do not collide by accident.
const NAME: usize = 16;
/// Bytes kept of a cache identity, which is only compared with its neighbours and stored with every round.
const IDENTITY: usize = 8;

/// Names a text: the first 128 bits of its SHA-256, in hex.
#[must_use]
pub fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()), NAME)
}

/// Hashes a list of texts; the boundaries between them are part of the hash.
pub(crate) fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize(), IDENTITY)
}

fn hex(digest: &[u8], kept: usize) -> String {
    digest
        .iter()
        .take(kept)
        .fold(String::with_capacity(2 * kept), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_first_half_of_the_sha_256_in_hex() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223");
    }

    #[test]
    fn moving_a_boundary_between_parts_changes_the_hash() {
        assert_ne!(hash_parts(["ab", "c"]), hash_parts(["a", "bc"]));
        assert_ne!(hash_parts(["ab"]), hash_parts(["ab", ""]));
    }
}
