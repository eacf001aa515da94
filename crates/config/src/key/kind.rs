//! Kinds of values: how each is written in the file, in a variable and on the command line, and what is no such value.

use std::collections::BTreeMap;
use std::fmt;
use toml::de::{DeInteger, DeValue};

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// One of these texts. The file may hold another one, for example of a newer build; whoever uses it refuses it, so
    /// that it does not make the other settings unusable.
    OpenChoice(&'static [&'static str]),
    /// A whole number within bounds.
    Number {
        min: u64,
        max: u64,
    },
    Flag,
    /// Texts in an order.
    List,
}

/// A value of some kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text, or one of a choice.
    Text(String),
    Number(u64),
    Flag(bool),
    /// Texts in an order.
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// Texts as they are; lists as JSON, which TOML reads too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", serde_json::Value::from(item.as_str()))?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Kind {
    /// One word for machines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Choice(_) | Self::OpenChoice(_) => "choice",
            Self::Number { .. } => "number",
            Self::Flag => "flag",
            Self::List => "list",
        }
    }

    /// Describes the accepted form, for error messages.
    #[must_use]
    pub fn wanted(self) -> String {
        match self {
            Self::Text => "a text in quotes".to_owned(),
            Self::Choice(all) | Self::OpenChoice(all) => format!("one of {}", all.join(", ")),
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::List => "a list of texts".to_owned(),
        }
    }

    /// The value of a bare text from a variable or the command line.
    ///
    /// # Errors
    /// What would be right.
    pub(crate) fn read(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match self {
            Self::Text | Self::Choice(_) | Self::OpenChoice(_) => {
                Some(Value::Text(text.to_owned()))
            }
            Self::Number { .. } => text.parse().ok().map(Value::Number),
            Self::Flag => flag(text).map(Value::Flag),
            Self::List => list(text).map(Value::List),
        };
        value
            .filter(|value| self.holds(value))
            .ok_or_else(|| self.refusal(&format!("{text:?}")))
    }

    /// The value that stands in the file.
    ///
    /// # Errors
    /// What would be right.
    pub(crate) fn take(self, value: &DeValue<'_>) -> Result<Value, String> {
        let taken = match self {
            Self::Text | Self::Choice(_) | Self::OpenChoice(_) => value
                .as_str()
                .map(|text| Value::Text(text.trim().to_owned())),
            Self::Number { .. } => value.as_integer().and_then(decimal).map(Value::Number),
            Self::Flag => value.as_bool().map(Value::Flag),
            Self::List => texts(value).map(Value::List),
        };
        let in_file = match self {
            Self::OpenChoice(_) => Self::Text,
            Self::Text | Self::Choice(_) | Self::Number { .. } | Self::Flag | Self::List => self,
        };
        taken.filter(|value| in_file.holds(value)).ok_or_else(|| {
            let found = match (value.as_integer(), value.as_str()) {
                (Some(integer), _) => integer.as_str().to_owned(),
                (_, Some(text)) => format!("{text:?}"),
                (None, None) => format!("{} {}", article(value.type_str()), value.type_str()),
            };
            self.refusal(&found)
        })
    }

    /// Returns true if it is such a value.
    fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text, Value::Text(text)) => !text.is_empty(),
            (Self::Choice(all) | Self::OpenChoice(all), Value::Text(text)) => {
                all.contains(&text.as_str())
            }
            (Self::Number { min, max }, Value::Number(number)) => (min..=max).contains(number),
            (Self::List, Value::List(items)) => items.iter().all(|item| !item.trim().is_empty()),
            (Self::Flag, Value::Flag(_)) => true,
            (_, Value::Text(_) | Value::Number(_) | Value::Flag(_) | Value::List(_)) => false,
        }
    }

    fn refusal(self, found: &str) -> String {
        format!("expected {}, found {found}", self.wanted())
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    }
}

/// As people write it in variables.
fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A list as JSON or TOML writes it, or items with commas between them. Empty brackets or no text at all are an empty
/// list.
fn list(text: &str) -> Option<Vec<String>> {
    if text.starts_with('[') {
        return serde_json::from_str(text).ok().or_else(|| toml_list(text));
    }
    let items = text.split(',').map(str::trim);
    Some(
        items
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn toml_list(text: &str) -> Option<Vec<String>> {
    let parsed = toml::from_str::<BTreeMap<String, Vec<String>>>(&format!("list = {text}"));
    let mut keys = parsed.ok()?;
    let list = keys.remove("list");
    // Further keys mean that the text was more than a list.
    list.filter(|_| keys.is_empty())
}

/// A list of the file; a single text is a list of one.
fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    if let Some(text) = value.as_str() {
        return Some(vec![text.to_owned()]);
    }
    let items = value.as_array()?.iter();
    items
        .map(|item| item.get_ref().as_str().map(str::to_owned))
        .collect()
}

/// TOML also writes numbers in base 2, 8 and 16.
fn decimal(integer: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_as_it_can_be_written() {
        for (kind, text) in [
            (Kind::Text, "a b"),
            (Kind::Number { min: 0, max: 9 }, "7"),
            (Kind::Flag, "true"),
            (Kind::List, "[]"),
            (Kind::List, r#"["a", "b \"c\""]"#),
        ] {
            assert_eq!(kind.read(text).expect("reads").to_string(), text);
        }
    }

    #[test]
    fn lists_and_flags_are_read_as_people_write_them() {
        let list = |items: &[&str]| {
            Ok(Value::List(
                items.iter().map(|&item| item.to_owned()).collect(),
            ))
        };
        assert_eq!(Kind::List.read(" a/b, c/d ,"), list(&["a/b", "c/d"]));
        assert_eq!(Kind::List.read(r#"["a/b","c"]"#), list(&["a/b", "c"]));
        assert_eq!(Kind::List.read("['a/b', 'c',]"), list(&["a/b", "c"]));
        assert!(Kind::List.read("['a']\nother = ['b']").is_err());
        assert_eq!(
            Kind::List.read("[1]"),
            Err("expected a list of texts, found \"[1]\"".to_owned())
        );
        assert_eq!(Kind::Flag.read("ON"), Ok(Value::Flag(true)));
        assert_eq!(
            Kind::Flag.read("maybe"),
            Err("expected true or false, found \"maybe\"".to_owned())
        );
    }
}
