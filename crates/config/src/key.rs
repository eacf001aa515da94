//! The keys of the settings file: what a key is, and which key a path means.
//!
//! One table drives everything: what the file may hold, what `get`, `set` and `unset` know, the schema, the advice
//! about misspelt names and the reference page. A segment in angle brackets stands for any name.

mod advice;
mod bounds;
mod kind;
mod path;
mod table;

pub(crate) use advice::advice;
pub(crate) use bounds::EFFORT_OF_THE_PROVIDER;
pub use kind::{Kind, Value};
pub use path::KeyPath;
pub use table::KEYS;

/// A key of `config.toml`, or a family of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its dotted name: tables, then key. `<id>` and `<provider/model>` stand for any name.
    pub name: &'static str,
    pub kind: Kind,
    /// The default, where it is one fixed value.
    pub default: Option<&'static str>,
    pub doc: &'static str,
}

impl Key {
    /// Its segments; one in angle brackets stands for any name.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.name.split('.')
    }

    /// Returns true if it stands for one key only.
    #[must_use]
    pub fn is_single(&self) -> bool {
        !self.name.contains('<')
    }
}

/// The key of this path, if there is one.
pub(crate) fn find(path: &KeyPath) -> Option<&'static Key> {
    let same_length = |key: &&Key| key.segments().count() == path.segments().len();
    KEYS.iter().filter(same_length).find(|key| leads(key, path))
}

/// The key of this name, which the program itself uses.
#[expect(
    clippy::expect_used,
    reason = "a test asks for every name the program uses"
)]
pub(crate) fn named(name: &str) -> &'static Key {
    KEYS.iter()
        .find(|key| key.name == name)
        .expect("the program asks only for keys of the table")
}

/// Returns true if some key is inside this table.
pub(crate) fn is_table(path: &KeyPath) -> bool {
    let longer = |key: &&Key| key.segments().count() > path.segments().len();
    KEYS.iter().filter(longer).any(|key| leads(key, path))
}

/// Returns true if the key begins with this path.
fn leads(key: &Key, path: &KeyPath) -> bool {
    let fits = |(known, given): (&str, &String)| known.starts_with('<') || known == given;
    key.segments().zip(path.segments()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_its_key_takes() {
        for key in KEYS {
            if let Some(default) = key.default {
                assert!(key.kind.read(default).is_ok(), "{}", key.name);
            }
        }
    }

    #[test]
    fn no_two_keys_stand_for_the_same_path() {
        for (index, one) in KEYS.iter().enumerate() {
            for other in KEYS.get(index + 1..).expect("in range") {
                assert_ne!(one.name, other.name);
            }
        }
    }
}
