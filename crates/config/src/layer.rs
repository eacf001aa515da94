//! The layers a setting is looked for in, and the one rule that judges what was found.

use crate::error::{Error, Place};
use crate::file::FileSettings;
use crate::settings::{Source, Sourced};
use std::ffi::OsString;

/// A value as it stands somewhere, unjudged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    text: &'a str,
    place: Place,
}

/// What the command line says.
pub(crate) fn flag<'a>(name: &'static str, value: Option<&'a String>) -> Option<Found<'a>> {
    value.map(|text| Found {
        text,
        place: Place::Flag(name),
    })
}

/// What the environment says.
///
/// # Errors
/// When the value is not text.
pub(crate) fn variable<'a>(
    name: &'static str,
    value: Option<&'a OsString>,
) -> Result<Option<Found<'a>>, Error> {
    let Some(raw) = value else { return Ok(None) };
    let text = raw.to_str().ok_or(Error::NotText { name })?;
    let place = Place::Variable(name);
    Ok(Some(Found { text, place }))
}

/// What the settings file says.
pub(crate) fn key<'a>(file: Option<&'a FileSettings>, name: &str) -> Option<Found<'a>> {
    let (text, place) = file?.entry(name)?;
    Some(Found { text, place })
}

impl Found<'_> {
    /// The value, if it can be used; the error names where it stands.
    pub(crate) fn judge<T, E: std::fmt::Display>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Sourced<T>, Error> {
        let source = match self.place {
            Place::Flag(_) => Source::Flag,
            Place::Variable(_) => Source::Environment,
            Place::File { .. } => Source::File,
        };
        match parse(self.text.trim()) {
            Ok(value) => Ok(Sourced { value, source }),
            Err(problem) => Err(Error::Value {
                place: self.place.clone(),
                problem: problem.to_string(),
            }),
        }
    }
}

/// What was found, judged, or else what this build says.
pub(crate) fn decide<T, E: std::fmt::Display>(
    found: Option<Found<'_>>,
    builtin: T,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Sourced<T>, Error> {
    match found {
        Some(found) => found.judge(parse),
        None => Ok(Sourced {
            value: builtin,
            source: Source::Builtin,
        }),
    }
}
