//! The environment: every variable with a meaning of its own is listed here and nowhere else.
//!
//! An empty variable counts as unset, so `HOLON_MODEL= holon run` means "no model from the environment".
//! Values are handed out as they came; [`crate::resolve()`] judges them. Keys are handed out only as secrets,
//! and nothing of the environment shows in debug output.

use holon_domain::proxy::ProxyVariables;
use secrecy::SecretString;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A variable this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// The key of `config.toml` it wins over, if there is one.
    pub key: Option<&'static str>,
    /// Meaning of the variable and the value that applies without it.
    pub doc: &'static str,
}

const fn alone(name: &'static str, doc: &'static str) -> Variable {
    let key = None;
    Variable { name, key, doc }
}

const fn over(name: &'static str, key: &'static str, doc: &'static str) -> Variable {
    let key = Some(key);
    Variable { name, key, doc }
}

/// Every variable, in the order the documentation lists them. Where two win over the same key, the first counts.
/// Provider keys and addresses follow from the table of providers and are not repeated here.
pub const VARIABLES: &[Variable] = &[
    alone(
        "HOLON_HOME",
        "Directory that holds everything of this host. Default: `~/.holon`.",
    ),
    over(
        "HOLON_AGENT_ID",
        "agent.default_id",
        "Agent that is meant when none is named.",
    ),
    over(
        "HOLON_TUI_ALTERNATE_SCREEN",
        "tui.alternate_screen",
        "Whether `holon tui` has a screen of its own: `auto`, `always` or `never`.",
    ),
    over(
        "HOLON_HTTP_ADDR",
        "serve.http_addr",
        "Address the HTTP control plane listens on.",
    ),
    over(
        "HOLON_MODEL",
        "model.default",
        "Model that agents ask unless they have their own, as `provider/model`.",
    ),
    over(
        "HOLON_MODEL_FALLBACKS",
        "model.fallbacks",
        "Models to turn to when the first fails, as a list with commas or a JSON list.",
    ),
    over(
        "HOLON_DISABLE_PROVIDER_FALLBACK",
        "runtime.disable_provider_fallback",
        "Whether only the chosen model is ever asked: `true` or `false`.",
    ),
    over(
        "HOLON_MAX_OUTPUT_TOKENS",
        "runtime.max_output_tokens",
        "Tokens a model may write in one round.",
    ),
    over(
        "HOLON_PROVIDER_HTTP_TIMEOUT_SECS",
        "runtime.provider_http_timeout_secs",
        "Seconds a provider may take until its answer begins.",
    ),
    over(
        "HOLON_PROVIDER_PATIENCE_SECS",
        "runtime.provider_patience_secs",
        "Seconds for which an agent keeps asking providers that have trouble.",
    ),
    over(
        "HOLON_PROVIDER_STREAM_IDLE_TIMEOUT_MS",
        "runtime.provider_stream_idle_timeout_ms",
        "Milliseconds an answer that has begun may be silent.",
    ),
    over(
        "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS",
        "runtime.default_tool_output_tokens",
        "Estimated tokens of one tool result a model reads unless the call says otherwise.",
    ),
    over(
        "HOLON_MAX_TOOL_OUTPUT_TOKENS",
        "runtime.max_tool_output_tokens",
        "The most estimated tokens of one tool result a call may ask for.",
    ),
    over(
        "HOLON_WORK_ITEM_STALE_REMINDER_ROUNDS",
        "runtime.work_item_stale_reminder_rounds",
        "Model rounds without a change of a work item after which an agent is reminded of it; 0 for never.",
    ),
    over(
        "HOLON_WORK_ITEM_STALE_REMINDER_COOLDOWN_ROUNDS",
        "runtime.work_item_stale_reminder_cooldown_rounds",
        "Model rounds from one such reminder to the next.",
    ),
    over(
        "HOLON_WORK_ITEM_STALE_REMINDER_MAX_TOKENS",
        "runtime.work_item_stale_reminder_max_tokens",
        "Estimated tokens such a reminder may take.",
    ),
    over(
        "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT",
        "providers.anthropic.context_management.enabled",
        "Whether Anthropic's servers may drop old tool results: `true` or `false`.",
    ),
    over(
        "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_TRIGGER_INPUT_TOKENS",
        "providers.anthropic.context_management.trigger_input_tokens",
        "From how many input tokens on they do.",
    ),
    over(
        "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_KEEP_RECENT_TOOL_USES",
        "providers.anthropic.context_management.keep_recent_tool_uses",
        "How many of the newest tool uses stay.",
    ),
    over(
        "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_CLEAR_AT_LEAST_INPUT_TOKENS",
        "providers.anthropic.context_management.clear_at_least_input_tokens",
        "How many tokens a clearing must free at least.",
    ),
    over(
        "HOLON_OPENAI_CODEX_REASONING_EFFORT",
        "providers.openai-codex.reasoning_effort",
        "How hard models of `openai-codex` think: `low`, `medium`, `high`, `xhigh`, or `default` for what the provider chooses.",
    ),
    alone(
        "CODEX_HOME",
        "Directory of the Codex login that `openai-codex` uses. Default: `~/.codex`.",
    ),
    alone(
        "RUST_LOG",
        "Which log lines are written, in the syntax of tracing filters. Default: `info`.",
    ),
    alone("HOME", "The user's home; `~/.holon` is under it."),
    alone(
        "SHELL",
        "The user's shell, offered to commands that ask for it. Default: `/bin/sh`.",
    ),
    alone(
        "PATH",
        "Directories in which a host looks for programs of which it tells agents, such as `rg`.",
    ),
    alone(
        "TZ",
        "Time zone of this machine, by its name. Default: that of `/etc/localtime`, otherwise UTC.",
    ),
    alone(
        "HTTPS_PROXY",
        "Proxy of requests to `https` addresses; `https_proxy` is the same.",
    ),
    alone(
        "HTTP_PROXY",
        "Proxy of requests to `http` addresses; `http_proxy` is the same.",
    ),
    alone(
        "ALL_PROXY",
        "Proxy of requests for which there is no other; `all_proxy` is the same.",
    ),
    alone(
        "NO_PROXY",
        "Hosts that are reached without a proxy, separated by commas; `no_proxy` is the same. This machine is always reached without one.",
    ),
    alone("NO_COLOR", "Any value turns colour off."),
    alone(
        "TERM",
        "Kind of the terminal. Colour is off if it is unset or `dumb`; the console refuses `dumb`.",
    ),
    alone(
        "LC_ALL",
        "Locale. Charts have plain ASCII bars unless it names UTF-8; `LC_CTYPE` and `LANG` say it if it is unset.",
    ),
    alone("LC_CTYPE", "Locale of texts, if `LC_ALL` is unset."),
    alone("LANG", "Locale, if `LC_ALL` and `LC_CTYPE` are unset."),
    alone(
        "ZELLIJ",
        "Set by the terminal multiplexer Zellij: `holon tui` then stays on the normal screen, unless it is told otherwise.",
    ),
    alone(
        "XDG_RUNTIME_DIR",
        "Directory for the control socket of a home whose own path is too long for one.",
    ),
    alone(
        "XDG_CONFIG_HOME",
        "Directory under which `holon service install` writes its unit. Default: `~/.config`.",
    ),
    alone(
        "NOTIFY_SOCKET",
        "Set by systemd: where a host reports that it is ready, alive or stopping.",
    ),
    alone(
        "WATCHDOG_USEC",
        "Set by systemd: microseconds within which a host must report that it is alive.",
    ),
];

