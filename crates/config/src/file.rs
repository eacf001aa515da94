//! `config.toml`: reads it, knows its keys and their kinds, and remembers the line of each value.
//!
//! Owns syntax and kinds only; what a value means is judged in `resolve`. An unknown key is an error,
//! because a misspelt setting that is silently ignored is worse than a host that does not start.

use crate::error::{Error, Place};
use crate::key::{self, KeyPath, Value};
use holon_domain::limits::CONFIG_FILE_BYTES;
use holon_domain::text;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The values of the settings file, each checked against the kind of its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSettings {
    path: PathBuf,
    entries: BTreeMap<KeyPath, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    value: Value,
    line: usize,
}

impl FileSettings {
    /// The settings file of a home.
    pub(crate) fn path(home: &Path) -> PathBuf {
        home.join("config.toml")
    }

    /// Reads the settings file of a home; none when there is no such file.
    ///
    /// # Errors
    /// When it is there and cannot be read, or does not parse.
    pub fn load(home: &Path) -> Result<Option<Self>, Error> {
        let path = Self::path(home);
        let content = read(&path)?;
        content
            .map(|content| Self::parse(&content, &path))
            .transpose()
    }

    /// Reads settings from text; `path` is only named in errors.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, or a value of the wrong kind.
    pub fn parse(content: &str, path: &Path) -> Result<Self, Error> {
        let root = DeTable::parse(content).map_err(|error| Error::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        let mut settings = Self {
            path: path.to_owned(),
            entries: BTreeMap::new(),
        };
        settings.take_table(&KeyPath::default(), root.get_ref(), content)?;
        Ok(settings)
    }

    /// Walks one table: a known table leads on, a known key is taken, anything else is refused.
    fn take_table(
        &mut self,
        prefix: &KeyPath,
        table: &DeTable<'_>,
        source: &str,
    ) -> Result<(), Error> {
        for (name, value) in table {
            let path = prefix.join(name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if key::is_table(&path) => {
                    self.take_table(&path, inner, source)?;
                }
                _ => self.take_value(path, value, line_of(source, name.span().start))?,
            }
        }
        Ok(())
    }

    fn take_value(
        &mut self,
        path: KeyPath,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<(), Error> {
        let place = self.place(&path, line);
        let Some(key) = key::find(&path) else {
            if key::is_table(&path) {
                let found = value.get_ref().type_str();
                let problem = format!(
                    "expected a table, found {found}; write [{path}] and its keys below it"
                );
                return Err(Error::Value { place, problem });
            }
            let advice = key::advice(&path);
            return Err(Error::UnknownKey { place, advice });
        };
        let value = key
            .kind
            .take(value.get_ref())
            .map_err(|problem| Error::Value { place, problem })?;
        self.entries.insert(path, Entry { value, line });
        Ok(())
    }

    /// The value of a key, and where it stands.
    pub(crate) fn entry(&self, path: &KeyPath) -> Option<(&Value, Place)> {
        let entry = self.entries.get(path)?;
        Some((&entry.value, self.place(path, entry.line)))
    }

    /// Every value, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&KeyPath, &Value)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path, &entry.value))
    }

    /// The names that stand where a family of keys leaves the name open, each with the place of its first key.
    pub(crate) fn names_under(&self, table: &[&str]) -> BTreeMap<&str, Place> {
        let mut names: BTreeMap<&str, (usize, Place)> = BTreeMap::new();
        for (path, entry) in &self.entries {
            let (head, rest) = path
                .segments()
                .split_at(table.len().min(path.segments().len()));
            let Some(name) = rest.first().filter(|_| head.iter().eq(table.iter())) else {
                continue;
            };
            let known = names
                .get(name.as_str())
                .is_some_and(|(line, _)| *line <= entry.line);
            if !known {
                let place = self.place(&KeyPath::of(table).join(name), entry.line);
                names.insert(name, (entry.line, place));
            }
        }
        names
            .into_iter()
            .map(|(name, (_, place))| (name, place))
            .collect()
    }

    fn place(&self, key: &KeyPath, line: usize) -> Place {
        Place::File {
            path: self.path.clone(),
            line,
            key: key.to_string(),
        }
    }
}

/// The text of a settings file; none when there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    // A pipe would block the reader until something writes into it.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        // The store reports a home that cannot be used.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let mut content = String::new();
    file.take(CONFIG_FILE_BYTES + 1)
        .read_to_string(&mut content)
        .map_err(failed)?;
    if content.len() as u64 > CONFIG_FILE_BYTES {
        let path = path.to_owned();
        return Err(Error::TooLarge { path });
    }
    Ok(Some(content))
}

/// The line, from 1, that byte `offset` stands in.
fn line_of(content: &str, offset: usize) -> usize {
    text::prefix(content, offset).matches('\n').count() + 1
}
