//! Display modes: how much of an agent's activity an operator sees.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Amount of activity that a conversation shows. Raw events are not a mode: an inspector such as `holon events` shows
/// them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DisplayMode {
    /// Results, failures, waits, and what the operator has to do.
    #[default]
    Info,
    /// The activity of the agent as well: texts of the model, commands, changes, tasks and work items.
    Verbose,
    /// Every row that has a description, with ids, durations, tokens and decisions of the scheduler.
    Debug,
}

impl DisplayMode {
    pub const ALL: [Self; 3] = [Self::Info, Self::Verbose, Self::Debug];

    /// Returns the name that commands accept and print.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Verbose => "verbose",
            Self::Debug => "debug",
        }
    }

    /// Returns the number that commands accept in place of the name.
    #[must_use]
    pub const fn alias(self) -> &'static str {
        match self {
            Self::Info => "3",
            Self::Verbose => "4",
            Self::Debug => "5",
        }
    }
}

impl std::fmt::Display for DisplayMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no display mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMode(String);

impl std::fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} is no display mode; use info, verbose or debug (or 3, 4, 5); raw events are shown by: holon events",
            self.0
        )
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for DisplayMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == word || mode.alias() == word)
            .ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_by_its_name_and_its_number() {
        for (words, mode) in [
            (["info", "3"], DisplayMode::Info),
            (["verbose", "4"], DisplayMode::Verbose),
            (["debug", "5"], DisplayMode::Debug),
        ] {
            for word in words {
                assert_eq!(word.parse(), Ok(mode));
            }
        }
        for word in ["trace", "1", "6", "", "Info", "info "] {
            let refused = DisplayMode::from_str(word).unwrap_err().to_string();
            assert!(refused.contains("holon events"), "{refused}");
        }
    }
}
