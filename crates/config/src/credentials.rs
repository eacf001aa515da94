//! Stored credentials: `<home>/credentials.json`, which only its user can read.
//!
//! A file is refused and left unchanged if other users may have read it, if it is a link, if another user owns it, or if
//! it does not parse. Secrets are never shown: a list has ids and kinds. For a profile in the system's keyring the file
//! holds only id and kind; see `keyring`.

use crate::atomic;
use crate::error::CredentialError;
use holon_domain::limits::{CREDENTIAL_BYTES, CREDENTIAL_FILE_BYTES, CREDENTIAL_PROFILES};
use holon_domain::provider::AuthKind;
use rustix::fs::{Mode, OFlags};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A stored profile, without what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    pub id: String,
    pub kind: AuthKind,
    pub place: Place,
}

/// The place where the secret of a profile is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    File,
    /// In the system's keyring.
    Keyring,
}

/// The effect of storing a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// There was none of this id.
    Created,
    /// The one of this id was replaced.
    Replaced,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    profiles: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kind: AuthKind,
    /// The secret, unless the keyring has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    material: Option<Material>,
}

/// A secret that goes to and from its own file only.
#[derive(Debug)]
struct Material(SecretString);

impl<'de> Deserialize<'de> for Material {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(SecretString::from(text)))
    }
}

impl Serialize for Material {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

/// The file of a home.
#[must_use]
pub fn path(home: &Path) -> PathBuf {
    home.join("credentials.json")
}

/// Every stored profile, by id.
///
/// # Errors
/// When the file cannot be used.
pub fn list(home: &Path) -> Result<Vec<Profile>, CredentialError> {
    let profiles = load(home)?.profiles.into_iter();
    Ok(profiles
        .map(|(id, entry)| Profile {
            id,
            kind: entry.kind,
            place: match entry.material {
                Some(_) => Place::File,
                None => Place::Keyring,
            },
        })
        .collect())
}

/// Stores a profile in the file.
///
/// # Errors
/// When id, kind or material are invalid, or the file cannot be used or written.
pub fn set(
    home: &Path,
    id: &str,
    kind: AuthKind,
    material: &SecretString,
) -> Result<Stored, CredentialError> {
    let material = SecretString::from(material.expose_secret().trim());
    check_material(&material).map_err(|problem| CredentialError::Invalid { problem })?;
    keep(home, id, kind, Some(Material(material)))
}

/// Records that the keyring holds a profile. The caller has stored the secret there before.
///
/// # Errors
/// When id or kind are invalid, or the file cannot be used or written.
pub fn set_in_keyring(home: &Path, id: &str, kind: AuthKind) -> Result<Stored, CredentialError> {
    keep(home, id, kind, None)
}

fn keep(
    home: &Path,
    id: &str,
    kind: AuthKind,
    material: Option<Material>,
) -> Result<Stored, CredentialError> {
    let invalid = |problem| CredentialError::Invalid { problem };
    check_id(id).map_err(invalid)?;
    if kind == AuthKind::None {
        return Err(invalid(
            "a profile holds an api_key, a bearer_token, an oauth token or a session_token"
                .to_owned(),
        ));
    }
    change(home, |document| {
        if !document.profiles.contains_key(id) && document.profiles.len() >= CREDENTIAL_PROFILES {
            return Err(invalid(format!(
                "{CREDENTIAL_PROFILES} profiles are stored already; remove one with `holon config credentials remove`"
            )));
        }
        let entry = Entry { kind, material };
        Ok(match document.profiles.insert(id.to_owned(), entry) {
            Some(_) => Stored::Replaced,
            None => Stored::Created,
        })
    })
}

/// Removes a profile. Returns false if there was none.
///
/// # Errors
/// When the file cannot be used or written.
pub fn remove(home: &Path, id: &str) -> Result<bool, CredentialError> {
    if !load(home)?.profiles.contains_key(id) {
        return Ok(false);
    }
    change(home, |document| Ok(document.profiles.remove(id).is_some()))
}

/// Removes the profiles whose ids fit. Returns their number.
///
/// # Errors
/// When the file cannot be used or written.
pub fn remove_where(home: &Path, fits: impl Fn(&str) -> bool) -> Result<usize, CredentialError> {
    if !load(home)?.profiles.keys().any(|id| fits(id)) {
        return Ok(0);
    }
    change(home, |document| {
        let before = document.profiles.len();
        document.profiles.retain(|id, _| !fits(id));
        Ok(before - document.profiles.len())
    })
}

/// Reads the secret of a profile that the file holds. `None` if there is no such profile, or if the keyring holds it.
///
/// # Errors
/// When the file cannot be used.
pub fn stored_secret(home: &Path, id: &str) -> Result<Option<SecretString>, CredentialError> {
    Ok(get(home, id)?.and_then(|held| match held {
        Held::Here(_, secret) => Some(secret),
        Held::InKeyring(_) => None,
    }))
}

/// Reads the secret of a profile, or the way to get it.
pub(crate) fn get(home: &Path, id: &str) -> Result<Option<Held>, CredentialError> {
    let entry = load(home)?.profiles.remove(id);
    Ok(entry.map(|Entry { kind, material }| match material {
        Some(Material(secret)) => Held::Here(kind, secret),
        None => Held::InKeyring(kind),
    }))
}

/// Reads the secret of a profile that is stored in the file, as text.
///
/// # Errors
/// When the file cannot be used.
pub fn stored(home: &Path, id: &str) -> Result<Option<SecretString>, CredentialError> {
    Ok(match get(home, id)? {
        Some(Held::Here(_, secret)) => Some(secret),
        Some(Held::InKeyring(_)) | None => None,
    })
}

/// The secret of a profile, or the keyring entry that holds it.
#[derive(Debug)]
pub(crate) enum Held {
    Here(AuthKind, SecretString),
    /// The keyring has it.
    InKeyring(AuthKind),
}

/// Checks the id of a profile.
///
/// # Errors
/// The rule that the id breaks.
pub fn check_id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    if (1..=64).contains(&id.len()) && id.chars().all(plain) {
        return Ok(());
    }
    Err("a profile's id has 1 to 64 letters, digits, '.', '_', ':' and '-'".to_owned())
}

