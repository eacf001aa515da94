//! The control token: compared in constant time, never printed.

use crate::error::Error;
use holon_domain::request_key::can_be_control_token;
use subtle::ConstantTimeEq as _;

/// Secret that authenticates a caller over TCP. Its value appears in no `Debug` output, no log and no response.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Minimum length in characters: 128 random bits in base 64.
    pub const MIN_LEN: usize = 22;

    /// Checks that the secret is long enough, can stand in a header, and is no token of another kind.
    ///
    /// # Errors
    /// When it is too short, repeats a few characters, holds a character that a header cannot, or has the prefix of
    /// callback tokens or named tokens.
    pub fn new(secret: impl Into<String>) -> Result<Self, Error> {
        let secret = secret.into();
        let sendable = secret.bytes().all(|byte| byte.is_ascii_graphic());
        if secret.len() >= Self::MIN_LEN && sendable && can_be_control_token(&secret) {
            Ok(Self(secret))
        } else {
            Err(Error::WeakToken)
        }
    }

    /// Returns true if this is the secret. The duration depends on the length only.
    #[must_use]
    pub(crate) fn matches(&self, offered: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(offered).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdefghijkl";

    #[test]
    fn only_the_whole_secret_matches() {
        let token = Token::new(SECRET).unwrap();
        assert!(token.matches(SECRET.as_bytes()));
        for wrong in [
            "",
            "0123456789abcdefghijk",
            "0123456789abcdefghijkL",
            "0123456789abcdefghijkl ",
        ] {
            assert!(!token.matches(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn short_or_unsendable_secrets_are_refused() {
        for weak in [
            "",
            "hunter2",
            "0123456789 bcdefghijkl",
            "0123456789äbcdefghijkl",
        ] {
            assert!(
                matches!(Token::new(weak), Err(Error::WeakToken)),
                "{weak:?}"
            );
        }
    }

    #[test]
    fn secrets_of_other_namespaces_and_repeated_characters_are_refused() {
        for weak in [
            format!("hct_{SECRET}"),
            format!("hlt_{SECRET}"),
            "a".repeat(40),
            "012345678".repeat(4),
        ] {
            assert!(
                matches!(Token::new(weak.as_str()), Err(Error::WeakToken)),
                "{weak:?}"
            );
        }
    }

    #[test]
    fn the_secret_is_not_in_its_debug_form() {
        assert_eq!(
            format!("{:?}", Token::new(SECRET).unwrap()),
            "Token(hidden)"
        );
    }
}
