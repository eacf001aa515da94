//! The report of `holon doctor`, as it is printed in JSON or rendered as text.

use serde::Serialize;
use std::path::PathBuf;

/// Weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Ok,
    /// Agents can work, but something may surprise the operator.
    Warning,
    /// Agents cannot work, or what is stored is in danger.
    Error,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Name of what was examined.
    pub(crate) check: &'static str,
    pub(crate) level: Level,
    pub(crate) message: String,
    /// Absent if there is nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_step: Option<String>,
}

impl Finding {
    pub(crate) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            level: Level::Ok,
            message: message.into(),
            next_step: None,
        }
    }

    pub(crate) fn warning(
        check: &'static str,
        message: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self {
            check,
            level: Level::Warning,
            message: message.into(),
            next_step: Some(next_step.into()),
        }
    }

    pub(crate) fn error(
        check: &'static str,
        message: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Error,
            ..Self::warning(check, message, next_step)
        }
    }
}

/// Result of `holon doctor`.
#[derive(Debug, Serialize)]
pub(crate) struct Examination {
    /// False if a finding is an error.
    pub(crate) ok: bool,
    pub(crate) home_dir: PathBuf,
    pub(crate) findings: Vec<Finding>,
}

impl Examination {
    pub(crate) fn new(home_dir: PathBuf, findings: Vec<Finding>) -> Self {
        Self {
            ok: findings.iter().all(|finding| finding.level < Level::Error),
            home_dir,
            findings,
        }
    }

    pub(crate) fn count(&self, level: Level) -> usize {
        let is_counted = |finding: &&Finding| finding.level == level;
        self.findings.iter().filter(is_counted).count()
    }
}
