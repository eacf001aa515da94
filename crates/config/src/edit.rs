//! Changes of `config.toml` that keep comments, order and everything they do not touch.
//!
//! A change is made on the text, the whole result is read and resolved as at a start, and only then does it replace
//! the file. One change at a time; a file that is a link is changed where it points.

use crate::atomic;
use crate::error::{Error, Place};
use crate::file::{self, FileSettings};
use crate::key::{self, KeyPath, Value};
use crate::provider;
use crate::settings::Settings;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

mod comments;
mod document;
mod verdict;

use verdict::Given;

/// Changes to a provider's settings. Absent fields stay; naming a credential source replaces all credential fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderChange {
    pub transport: Option<String>,
    pub base_url: Option<String>,
    pub reasoning_effort: Option<String>,
    /// Parts of a request that are left out; replaces those that were set.
    pub omit: Option<Vec<String>>,
    pub auth_source: Option<String>,
    pub auth_kind: Option<String>,
    /// Variables, with commas between them.
    pub auth_env: Option<String>,
    pub auth_profile: Option<String>,
    /// The program whose login is used.
    pub auth_external: Option<String>,
    /// Program and arguments of the command that prints it.
    pub auth_command: Option<Vec<String>>,
}

/// Reads the values that the file gives for a key, or for every key of a table, by name.
///
/// # Errors
/// When there is no such key, or the file cannot be read.
pub fn get(home: &Path, name: &str) -> Result<Vec<(KeyPath, Value)>, Error> {
    let path = known(name)?;
    let inside = |key: &KeyPath| key.segments().starts_with(path.segments());
    Ok(list(home)?
        .into_iter()
        .filter(|(key, _)| inside(key))
        .collect())
}

/// Everything the file says, by name.
///
/// # Errors
/// When the file cannot be read.
pub fn list(home: &Path) -> Result<Vec<(KeyPath, Value)>, Error> {
    let file = FileSettings::load(home)?.unwrap_or_default();
    let entries = file.entries();
    Ok(entries
        .map(|(path, value)| (path.clone(), value.clone()))
        .collect())
}

/// Sets a key to a value written as bare text; a list has commas between its items or is a JSON list.
///
/// # Errors
/// When there is no such key, it does not take the value, or the settings would no longer work. Nothing changes then.
pub fn set(home: &Path, name: &str, value: &str) -> Result<(), Error> {
    let path = known(name)?;
    let place = Place::Given(path.to_string());
    let (given, value) = judged(Given { path, place }, value)?;
    change(home, std::slice::from_ref(&given), |document| {
        document::put(document, &given.path, &value)
    })
    .map(drop)
}

/// Removes a key. Returns false if it was not there. An unknown key can be removed too, so that a file can be repaired.
///
/// # Errors
/// When the name is none, or the settings would no longer work. Nothing changes then.
pub fn unset(home: &Path, name: &str) -> Result<bool, Error> {
    let path = parse(name)?;
    let mut removed = false;
    change(home, &[], |document| {
        removed = remove(document, &path);
        Ok(())
    })?;
    if !removed && key::find(&path).is_none() && !key::is_table(&path) {
        return Err(no_such_key(&path));
    }
    Ok(removed)
}

/// Adds a provider or changes one.
///
/// # Errors
/// When something of it cannot be used, or the settings would no longer work. Nothing changes then.
pub fn set_provider(home: &Path, id: &str, wanted: &ProviderChange) -> Result<(), Error> {
    let spelled = |items: &Vec<String>| Value::List(items.clone()).to_string();
    let command = wanted.auth_command.as_ref().map(spelled);
    let omit = wanted.omit.as_ref().map(spelled);
    let fields = [
        ("transport", "--transport", &wanted.transport),
        ("base_url", "--base-url", &wanted.base_url),
        (
            "reasoning_effort",
            "--reasoning-effort",
            &wanted.reasoning_effort,
        ),
        ("omit", "--omit", &omit),
        ("auth.source", "--credential-source", &wanted.auth_source),
        ("auth.kind", "--credential-kind", &wanted.auth_kind),
        ("auth.env", "--credential-env", &wanted.auth_env),
        ("auth.profile", "--credential-profile", &wanted.auth_profile),
        (
            "auth.external",
            "--credential-external",
            &wanted.auth_external,
        ),
        ("auth.command", "--credential-command", &command),
    ];
    let table = KeyPath::of(&["providers", id]);
    let (mut given, mut values) = (Vec::new(), Vec::new());
    for (field, flag, value) in fields {
        if let Some(value) = value {
            let path = field
                .split('.')
                .fold(table.clone(), |path, segment| path.join(segment));
            let place = Place::Flag(flag);
            let (one, value) = judged(Given { path, place }, value)?;
            given.push(one);
            values.push(value);
        }
    }
    change(home, &given, |document| {
        if wanted.auth_source.is_some() {
            remove(document, &table.join("auth"));
        }
        let mut changes = given.iter().zip(&values);
        changes.try_for_each(|(given, value)| document::put(document, &given.path, value))
    })
    .map(drop)
}

