//! The mark of a control token in the host record: a keyed hash by which a start recognises the token of a running host.
//! Nobody without the key of the home learns anything about the token from it.

use crate::compose::capability_key_path;
use holon_config::Token;
use holon_domain::{hmac, text};
use std::path::Path;

/// Separates marks from other uses of the key.
const PURPOSE: &[u8] = b"holon.control_token_mark.v1\0";
/// Hexadecimal digits that are kept: enough that two tokens never collide by accident.
const KEPT_DIGITS: usize = 32;

/// Returns the mark of a token in a home. `None` if the home has no key, because no host has opened it yet.
#[must_use]
pub fn token_mark(home: &Path, token: &Token) -> Option<String> {
    let key = Token::load(&capability_key_path(home)).ok()?;
    let key = key.expose().as_bytes();
    let mac = hmac::hmac_sha256(key, &[PURPOSE, token.expose().as_bytes()]);
    Some(text::prefix(&hmac::hex(&mac), KEPT_DIGITS).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_that_of_one_token_in_one_home() {
        let token = |text: &str| Token::given(text, "a test").unwrap();
        let one = token("0123456789abcdefghijklmnopqrstuv");
        let other = token("vutsrqponmlkjihgfedcba9876543210");
        let homes = [0, 1].map(|_| tempfile::tempdir().unwrap());
        for home in &homes {
            assert_eq!(token_mark(home.path(), &one), None, "there is no key");
            std::fs::create_dir(home.path().join("state")).unwrap();
            Token::load_or_create(&capability_key_path(home.path())).unwrap();
        }
        let [here, there] = homes.each_ref().map(tempfile::TempDir::path);
        let mark = token_mark(here, &one);
        assert!(mark.as_ref().is_some_and(|mark| mark.len() == KEPT_DIGITS));
        assert_eq!(token_mark(here, &one), mark);
        assert_ne!(token_mark(here, &other), mark);
        assert_ne!(token_mark(there, &one), mark);
    }
}
