//! The layers a setting is looked for in, and the one rule that judges what was found.

use crate::env::{Env, VARIABLES};
use crate::error::{Error, Place};
use crate::file::FileSettings;
use crate::key::{self, Key, KeyPath, Value};
use crate::source::{Source, Sourced};
use std::ffi::OsString;

/// A value as it stands somewhere, of the kind its key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// The layers below the command line: the environment, then the settings file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layers<'a> {
    pub(crate) env: &'a Env,
    pub(crate) file: Option<&'a FileSettings>,
}

/// A value given by a flag.
pub(crate) fn flag(name: &'static str, value: Option<&String>) -> Option<Found> {
    value.map(|text| Found {
        value: Value::Text(text.trim().to_owned()),
        place: Place::Flag(name),
    })
}

impl Layers<'_> {
    /// Looks up a key of the table in the environment and then in the file.
    ///
    /// # Errors
    /// When a variable does not hold a value of the key's kind.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Found>, Error> {
        self.find_at(
            key::named(name),
            &KeyPath::of(&name.split('.').collect::<Vec<_>>()),
        )
    }

    /// The same for one key of a family.
    pub(crate) fn find_at(&self, key: &Key, path: &KeyPath) -> Result<Option<Found>, Error> {
        for variable in VARIABLES {
            if variable.key.is_some_and(|key| path.is_named(key))
                && let Some(found) = self.variable(variable.name, key)?
            {
                return Ok(Some(found));
            }
        }
        Ok(self
            .file
            .and_then(|file| file.entry(path))
            .map(|(value, place)| Found {
                value: value.clone(),
                place,
            }))
    }

    /// Returns true if a variable is set to nothing but spaces.
    pub(crate) fn is_blank(&self, name: &str) -> bool {
        let raw = self.env.get(name);
        raw.is_some_and(|raw| raw.to_str().is_some_and(|text| text.trim().is_empty()))
    }

    /// Reads one environment variable as a value of the key's kind.
    pub(crate) fn variable(&self, name: &str, key: &Key) -> Result<Option<Found>, Error> {
        let Some(raw) = self.env.get(name) else {
            return Ok(None);
        };
        let place = Place::Variable(name.to_owned());
        match key.kind.read(text(name, &raw)?) {
            Ok(value) => Ok(Some(Found { value, place })),
            Err(problem) => Err(Error::Value { place, problem }),
        }
    }
}

/// The text of a variable.
pub(crate) fn text<'a>(name: &str, raw: &'a OsString) -> Result<&'a str, Error> {
    raw.to_str().ok_or_else(|| Error::NotText {
        name: name.to_owned(),
    })
}

impl Found {
    pub(crate) const fn source(&self) -> Source {
        match self.place {
            Place::Flag(_) | Place::Given(_) => Source::Flag,
            Place::Variable(_) => Source::Environment,
            Place::File { .. } | Place::Setting(_) => Source::File,
        }
    }

    /// The value, if it can be used; the error names where it stands.
    pub(crate) fn judge<T, E: std::fmt::Display>(
        &self,
        parse: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Result<Sourced<T>, Error> {
        let source = self.source();
        match parse(&self.value) {
            Ok(value) => Ok(Sourced { value, source }),
            Err(problem) => Err(self.refuse(problem.to_string())),
        }
    }

    /// The same for a text.
    pub(crate) fn judge_text<T, E: std::fmt::Display>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Sourced<T>, Error> {
        self.judge(|value| match value {
            Value::Text(text) => parse(text).map_err(|problem| problem.to_string()),
            other => Err(format!("expected a text, found {other}")),
        })
    }

    /// An error about it.
    pub(crate) fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::Value {
            place: self.place.clone(),
            problem: problem.into(),
        }
    }

    /// The number, which the table says it is.
    pub(crate) fn number(&self) -> Result<Sourced<u32>, Error> {
        self.judge(|value| match value {
            Value::Number(number) => {
                u32::try_from(*number).map_err(|_| format!("{number} is too large"))
            }
            other => Err(format!("expected a number, found {other}")),
        })
    }

    /// The same for numbers that may be larger.
    pub(crate) fn large_number(&self) -> Result<Sourced<u64>, Error> {
        self.judge(|value| match value {
            Value::Number(number) => Ok(*number),
            other => Err(format!("expected a number, found {other}")),
        })
    }

    /// The flag, which the table says it is.
    pub(crate) fn flag(&self) -> Result<Sourced<bool>, Error> {
        self.judge(|value| match value {
            Value::Flag(flag) => Ok(*flag),
            other => Err(format!("expected true or false, found {other}")),
        })
    }

    /// The list, which the table says it is.
    pub(crate) fn list(&self) -> Result<Sourced<Vec<String>>, Error> {
        self.judge(|value| match value {
            Value::List(items) => Ok(items.clone()),
            other => Err(format!("expected a list, found {other}")),
        })
    }
}

/// Converts a found value, or takes the default of this build.
pub(crate) fn decide<T>(
    found: Option<&Found>,
    builtin: T,
    judge: impl FnOnce(&Found) -> Result<Sourced<T>, Error>,
) -> Result<Sourced<T>, Error> {
    match found {
        Some(found) => judge(found),
        None => Ok(Sourced {
            value: builtin,
            source: Source::Builtin,
        }),
    }
}
