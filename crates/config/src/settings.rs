//! The resolved settings: one value per question, each with where it came from.

use crate::secret::SECRET_VARIABLES;
use holon_domain::AgentId;
use holon_domain::model::ModelRef;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where a value came from; a later one in this list loses to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// `config.toml`.
    File,
    /// This build.
    Builtin,
}

impl Source {
    /// One word for people and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Builtin => "builtin",
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// What.
    pub value: T,
    /// From where.
    pub source: Source,
}

/// Whether output may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// Where a terminal reads it.
    Auto,
    /// Never.
    Never,
}

/// Everything that can be set, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Directory that holds everything of this host; absolute.
    pub home: Sourced<PathBuf>,
    /// Agent that is meant when none is named.
    pub default_agent: Sourced<AgentId>,
    /// Address of the HTTP control plane.
    pub http_addr: Sourced<SocketAddr>,
    /// Model that agents ask unless they have their own.
    pub model: Option<Sourced<ModelRef>>,
    /// Disk the audit events may take.
    pub event_budget_bytes: Sourced<u64>,
    /// Estimated tokens of one tool result a model reads by default; never over the maximum.
    pub default_tool_output_tokens: Sourced<u32>,
    /// And at most.
    pub max_tool_output_tokens: Sourced<u32>,
    /// Which log lines are written.
    pub log_filter: Sourced<String>,
    /// The user's shell.
    pub shell: Option<OsString>,
    /// Whether output may be coloured.
    pub color: Color,
}

impl Settings {
    /// The settings file of a home.
    #[must_use]
    pub fn file_path(home: &Path) -> PathBuf {
        home.join("config.toml")
    }

    /// Variables that must not reach the commands agents run.
    #[must_use]
    pub const fn child_env_removals(&self) -> &'static [&'static str] {
        SECRET_VARIABLES
    }
}
