//! The resolved settings: one value per question, each with where it came from. Nothing secret is in here.

use crate::catalog::Catalog;
use crate::env::Env;
use crate::file::FileSettings;
use crate::provider::{Explicit, Providers};
use crate::secret::SECRET_VARIABLES;
use crate::source::Sourced;
use crate::web::WebSettings;
use holon_domain::AgentId;
use holon_domain::model::ModelRef;
use holon_domain::proxy::ProxyVariables;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Use of colour in terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// Colour only when the output is a terminal.
    Auto,
    Never,
}

impl Color {
    /// Resolves the use of colour by a command that prints to a terminal. `NO_COLOR` turns it off, and so does a terminal
    /// that does not say what it can show, or says `dumb`.
    #[must_use]
    pub fn of_terminal(env: &Env) -> Self {
        match (env.get("NO_COLOR"), env.get("TERM")) {
            (None, Some(_)) if !is_dumb_terminal(env) => Self::Auto,
            (Some(_) | None, Some(_) | None) => Self::Never,
        }
    }
}

/// Returns true if the terminal says that it can only be written to line by line: its cursor cannot be moved.
#[must_use]
pub fn is_dumb_terminal(env: &Env) -> bool {
    env.get("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// Returns true if the locale of the environment says that a terminal shows UTF-8. The first of `LC_ALL`, `LC_CTYPE` and
/// `LANG` that is set decides, as for other programs.
#[must_use]
pub fn has_utf8_locale(env: &Env) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| env.get(name));
    let locale = locale.map(|locale| locale.to_string_lossy().to_lowercase());
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

/// Use of a screen of its own by the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlternateScreen {
    /// Yes, apart from terminals in which scrolling back needs the normal screen.
    Auto,
    Always,
    Never,
}

impl AlternateScreen {
    /// Reads a value of the setting.
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        [Self::Auto, Self::Always, Self::Never]
            .into_iter()
            .find(|choice| choice.to_string() == word)
            .ok_or_else(|| format!("{word:?} is none of auto, always and never"))
    }

    /// Returns true if the console of this environment has a screen of its own.
    #[must_use]
    pub fn is_used(self, env: &Env) -> bool {
        match self {
            Self::Auto => env.get("ZELLIJ").is_none(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl std::fmt::Display for AlternateScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        })
    }
}

/// Time limits for requests to providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Until an answer begins.
    pub timeout: Sourced<Duration>,
    /// Between two parts of one that has begun.
    pub stream_idle: Sourced<Duration>,
}

/// Limits on what agents may use, and the zone of their days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetSettings {
    /// Name of a time zone.
    pub time_zone: Sourced<String>,
    /// Tokens of each agent in a day. Absent if there is no limit.
    pub agent_day_tokens: Option<Sourced<u64>>,
    /// Tokens of all agents together in a day. Absent if there is no limit.
    pub host_day_tokens: Option<Sourced<u64>>,
}

/// The terms on which an agent in a long turn is reminded of its work item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleReminder {
    /// Model rounds without a change of a work item; 0 for never.
    pub rounds: Sourced<u32>,
    /// Rounds from one reminder to the next.
    pub cooldown_rounds: Sourced<u32>,
    /// Estimated tokens a reminder may take.
    pub max_tokens: Sourced<u32>,
}

/// The bounds of what a model is shown of an agent's earlier turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSettings {
    /// Estimated tokens of a thread above which it is folded.
    pub thread_tokens: Sourced<u32>,
    /// Time after a turn from which on a provider's cache counts as expired; zero for never.
    pub cold_after: Sourced<Duration>,
    /// Estimated tokens of a thread above which it is folded then.
    pub cold_tokens: Sourced<u32>,
}

/// Everything that can be set, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Directory that holds everything of this host; absolute.
    pub home: Sourced<PathBuf>,
    /// Home of the user, in which `.agents` holds guidance of all agents. Absent if it is unknown or relative.
    pub user_home: Option<PathBuf>,
    /// Proxies of requests that are no model calls, and of git.
    pub proxies: ProxyVariables,
    /// Agent that is meant when none is named.
    pub default_agent: Sourced<AgentId>,
    /// Address of the HTTP control plane.
    pub http_addr: Sourced<SocketAddr>,
    /// Model that agents ask unless they have their own.
    pub model: Option<Sourced<ModelRef>>,
    /// Models to turn to when that one fails.
    pub fallbacks: Sourced<Vec<ModelRef>>,
    /// True disables fallback models: only the chosen model is asked.
    pub disable_provider_fallback: Sourced<bool>,
    /// Tokens a model may write in one round, as far as the model allows.
    pub max_output_tokens: Sourced<u32>,
    pub http: HttpSettings,
    /// Time during which a suspended turn asks its models again by itself.
    pub provider_patience: Sourced<Duration>,
    /// Rounds after which an agent in a long turn is reminded of its work item.
    pub stale_reminder: StaleReminder,
    pub context: ContextSettings,
    /// Address that stands for `https://github.com`, without a slash at the end.
    pub github_base_url: Sourced<String>,
    pub providers: Providers,
    pub catalog: Catalog,
    pub web: WebSettings,
    pub budgets: BudgetSettings,
    /// Name of the time zone of the operator's clock.
    pub operator_time_zone: Sourced<String>,
    /// Most agents above a new one that another agent makes.
    pub delegation_depth: Sourced<u32>,
    /// Disk the audit events may take.
    pub event_budget_bytes: Sourced<u64>,
    /// Disk the database may take.
    pub store_budget_bytes: Sourced<u64>,
    /// Days for which history is kept; 0 for no limit.
    pub history_days: Sourced<u64>,
    /// Estimated tokens of one tool result a model reads by default; never over the maximum.
    pub default_tool_output_tokens: Sourced<u32>,
    pub max_tool_output_tokens: Sourced<u32>,
    pub log_filter: Sourced<String>,
    pub shell: Option<OsString>,
    /// Directories in which programs are searched, as this process got them.
    pub search_path: Option<OsString>,
    pub color: Color,
    /// Read by the console and not by the host.
    pub alternate_screen: Sourced<AlternateScreen>,
    /// Keys of the open families (providers, models) that the settings set.
    pub(crate) explicit: Vec<Explicit>,
    pub(crate) unknown: Vec<(&'static str, Sourced<u32>)>,
}

impl Settings {
    /// Returns true if the settings give limits to models that the catalog does not know.
    #[must_use]
    pub fn has_unknown_model_limits(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// The settings file of a home.
    #[must_use]
    pub fn file_path(home: &Path) -> PathBuf {
        FileSettings::path(home)
    }

    /// Variables that must not reach the commands agents run: every key this program knows of, and those that the
    /// settings name.
    #[must_use]
    pub fn child_env_removals(&self) -> Vec<String> {
        let mut names: Vec<String> = SECRET_VARIABLES
            .iter()
            .map(|&name| name.to_owned())
            .collect();
        for variable in self.providers.iter().flat_map(|entry| &entry.auth.env) {
            if !names.contains(&variable.name) {
                names.push(variable.name.clone());
            }
        }
        names
    }

    /// The models a turn may ask, in order, each once. Empty when none is set.
    #[must_use]
    pub fn model_chain(&self) -> Vec<ModelRef> {
        let mut chain: Vec<ModelRef> = self.model.iter().map(|model| model.value.clone()).collect();
        if self.disable_provider_fallback.value && !chain.is_empty() {
            return chain;
        }
        for model in &self.fallbacks.value {
            if !chain.contains(model) {
                chain.push(model.clone());
            }
        }
        chain
    }
}
