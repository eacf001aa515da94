//! Hashes: the names of kept texts, cache keys and fingerprints. All are the first half of a SHA-256, in hex.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Bytes kept of a digest: 128 bits do not collide by accident.
const KEPT: usize = 16;

/// The name of a text: the first 128 bits of its SHA-256, in hex.
#[must_use]
pub fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The name of a list of texts; where one ends and the next begins is part of it.
pub(crate) fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

fn hex(digest: &[u8]) -> String {
    digest
        .iter()
        .take(KEPT)
        .fold(String::with_capacity(2 * KEPT), |mut text, byte| {
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
