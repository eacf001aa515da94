//! The login that the Codex program keeps, `$CODEX_HOME/auth.json`: read, never written, never renewed.
//!
//! Its tokens are opaque to us but for one claim, when they end, which is read without being verified: the provider
//! verifies it. A link is followed, since people keep such files in a directory of their own.

use crate::env::Env;
use holon_domain::limits::CREDENTIAL_FILE_BYTES;
use holon_domain::time::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A login that was found.
#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) secret: SecretString,
    pub(crate) account_id: Option<String>,
    pub(crate) ends: Option<Timestamp>,
    pub(crate) kind: LoginKind,
}

/// The kind of a Codex login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginKind {
    /// With a ChatGPT account.
    Account,
    /// With a key of the API, which the ChatGPT address does not take.
    ApiKey,
}

/// The reason that no Codex login can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nobody has logged in.
    Missing,
    /// The login file cannot be used. Holds the problem and the next step.
    Unusable(String, String),
}

#[derive(Deserialize)]
struct AuthFile {
    #[serde(rename = "OPENAI_API_KEY")]
    api_key: Option<String>,
    tokens: Option<Tokens>,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: Option<String>,
    account_id: Option<String>,
}

/// The login of this user.
pub(crate) fn login(env: &Env) -> Result<Login, Problem> {
    let path = path(env).ok_or(Problem::Missing)?;
    login_at(&path, pause)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file is read outside the runtime's clock, and only a writer that died makes this last"
)]
fn pause() {
    std::thread::sleep(WRITE_PAUSE);
}

/// Reads the login file at this path. `pause` is called before each further look at a file that ends too early.
fn login_at(path: &Path, mut pause: impl FnMut()) -> Result<Login, Problem> {
    let mut content = read(path)?;
    for _ in 0..WRITE_PAUSES {
        if !is_half_written(&content) {
            break;
        }
        pause();
        content = read(path)?;
    }
    parse(path, &content)
}

/// Returns true if the content is the beginning of a JSON document, as a program leaves it that is still writing.
fn is_half_written(content: &str) -> bool {
    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(content);
    parsed.is_err_and(|error| error.is_eof())
}

fn parse(path: &Path, content: &str) -> Result<Login, Problem> {
    let unusable = |problem: &str| {
        let problem = format!("{} {problem}", path.display());
        Problem::Unusable(problem, "run: codex login".to_owned())
    };
    // The parser's own words could repeat a secret.
    let file: AuthFile =
        serde_json::from_str(content).map_err(|_| unusable("is not what codex login writes"))?;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    if let Some(tokens) = file.tokens
        && let Some(token) = given(tokens.access_token)
    {
        let claims = claims(&token);
        return Ok(Login {
            account_id: given(tokens.account_id).or_else(|| claims.as_ref().and_then(account_of)),
            ends: claims.as_ref().and_then(end_of),
            secret: SecretString::from(token.trim()),
            kind: LoginKind::Account,
        });
    }
    let key = given(file.api_key).ok_or_else(|| unusable("holds no login"))?;
    Ok(Login {
        secret: SecretString::from(key.trim()),
        account_id: None,
        ends: None,
        kind: LoginKind::ApiKey,
    })
}

/// Path of the login file.
fn path(env: &Env) -> Option<PathBuf> {
    let dir = match env.get("CODEX_HOME") {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(env.get("HOME")?).join(".codex"),
    };
    Some(dir.join("auth.json"))
}

/// Pause before a login file that ends too early is read again. A program writes a login in far less time.
const WRITE_PAUSE: Duration = Duration::from_millis(20);
/// Most such pauses. A file that stays like that is told as unusable after a fifth of a second.
const WRITE_PAUSES: usize = 10;

/// Most times that a login file is read again because it was replaced or written meanwhile.
const REREADS: usize = 3;

/// The state of a file by which a replacement or a write is detected.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileState {
    fn of(facts: &Metadata) -> Self {
        Self {
            device: facts.dev(),
            inode: facts.ino(),
            bytes: facts.len(),
            modified: (facts.mtime(), facts.mtime_nsec()),
        }
    }
}