/// Removes what the file says about a provider. One of this build is then as it was built in.
///
/// # Errors
/// When the file says nothing about it, or the settings would no longer work.
pub fn remove_provider(home: &Path, id: &str) -> Result<(), Error> {
    let path = KeyPath::of(&["providers", id]);
    let mut removed = false;
    change(home, &[], |document| {
        removed = remove(document, &path);
        Ok(())
    })?;
    if removed {
        return Ok(());
    }
    let builtin = provider::builtin_all().iter().any(|row| row.id == id);
    let message = if builtin {
        format!(
            "{id} is built in and not changed, so there is nothing to remove; unset its key to stop using it"
        )
    } else {
        format!(
            "there is no provider {id:?} in the settings; run `holon config providers list` to see them all"
        )
    };
    Err(Error::NoSuchProvider { message })
}

/// Removes a key or table and keeps the comments above it. Returns true if it was there.
fn remove(document: &mut DocumentMut, path: &KeyPath) -> bool {
    let before = document.to_string();
    let removed = document::remove(document.as_table_mut(), path.segments());
    // What does not parse with its comments is as good without them.
    if let Ok(commented) = comments::kept(&before, &document.to_string()).parse() {
        *document = commented;
    }
    removed
}

fn parse(name: &str) -> Result<KeyPath, Error> {
    KeyPath::parse(name).map_err(|problem| Error::Value {
        place: Place::Given("the key".to_owned()),
        problem,
    })
}

fn known(name: &str) -> Result<KeyPath, Error> {
    let path = parse(name)?;
    if key::find(&path).is_some() || key::is_table(&path) {
        return Ok(path);
    }
    Err(no_such_key(&path))
}

fn no_such_key(path: &KeyPath) -> Error {
    Error::NoSuchKey {
        key: path.to_string(),
        advice: key::advice(path),
    }
}

/// A value of the kind the key takes.
fn judged(given: Given, text: &str) -> Result<(Given, Value), Error> {
    let refuse = |problem| {
        let place = given.place.clone();
        Err(Error::Value { place, problem })
    };
    let Some(key) = key::find(&given.path) else {
        return refuse(format!(
            "is a table; set one of its keys, which `holon config schema` lists under {}",
            given.path
        ));
    };
    match key.kind.read(text) {
        Ok(value) => Ok((given, value)),
        Err(problem) => refuse(problem),
    }
}

/// Makes one change; says whether the text is another now.
fn change(
    home: &Path,
    given: &[Given],
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), Error>,
) -> Result<bool, Error> {
    let path = Settings::file_path(home);
    let failed = |source| Error::Unwritable {
        path: path.clone(),
        source,
    };
    let _lock = atomic::lock(home).map_err(failed)?;
    let before = file::read(&path)?;
    let text = before.clone().unwrap_or_default();
    let mut document: DocumentMut =
        text.parse()
            .map_err(|error: toml_edit::TomlError| Error::Syntax {
                path: path.clone(),
                message: error.to_string().trim_end().to_owned(),
            })?;
    edit(&mut document)?;
    let after = document.to_string();
    if after == text {
        return Ok(false);
    }
    verdict::check(&text, &after, &path, given)?;
    let target = target(&path).map_err(failed)?;
    let mode = match before {
        Some(_) => {
            std::fs::metadata(&target)
                .map_err(failed)?
                .permissions()
                .mode()
                & 0o7777
        }
        None => 0o600,
    };
    atomic::replace(&target, after.as_bytes(), mode).map_err(failed)?;
    Ok(true)
}

/// Resolves a symbolic link to the settings file, so that an edit replaces the target and not the link.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_symlink() => std::fs::canonicalize(path),
        Ok(_) => Ok(path.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}
