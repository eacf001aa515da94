//! Cleans text for display: removes the secret and control characters, and bounds the length.

use crate::secrets::PLACEHOLDER;
use holon_domain::text;
use secrecy::{ExposeSecret, SecretString};

/// Cleans a text and cuts it to `bytes`. The secret is removed before the cut, so no part of it can remain.
pub(super) fn clean(text: &str, secret: Option<&SecretString>, bytes: usize) -> String {
    let secret = secret.map(|secret| secret.expose_secret().trim());
    let text = match secret.filter(|secret| !secret.is_empty()) {
        Some(secret) => text.replace(secret, PLACEHOLDER),
        None => text.to_owned(),
    };
    let visible: String = text
        .chars()
        .map(|c| if text::is_display_control(c) { ' ' } else { c })
        .collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    text::preview(&words.join(" "), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_gone_wherever_it_stands() {
        let secret = SecretString::from("key\n");
        let show = |text, bytes| clean(text, Some(&secret), bytes);
        assert_eq!(show("a key and keys", 99), "a [secret] and [secret]s");
        assert_eq!(show("abckey", 5), "ab…", "no part of it is left by the cut");
        assert_eq!(clean("a key", None, 99), "a key");
        assert_eq!(clean("a key", Some(&"".into()), 99), "a key");
    }

    #[test]
    fn lines_and_escapes_become_one_line() {
        assert_eq!(clean(" a\r\n\tb\u{1b}[1mc\0", None, 99), "a b [1mc");
        assert_eq!(clean("a\u{202e}b\u{9b}c", None, 99), "a b c");
    }
}