/// Reads a login file. A file that changed while it was read is read again, so that half of a login is taken only from
/// a file that stays like that.
fn read(path: &Path) -> Result<String, Problem> {
    let mut read = read_once(path);
    for _ in 0..REREADS {
        let now = std::fs::metadata(path).ok();
        let now = now.as_ref().map(FileState::of);
        let is_stable = match &read {
            Ok((before, _)) => now.as_ref() == Some(before),
            Err(Problem::Missing) => now.is_none(),
            Err(Problem::Unusable(..)) => true,
        };
        if is_stable {
            break;
        }
        read = read_once(path);
    }
    read.map(|(_, content)| content)
}

/// Reads a login file and returns its state before it was read.
fn read_once(path: &Path) -> Result<(FileState, String), Problem> {
    let shown = path.display();
    let unusable = |problem: String, next: String| Problem::Unusable(problem, next);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Problem::Missing,
        _ => unusable(
            format!("{shown} cannot be read: {error}"),
            "check its permissions, or run: codex login".to_owned(),
        ),
    };
    let flags =
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, rustix::fs::Mode::empty());
    let file = File::from(opened.map_err(|error| failed(error.into()))?);
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() || facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(unusable(
            format!("{shown} is not a file of this user"),
            "run: codex login".to_owned(),
        ));
    }
    if facts.mode() & 0o077 != 0 {
        let mode = facts.mode() & 0o7777;
        return Err(unusable(
            format!("{shown} has mode {mode:04o}, so others may have read it"),
            format!("run: chmod 600 {shown}"),
        ));
    }
    let mut content = String::new();
    let read = file
        .take(CREDENTIAL_FILE_BYTES + 1)
        .read_to_string(&mut content);
    read.map_err(failed)?;
    if content.len() as u64 > CREDENTIAL_FILE_BYTES {
        return Err(unusable(
            format!("{shown} is too large for a login"),
            "run: codex login".to_owned(),
        ));
    }
    Ok((FileState::of(&facts), content))
}

/// The claims of a token, unverified; none when it is no token of that form.
fn claims(token: &str) -> Option<serde_json::Value> {
    let body = token.split('.').nth(1)?;
    serde_json::from_slice(&decode_base64url(body)?).ok()
}

fn end_of(claims: &serde_json::Value) -> Option<Timestamp> {
    let seconds = claims.get("exp")?.as_i64()?;
    Some(Timestamp::from_millis(seconds.checked_mul(1_000)?))
}

fn account_of(claims: &serde_json::Value) -> Option<String> {
    let account = claims
        .get("https://api.openai.com/auth")?
        .get("chatgpt_account_id")?;
    account.as_str().map(str::to_owned)
}

/// Base64 in its URL alphabet, with or without padding.
fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        buffer = buffer << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length_is_decoded() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg", b"f"),
            ("Zg==", b"f"),
            ("Zm8", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYmFy", b"foobar"),
            ("-_-_", &[0xfb, 0xff, 0xbf]),
        ] {
            assert_eq!(decode_base64url(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode_base64url("a b"), None);
    }

    #[test]
    fn a_login_that_is_being_written_is_read_when_it_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("auth.json");
        let write = |content: &str| {
            std::fs::write(&path, content).expect("written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, mode).expect("private");
        };
        let whole = r#"{"tokens":{"access_token":"t1"}}"#;
        let steps = ["", r#"{"tokens":{"acc"#, whole];
        write(steps[0]);
        let mut pauses = 0;
        let login = login_at(&path, || {
            pauses += 1;
            write(steps[pauses]);
        });
        assert!(login.is_ok(), "{login:?}");
        assert_eq!(pauses, 2);
        for (content, expected) in [(steps[1], WRITE_PAUSES), ("{\"tokens\" nonsense}", 0)] {
            write(content);
            let mut pauses = 0;
            let refused = login_at(&path, || pauses += 1);
            assert!(matches!(refused, Err(Problem::Unusable(..))), "{refused:?}");
            assert_eq!(pauses, expected, "{content}");
        }
    }

    #[test]
    fn what_is_no_token_has_no_claims() {
        for token in ["", "a", "a.b", "a.!!.c", "a.Zm9v.c"] {
            assert_eq!(claims(token), None, "{token}");
        }
    }
}
