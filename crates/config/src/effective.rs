//! The list of what holds: every single key with its value and source, and of the families what somebody set.
//! The schema: every key with what it takes. Both follow from the one table of keys; nothing secret is in either.

use crate::env::VARIABLES;
use crate::key::{KEYS, Kind, Value};
use crate::settings::Settings;
use crate::source::Source;
use serde::Serialize;

/// A setting that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    pub key: String,
    /// Its value as text; none when nothing is set and nothing is built in.
    pub value: Option<String>,
    pub source: &'static str,
}

/// A key, for people and programs that write settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaEntry {
    /// Its name; `<id>` and `<provider/model>` stand for any name.
    pub key: &'static str,
    pub kind: &'static str,
    pub doc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<&'static str>,
    /// The values it takes, if they can be listed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub allowed: &'static [&'static str],
    /// The least it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The most it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Variables that win over it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<&'static str>,
}

/// Every key there is.
#[must_use]
pub fn schema() -> Vec<SchemaEntry> {
    let entry = |key: &'static crate::key::Key| {
        let (allowed, min, max) = match key.kind {
            Kind::Choice(all) | Kind::OpenChoice(all) => (all, None, None),
            Kind::Number { min, max } => (&[] as &[&str], Some(min), Some(max)),
            Kind::Flag => (&["true", "false"] as &[&str], None, None),
            Kind::Text | Kind::List => (&[] as &[&str], None, None),
        };
        let wins = VARIABLES
            .iter()
            .filter(|variable| variable.key == Some(key.name));
        SchemaEntry {
            key: key.name,
            kind: key.kind.as_str(),
            doc: key.doc,
            default: key.default,
            allowed,
            min,
            max,
            variables: wins.map(|variable| variable.name).collect(),
        }
    };
    KEYS.iter().map(entry).collect()
}

impl Settings {
    /// Lists every key with its effective value and the source of that value.
    #[must_use]
    pub fn effective(&self) -> Vec<Effective> {
        let single = KEYS.iter().filter(|key| key.is_single());
        let single = single.map(|key| {
            let (value, source) = self.single(key.name);
            Effective {
                key: key.name.to_owned(),
                value,
                source: source.as_str(),
            }
        });
        let family = self.explicit.iter().map(|set| Effective {
            key: set.path.to_string(),
            value: Some(set.value.to_string()),
            source: set.source.as_str(),
        });
        single.chain(family).collect()
    }

    /// The value of a key that stands for itself.
    fn single(&self, name: &str) -> (Option<String>, Source) {
        let list = |items: &[holon_domain::model::ModelRef]| {
            Value::List(items.iter().map(ToString::to_string).collect()).to_string()
        };
        let (value, source) = match name {
            "model.default" => {
                let source = self
                    .model
                    .as_ref()
                    .map_or(Source::Builtin, |model| model.source);
                return (
                    self.model.as_ref().map(|model| model.value.to_string()),
                    source,
                );
            }
            "model.fallbacks" => (list(&self.fallbacks.value), self.fallbacks.source),
            "runtime.max_output_tokens" => shown(&self.max_output_tokens),
            "runtime.disable_provider_fallback" => shown(&self.disable_provider_fallback),
            "runtime.provider_http_timeout_secs" => {
                let timeout = &self.http.timeout;
                (timeout.value.as_secs().to_string(), timeout.source)
            }
            "runtime.provider_patience_secs" => {
                let patience = &self.provider_patience;
                (patience.value.as_secs().to_string(), patience.source)
            }
            "runtime.provider_stream_idle_timeout_ms" => {
                let idle = &self.http.stream_idle;
                (idle.value.as_millis().to_string(), idle.source)
            }
            "runtime.default_tool_output_tokens" => shown(&self.default_tool_output_tokens),
            "runtime.max_tool_output_tokens" => shown(&self.max_tool_output_tokens),
            "runtime.work_item_stale_reminder_rounds" => shown(&self.stale_reminder.rounds),
            "runtime.work_item_stale_reminder_cooldown_rounds" => {
                shown(&self.stale_reminder.cooldown_rounds)
            }
            "runtime.work_item_stale_reminder_max_tokens" => shown(&self.stale_reminder.max_tokens),
            "context.thread_tokens" => shown(&self.context.thread_tokens),
            "context.cold_after_secs" => {
                let cold = &self.context.cold_after;
                (cold.value.as_secs().to_string(), cold.source)
            }
            "context.cold_tokens" => shown(&self.context.cold_tokens),
            "serve.http_addr" => shown(&self.http_addr),
            "agent.default_id" => shown(&self.default_agent),
            "github.base_url" => shown(&self.github_base_url),
            "tui.alternate_screen" => shown(&self.alternate_screen),
            "delegation.max_depth" => shown(&self.delegation_depth),
            "operator.time_zone" => shown(&self.operator_time_zone),
            "budgets.time_zone" => shown(&self.budgets.time_zone),
            "budgets.agent_day_tokens" => match &self.budgets.agent_day_tokens {
                Some(limit) => shown(limit),
                None => return (None, Source::Builtin),
            },
            "budgets.host_day_tokens" => match &self.budgets.host_day_tokens {
                Some(limit) => shown(limit),
                None => return (None, Source::Builtin),
            },
            "retention.event_budget_bytes" => shown(&self.event_budget_bytes),
            "retention.store_budget_bytes" => shown(&self.store_budget_bytes),
            "retention.history_days" => shown(&self.history_days),
            other => match self.unknown.iter().find(|(name, _)| *name == other) {
                Some((_, sourced)) => shown(sourced),
                None => match self.web.shown(other) {
                    Some(shown) => shown,
                    None => return (None, Source::Builtin),
                },
            },
        };
        (Some(value), source)
    }
}

fn shown<T: std::fmt::Display>(sourced: &crate::source::Sourced<T>) -> (String, Source) {
    (sourced.value.to_string(), sourced.source)
}
