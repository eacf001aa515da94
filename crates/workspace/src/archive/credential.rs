//! Recognises credentials in a home: files by their names, tokens by their well-known beginnings.
//!
//! The secrets that the host knows are found by the caller's own search; this is for those that an agent put there.

use std::borrow::Cow;

/// Text that replaces a token.
const PLACEHOLDER: &str = "[secret]";

/// Directories whose files are credentials.
const DIRECTORIES: [&str; 4] = [".ssh", ".gnupg", ".aws", ".azure"];
/// Files that hold credentials.
const FILES: [&str; 12] = [
    ".env",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    "credentials.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
/// Endings of files that hold keys.
const ENDINGS: [&str; 5] = [".pem", ".key", ".p12", ".pfx", ".keystore"];

/// Beginnings of tokens, and of the addresses of callbacks, whose last part is a capability.
const BEGINNINGS: [&str; 16] = [
    "sk-ant-",
    "sk-proj-",
    "sk-or-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "/callbacks/wake/",
    "/callbacks/enqueue/",
];
/// Beginnings of tokens that also occur inside words and names. They count at the beginning of a word, and only if a
/// digit follows in the token.
const SHORT_BEGINNINGS: [&str; 6] = ["sk-", "sk_live_", "sk_test_", "rk_live_", "hf_", "npm_"];
/// Files that hold credentials in directories that hold other files too.
const FILES_IN: [(&str, &str); 2] = [(".docker", "config.json"), (".kube", "config")];
/// Characters that must follow a beginning. Shorter texts are examples or names.
const TOKEN_CHARS: usize = 16;
/// First line of a private key in PEM form.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Returns true if the path of a file says that it holds credentials.
pub(super) fn is_credential_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let parent = parts.clone().next().unwrap_or_default();
    let is_env = name
        .strip_prefix(".env.")
        .is_some_and(|rest| rest != "example");
    FILES.contains(&name)
        || is_env
        || FILES_IN.contains(&(parent, name))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || parts.any(|directory| DIRECTORIES.contains(&directory))
}

/// Returns true if a text holds a private key.
pub(super) fn holds_private_key(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.contains("-----BEGIN ") && line.contains(PRIVATE_KEY))
}

/// Replaces the tokens that have a well-known beginning.
#[must_use]
pub fn redact_tokens(text: &str) -> Cow<'_, str> {
    let mut changed: Option<String> = None;
    let mut rest = text;
    while let Some((at, end)) = first_token(rest) {
        let (before, after) = (rest.get(..at), rest.get(end..));
        let (Some(before), Some(after)) = (before, after) else {
            break;
        };
        let out = changed.get_or_insert_with(String::new);
        out.push_str(before);
        out.push_str(PLACEHOLDER);
        rest = after;
    }
    match changed {
        Some(mut changed) => {
            changed.push_str(rest);
            Cow::Owned(changed)
        }
        None => Cow::Borrowed(text),
    }
}

/// Finds the first token. The address of a callback stays up to its capability.
fn first_token(text: &str) -> Option<(usize, usize)> {
    let tokens = BEGINNINGS.iter().filter_map(|beginning| {
        let found = text.match_indices(beginning);
        let mut long = found.filter_map(|(at, _)| {
            let body = at + beginning.len();
            let length = token_length(text.get(body..)?);
            let from = if beginning.starts_with('/') { body } else { at };
            (length >= TOKEN_CHARS).then_some((from, body + length))
        });
        long.next()
    });
    tokens.chain(first_short_token(text)).min()
}

/// Finds the first token with one of the short beginnings.
fn first_short_token(text: &str) -> Option<(usize, usize)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let tokens = SHORT_BEGINNINGS.iter().filter_map(|beginning| {
        let mut found = text.match_indices(beginning).filter_map(|(at, _)| {
            let body = at + beginning.len();
            let token = text.get(body..)?;
            let token = token.get(..token_length(token))?;
            let begins_word = !text.get(..at)?.ends_with(is_word);
            let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
            (begins_word && has_digit && token.len() >= TOKEN_CHARS)
                .then_some((at, body + token.len()))
        });
        found.next()
    });
    tokens.min()
}

fn token_length(text: &str) -> usize {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.find(|c| !is_token(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_credentials_are_known_by_their_names() {
        for path in [
            ".env",
            "work/app/.env.production",
            ".ssh/config",
            "keys/server.pem",
            "a/.git-credentials",
            "id_ed25519",
        ] {
            assert!(is_credential_file(path), "{path}");
        }
        for path in [
            "AGENTS.md",
            "work/.env.example",
            "notes/keys.md",
            "ssh/config",
        ] {
            assert!(!is_credential_file(path), "{path}");
        }
    }

    #[test]
    fn tokens_are_replaced_and_words_are_not() {
        let body = "0123456789abcdefXYZ_";
        for (text, expected) in [
            (
                format!("token ghp_{body} end"),
                "token [secret] end".to_owned(),
            ),
            (format!("\"sk-ant-{body}\""), "\"[secret]\"".to_owned()),
            (
                format!("http://h/callbacks/wake/{body}?x"),
                "http://h/callbacks/wake/[secret]?x".to_owned(),
            ),
            (
                format!("ghp_{body}, xoxb-{body}"),
                "[secret], [secret]".to_owned(),
            ),
        ] {
            assert_eq!(redact_tokens(&text), expected);
        }
        for text in ["ghp_short", "the prefix sk-ant- is theirs", "plain", ""] {
            assert!(matches!(redact_tokens(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_private_key_is_found_by_its_first_line() {
        assert!(holds_private_key(
            "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n"
        ));
        assert!(!holds_private_key("-----BEGIN CERTIFICATE-----"));
    }

    #[test]
    fn short_beginnings_count_at_the_beginning_of_a_word_with_a_digit() {
        for token in [
            "sk-0123456789abcdefghij",
            "sk_live_0123456789abcdef",
            "hf_abcdefghijklmnop1234",
            "npm_abcdefghijklmnop1234",
        ] {
            let text = format!("KEY={token} end");
            assert_eq!(redact_tokens(&text), "KEY=[secret] end", "{token}");
        }
        for text in [
            "task-0123456789abcdefghij",
            "sk-folding-cube-container-item",
            "npm_install_dependencies_now",
            "risk-0123456789abcdefghij",
        ] {
            assert_eq!(redact_tokens(text), text);
        }
        for path in [".docker/config.json", "x/.kube/config"] {
            assert!(is_credential_file(path), "{path}");
        }
        for path in ["config.json", "kube/config", ".docker/notes"] {
            assert!(!is_credential_file(path), "{path}");
        }
    }
}
