//! `config.toml`: reads it, knows its keys and their types, and remembers the line of each value.
//!
//! Owns syntax and types only; what a value means is judged in `resolve`. A key nobody knows is an error,
//! because a misspelt setting that is silently ignored is worse than a host that does not start.

use crate::error::{Error, Place};
use crate::key::{self, KEYS, Key, Kind};
use crate::settings::Settings;
use holon_domain::text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// What the settings file says, unjudged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSettings {
    path: PathBuf,
    entries: BTreeMap<&'static str, Entry>,
}

/// A value of the file: numbers in decimal, texts as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    text: String,
    line: usize,
}

impl FileSettings {
    /// Reads the settings file of a home; none when there is no such file.
    ///
    /// # Errors
    /// When it is there and cannot be read, or does not parse.
    pub fn load(home: &Path) -> Result<Option<Self>, Error> {
        let path = Settings::file_path(home);
        match std::fs::read_to_string(&path) {
            Ok(content) => Self::parse(&content, &path).map(Some),
            // Whether the home itself can be used is for whoever opens it to say.
            Err(source)
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// Reads settings from text; `path` is only named in errors.
    ///
    /// # Errors
    /// When it is not TOML, has a key nobody knows, or a value of the wrong type.
    pub fn parse(content: &str, path: &Path) -> Result<Self, Error> {
        let root = DeTable::parse(content).map_err(|error| Error::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        let mut settings = Self {
            path: path.to_owned(),
            entries: BTreeMap::new(),
        };
        settings.take_table("", root.get_ref(), content)?;
        Ok(settings)
    }

    /// Walks one table: a known prefix leads on, a known key is taken, anything else is refused.
    fn take_table(&mut self, prefix: &str, table: &DeTable<'_>, source: &str) -> Result<(), Error> {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let inside = format!("{name}.");
            let is_prefix = KEYS.iter().any(|known| known.name.starts_with(&inside));
            match value.get_ref() {
                DeValue::Table(inner) if is_prefix => self.take_table(&inside, inner, source)?,
                _ => self.take_value(&name, value, line_of(source, key.span().start))?,
            }
        }
        Ok(())
    }

    fn take_value(
        &mut self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<(), Error> {
        let place = self.place(name, line);
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let advice = key::advice(name);
            return Err(Error::UnknownKey { place, advice });
        };
        let text =
            value_text(key, value.get_ref()).map_err(|problem| Error::Value { place, problem })?;
        self.entries.insert(key.name, Entry { text, line });
        Ok(())
    }

    /// The value of a key, and where it stands.
    pub(crate) fn entry(&self, key: &str) -> Option<(&str, Place)> {
        let entry = self.entries.get(key)?;
        Some((&entry.text, self.place(key, entry.line)))
    }

    fn place(&self, key: &str, line: usize) -> Place {
        Place::File {
            path: self.path.clone(),
            line,
            key: key.to_owned(),
        }
    }
}

/// The value as text, if it is of the type the key takes.
fn value_text(key: &Key, value: &DeValue<'_>) -> Result<String, String> {
    let text = match key.kind {
        Kind::Text => value.as_str().map(str::to_owned),
        Kind::Number => value.as_integer().and_then(decimal),
    };
    text.ok_or_else(|| {
        let found = match value.as_integer() {
            Some(integer) => integer.as_str(),
            None => value.type_str(),
        };
        format!("expected {}, found {found}", key.kind.wanted())
    })
}

/// TOML also writes numbers in base 2, 8 and 16.
fn decimal(integer: &DeInteger<'_>) -> Option<String> {
    u64::from_str_radix(integer.as_str(), integer.radix())
        .ok()
        .map(|number| number.to_string())
}

/// The line, from 1, that byte `offset` stands in.
fn line_of(content: &str, offset: usize) -> usize {
    text::prefix(content, offset).matches('\n').count() + 1
}