type Lookup = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The environment as far as this program looks at it, and where the program was started.
#[derive(Clone)]
pub struct Env {
    lookup: Lookup,
    current_dir: Option<PathBuf>,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::from_lookup(|_| None, None)
    }
}

impl Env {
    /// The environment that `lookup` answers for; relative paths count from `current_dir`.
    #[must_use]
    pub fn from_lookup(
        lookup: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static,
        current_dir: Option<PathBuf>,
    ) -> Self {
        Self {
            lookup: Arc::new(lookup),
            current_dir,
        }
    }

    /// The environment of this process, and its current directory.
    #[must_use]
    pub fn from_process() -> Self {
        Self::from_lookup(|name| std::env::var_os(name), std::env::current_dir().ok())
    }

    /// The value of a variable that is no secret; an empty one counts as unset.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable that is one.
    ///
    /// # Errors
    /// When it is set and is not text; the value is not repeated.
    pub(crate) fn secret(&self, name: &str) -> Result<Option<SecretString>, NotText> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let text = value.to_str().ok_or(NotText)?.trim();
        Ok((!text.is_empty()).then(|| SecretString::from(text)))
    }

    /// The proxies of outgoing requests. The names in small letters come first, as programs have agreed on.
    pub(crate) fn proxies(&self) -> ProxyVariables {
        let read = |small: &str, large: &str| {
            let value = self.get(small).or_else(|| self.get(large))?;
            value.into_string().ok()
        };
        ProxyVariables {
            http: read("http_proxy", "HTTP_PROXY"),
            https: read("https_proxy", "HTTPS_PROXY"),
            all: read("all_proxy", "ALL_PROXY"),
            except: read("no_proxy", "NO_PROXY"),
        }
    }

    /// The directory the program was started in.
    pub(crate) const fn current_dir(&self) -> Option<&PathBuf> {
        self.current_dir.as_ref()
    }
}

/// A variable holds bytes that are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotText;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{self, KeyPath};

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let env = Env::from_lookup(
            |name| match name {
                "HOLON_MODEL" => Some(OsString::new()),
                "HOLON_HOME" => Some("/h".into()),
                "KEY" => Some("  ".into()),
                _ => None,
            },
            None,
        );
        assert_eq!(env.get("HOLON_MODEL"), None);
        assert_eq!(env.get("HOLON_HOME"), Some("/h".into()));
        assert!(env.secret("KEY").expect("is text").is_none());
    }

    #[test]
    fn nothing_of_the_environment_shows_in_debug_output() {
        let env = Env::from_lookup(|_| Some("sk-hidden".into()), Some("/hidden".into()));
        assert_eq!(format!("{env:?}"), "Env { .. }");
        let secret = env.secret("OPENAI_API_KEY");
        assert!(!format!("{secret:?}").contains("hidden"), "{secret:?}");
    }

    #[test]
    fn every_variable_is_listed_once_and_wins_over_a_key_that_exists() {
        let names: std::collections::BTreeSet<_> = VARIABLES.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), VARIABLES.len());
        for key in VARIABLES.iter().filter_map(|variable| variable.key) {
            let path = KeyPath::parse(key).expect("is a key");
            assert!(key::find(&path).is_some(), "{key}");
        }
    }
}
