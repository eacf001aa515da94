//! Whether a changed text can stand: read and resolved as at a start, and blamed on what was given where it cannot.
//!
//! A line is named only when it is in the file as it is; the changed text exists nowhere but here.

use crate::env::Env;
use crate::error::{Error, Place};
use crate::file::FileSettings;
use crate::key::KeyPath;
use crate::provider::SCRIPTED;
use crate::resolve::{Flags, resolve};
use crate::settings::Settings;
use holon_domain::model::ModelRef;
use std::path::Path;

/// A key that is changed, and how the one who changes it has named it.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) path: KeyPath,
    pub(super) place: Place,
}

/// Judges the text that would replace another.
pub(super) fn check(before: &str, after: &str, path: &Path, given: &[Given]) -> Result<(), Error> {
    let refused = |error| Error::Refused {
        problem: Box::new(error),
    };
    match settle(after, path) {
        Ok(settings) => given
            .iter()
            .try_for_each(|one| useful(&settings, one))
            .map_err(refused),
        Err(problem) => {
            let old = settle(before, path).err();
            let same = old.filter(|old| told(old).is_some() && told(old) == told(&problem));
            Err(refused(match same {
                Some(old) if !is_given(&old, given) => old,
                Some(_) | None => blamed(problem, given),
            }))
        }
    }
}

/// Reads and resolves a text as a start would, with nothing set in the environment: the file must stand by itself.
fn settle(text: &str, path: &Path) -> Result<Settings, Error> {
    let file = FileSettings::parse(text, path)?;
    let flags = Flags {
        home: Some("/".into()),
        ..Flags::default()
    };
    resolve(&Env::default(), &flags, Some(&file))
}

/// Refuses values that a start would accept but that no request could use. Only the values given now are checked, since
/// other keys may be changed later.
fn useful(settings: &Settings, given: &Given) -> Result<(), Error> {
    let refuse = |problem: String| {
        let place = given.place.clone();
        Err(Error::Value { place, problem })
    };
    let known = |model: &ModelRef| {
        let id = model.provider();
        if id == SCRIPTED || settings.providers.get(id).is_some() {
            return Ok(());
        }
        refuse(settings.providers.unknown(id))
    };
    match given.path.to_string().as_str() {
        "model.default" => settings
            .model
            .iter()
            .try_for_each(|model| known(&model.value)),
        "model.fallbacks" => settings.fallbacks.value.iter().try_for_each(known),
        "serve.http_addr" if !settings.http_addr.value.ip().is_loopback() => {
            let addr = settings.http_addr.value;
            refuse(format!(
                "{addr} can be reached from other machines; write a loopback address, for example 127.0.0.1:{}",
                addr.port()
            ))
        }
        _ => Ok(()),
    }
}

/// The key an error of a file is about, and what it says.
fn told(error: &Error) -> Option<(&str, &str)> {
    let (Error::Value {
        place: Place::File { key, .. },
        problem: said,
    }
    | Error::UnknownKey {
        place: Place::File { key, .. },
        advice: said,
    }) = error
    else {
        return None;
    };
    Some((key, said))
}

fn is_given(error: &Error, given: &[Given]) -> bool {
    told(error).is_some_and(|(key, _)| place_of(key, given).is_some())
}

/// The place of a key that was given, or of a table with a key inside that was.
fn place_of(key: &str, given: &[Given]) -> Option<Place> {
    if let Some(exact) = given.iter().find(|one| one.path.to_string() == key) {
        return Some(exact.place.clone());
    }
    let table = KeyPath::parse(key).ok()?;
    let inside = |one: &Given| one.path.segments().starts_with(table.segments());
    given
        .iter()
        .any(inside)
        .then(|| Place::Given(key.to_owned()))
}

/// The same error with a place that exists.
fn blamed(error: Error, given: &[Given]) -> Error {
    let moved = |place: Place| match place {
        Place::File { key, .. } => place_of(&key, given).unwrap_or(Place::Setting(key)),
        other @ (Place::Flag(_) | Place::Variable(_) | Place::Given(_) | Place::Setting(_)) => {
            other
        }
    };
    match error {
        Error::Value { place, problem } => Error::Value {
            place: moved(place),
            problem,
        },
        Error::UnknownKey { place, advice } => Error::UnknownKey {
            place: moved(place),
            advice,
        },
        other => other,
    }
}
