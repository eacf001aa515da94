//! The dotted name of one key: how it is read and written, names with dots and slashes in quotes.

use std::fmt;

/// The path of one key, segment by segment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads a dotted name as TOML writes it: `models.catalog."openai/gpt-5.4".display_name`.
    ///
    /// # Errors
    /// When it is no such name; the text says how to write one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys = toml_edit::Key::parse(text).map_err(|_| {
            format!("{text:?} is not the name of a setting; put names with other characters than letters, digits, '-' and '_' in quotes, as in models.catalog.\"openai/gpt-5.4\".display_name")
        })?;
        Ok(Self(keys.iter().map(|key| key.get().to_owned()).collect()))
    }

    /// The path of these segments.
    #[must_use]
    pub fn of(segments: &[&str]) -> Self {
        Self(segments.iter().map(|&segment| segment.to_owned()).collect())
    }

    /// The path one step further in.
    #[must_use]
    pub fn join(&self, segment: &str) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.to_owned());
        Self(segments)
    }

    /// Returns true if this is the path of a dotted name without quotes.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        name.split('.').eq(self.0.iter().map(String::as_str))
    }

    /// Its segments, without quotes.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if !segment.is_empty() && segment.chars().all(bare) {
                write!(f, "{dot}{segment}")?;
            } else {
                // JSON's escapes are a part of TOML's.
                write!(f, "{dot}{}", serde_json::Value::from(segment.as_str()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_is_written() {
        for text in [
            "model.default",
            "models.catalog.\"openai/gpt-5.4\".display_name",
            "a.\"b \\\"c\\\"\".\"\"",
        ] {
            let path = KeyPath::parse(text).expect("reads");
            assert_eq!(path.to_string(), text);
            assert_eq!(KeyPath::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn a_path_is_named_by_its_segments() {
        let path = KeyPath::of(&["model", "default"]);
        for (name, expected) in [
            ("model.default", true),
            ("model", false),
            ("model.default.x", false),
            ("model.defaults", false),
        ] {
            assert_eq!(path.is_named(name), expected, "{name}");
        }
        assert!(!KeyPath::of(&["model.default"]).is_named("model.default"));
    }

    #[test]
    fn a_name_without_its_quotes_is_refused_with_the_way_to_write_it() {
        let said = KeyPath::parse("models.catalog.openai/gpt.x").expect_err("is refused");
        assert!(said.contains("in quotes"), "{said}");
    }
}