/// Checks that a secret can be sent in a header.
///
/// # Errors
/// The problem, without the secret.
pub fn check_material(material: &SecretString) -> Result<(), String> {
    let text = material.expose_secret();
    if text.is_empty() {
        return Err("the credential is empty; give it on standard input".to_owned());
    }
    if text.len() > CREDENTIAL_BYTES {
        return Err(format!(
            "the credential has more than {CREDENTIAL_BYTES} bytes; give only the key or token"
        ));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the credential holds spaces, line breaks or characters that no key has; give only the key or token".to_owned());
    }
    Ok(())
}

fn change<T>(
    home: &Path,
    edit: impl FnOnce(&mut Document) -> Result<T, CredentialError>,
) -> Result<T, CredentialError> {
    let path = path(home);
    let _lock = atomic::lock(home).map_err(io(&path))?;
    let mut document = load(home)?;
    let done = edit(&mut document)?;
    let mut content = serde_json::to_vec_pretty(&document)
        .map_err(|_| broken(&path, "cannot be written as JSON"))?;
    content.push(b'\n');
    atomic::replace(&path, &content, 0o600).map_err(io(&path))?;
    Ok(done)
}

/// Reads the credential file. A missing file is an empty document.
fn load(home: &Path) -> Result<Document, CredentialError> {
    let path = path(home);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match rustix::fs::open(&path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(Document::default()),
        // A symbolic link could point at a file someone else chose.
        Err(rustix::io::Errno::LOOP) => return Err(CredentialError::Foreign { path }),
        Err(error) => return Err(io(&path)(error.into())),
    };
    check_owner(&path, &file)?;
    let mut content = String::new();
    file.take(CREDENTIAL_FILE_BYTES + 1)
        .read_to_string(&mut content)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => broken(&path, "not text"),
            _ => io(&path)(error),
        })?;
    if content.len() as u64 > CREDENTIAL_FILE_BYTES {
        return Err(broken(&path, "too large"));
    }
    // The parser's own words could repeat a secret, so only the place is told.
    serde_json::from_str(&content).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        broken(&path, &place)
    })
}

fn check_owner(path: &Path, file: &File) -> Result<(), CredentialError> {
    let facts = file.metadata().map_err(io(path))?;
    let path = path.to_owned();
    if !facts.is_file() || facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(CredentialError::Foreign { path });
    }
    if facts.mode() & 0o077 != 0 {
        let mode = facts.mode() & 0o7777;
        return Err(CredentialError::Exposed { path, mode });
    }
    Ok(())
}

fn broken(path: &Path, problem: &str) -> CredentialError {
    CredentialError::Broken {
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> CredentialError {
    move |source| CredentialError::Io {
        path: path.to_owned(),
        source,
    }
}
