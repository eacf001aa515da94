//! What a check found: where, what, and what to do.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Worth a look; does not fail.
    Note,
    Refusal,
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    weight: Weight,
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// Something that must change.
    pub(crate) fn refusal(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            weight: Weight::Refusal,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    /// Something to look at.
    pub(crate) fn note(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            weight: Weight::Note,
            ..Self::refusal(path, line, message)
        }
    }

    /// Returns true if it fails the check.
    pub(crate) fn is_refusal(&self) -> bool {
        self.weight == Weight::Refusal
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.weight {
            Weight::Note => "note: ",
            Weight::Refusal => "",
        };
        write!(f, "{}:{}: {mark}{}", self.path, self.line, self.message)
    }
}
