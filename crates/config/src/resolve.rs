//! Precedence: flag over environment over file over builtin, decided once for each setting.
//!
//! [`resolve`] is pure; [`Settings::load`] is the one place that gathers its arguments from the world.
//! A value that cannot be used is an error naming where it stands, never silently skipped for the next source.

use crate::catalog;
use crate::env::Env;
use crate::error::{Error, Place};
use crate::file::FileSettings;
use crate::host_zone::host_zone;
use crate::key;
use crate::layer::{Found, Layers, decide, flag, text};
use crate::provider;
use crate::settings::{
    AlternateScreen, BudgetSettings, Color, ContextSettings, HttpSettings, Settings, StaleReminder,
};
use crate::source::{Source, Sourced};
use crate::url;
use crate::web;
use holon_domain::AgentId;
use holon_domain::limits::{
    EVENT_BUDGET_BYTES, FALLBACKS, HISTORY_DAYS, MAX_OUTPUT_TOKENS, PROVIDER_FIRST_BYTE_MS,
    PROVIDER_IDLE_MS, PROVIDER_PATIENCE_MS, SPAWN_DEPTH, STALE_REMINDER_COOLDOWN_ROUNDS,
    STALE_REMINDER_ROUNDS, STALE_REMINDER_TOKENS, STORE_BUDGET_BYTES, THREAD_COLD_AFTER_MS,
    THREAD_COLD_TOKENS, THREAD_TOKENS_MAX, TOOL_OUTPUT_TOKENS, TOOL_OUTPUT_TOKENS_MAX,
    UNKNOWN_MAX_OUTPUT_TOKENS, UNKNOWN_WINDOW_TOKENS, WINDOW_PERCENT,
};
use holon_domain::model::ModelRef;
use holon_domain::zone::is_zone;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The agent that is meant when nothing names one.
const DEFAULT_AGENT: &str = "main";
/// The port of the control plane when nothing names one.
const DEFAULT_PORT: u16 = 7878;
/// The home's name under the user's.
const HOME_NAME: &str = ".holon";
/// The host of templates and skills when nothing names another.
const GITHUB: &str = "https://github.com";
/// Default filter of the log.
const LOG_FILTER: &str = "info";

/// Values of the global flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    pub home: Option<PathBuf>,
    pub agent: Option<String>,
    pub listen: Option<String>,
    pub model: Option<String>,
}

impl Settings {
    /// The settings of this process: its flags, its environment, and the home's file. No model is derived from
    /// credentials; that is [`Settings::with_derived_model`].
    ///
    /// # Errors
    /// When any of them holds something that cannot be used.
    pub fn load(flags: &Flags) -> Result<Self, Error> {
        Self::load_from(&Env::from_process(), flags)
    }

    /// The same from another environment.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_from(env: &Env, flags: &Flags) -> Result<Self, Error> {
        let home = resolve_home(env, flags)?;
        let file = FileSettings::load(&home.value)?;
        resolve(env, flags, file.as_ref())
    }
}

/// One resolved value per setting.
///
/// # Errors
/// When a value cannot be used; the error names where it stands and what would be right.
pub fn resolve(env: &Env, flags: &Flags, file: Option<&FileSettings>) -> Result<Settings, Error> {
    let layers = Layers { env, file };
    let max = resolve_max_tokens(layers)?;
    let (providers, mut explicit) = provider::merge(layers)?;
    let (catalog, figures) = catalog::resolve(layers)?;
    explicit.extend(figures);
    let (web, web_providers) = web::resolve(layers)?;
    explicit.extend(web_providers);
    let operator_time_zone = resolve_zone(layers, "operator.time_zone", host_zone(env))?;
    Ok(Settings {
        home: resolve_home(env, flags)?,
        user_home: env
            .get("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute()),
        proxies: env.proxies(),
        default_agent: resolve_agent(layers, flags)?,
        http_addr: resolve_http_addr(layers, flags)?,
        model: resolve_model(layers, flags)?,
        fallbacks: resolve_fallbacks(layers)?,
        disable_provider_fallback: {
            let found = layers.find("runtime.disable_provider_fallback")?;
            decide(found.as_ref(), false, Found::flag)?
        },
        max_output_tokens: number(layers, "runtime.max_output_tokens", MAX_OUTPUT_TOKENS)?,
        http: resolve_http(layers)?,
        provider_patience: duration(
            layers,
            "runtime.provider_patience_secs",
            PROVIDER_PATIENCE_MS,
            Duration::from_secs,
        )?,
        stale_reminder: resolve_reminder(layers)?,
        context: resolve_context(layers)?,
        github_base_url: {
            let found = layers.find("github.base_url")?;
            match found {
                Some(found) => found.judge_text(url::judge_mirror)?,
                None => Sourced {
                    value: GITHUB.to_owned(),
                    source: Source::Builtin,
                },
            }
        },
        providers,
        catalog,
        web,
        budgets: resolve_budgets(layers, &operator_time_zone.value)?,
        operator_time_zone,
        delegation_depth: {
            let found = layers.find("delegation.max_depth")?;
            decide(found.as_ref(), SPAWN_DEPTH, Found::number)?
        },
        event_budget_bytes: {
            let found = layers.find("retention.event_budget_bytes")?;
            decide(found.as_ref(), EVENT_BUDGET_BYTES, Found::large_number)?
        },
        store_budget_bytes: {
            let found = layers.find("retention.store_budget_bytes")?;
            decide(found.as_ref(), STORE_BUDGET_BYTES, Found::large_number)?
        },
        history_days: {
            let found = layers.find("retention.history_days")?;
            decide(found.as_ref(), HISTORY_DAYS, Found::large_number)?
        },
        default_tool_output_tokens: resolve_default_tokens(layers, max.value)?,
        max_tool_output_tokens: max,
        log_filter: resolve_log_filter(env)?,
        shell: env.get("SHELL"),
        search_path: env.get("PATH"),
        color: match env.get("NO_COLOR") {
            Some(_) => Color::Never,
            None => Color::Auto,
        },
        alternate_screen: match layers.find("tui.alternate_screen")? {
            Some(found) => found.judge_text(AlternateScreen::parse)?,
            None => Sourced {
                value: AlternateScreen::Auto,
                source: Source::Builtin,
            },
        },
        explicit,
        unknown: resolve_unknown(layers)?,
    })
}

fn resolve_reminder(layers: Layers<'_>) -> Result<StaleReminder, Error> {
    Ok(StaleReminder {
        rounds: number(
            layers,
            "runtime.work_item_stale_reminder_rounds",
            STALE_REMINDER_ROUNDS,
        )?,
        cooldown_rounds: number(
            layers,
            "runtime.work_item_stale_reminder_cooldown_rounds",
            STALE_REMINDER_COOLDOWN_ROUNDS,
        )?,
        max_tokens: number(
            layers,
            "runtime.work_item_stale_reminder_max_tokens",
            STALE_REMINDER_TOKENS,
        )?,
    })
}

fn resolve_context(layers: Layers<'_>) -> Result<ContextSettings, Error> {
    Ok(ContextSettings {
        thread_tokens: number(layers, "context.thread_tokens", THREAD_TOKENS_MAX)?,
        cold_after: duration(
            layers,
            "context.cold_after_secs",
            THREAD_COLD_AFTER_MS,
            Duration::from_secs,
        )?,
        cold_tokens: number(layers, "context.cold_tokens", THREAD_COLD_TOKENS)?,
    })
}

pub(crate) fn resolve_home(env: &Env, flags: &Flags) -> Result<Sourced<PathBuf>, Error> {
    let absolute = |path: &Path, place: Place, source: Source| {
        let value = match env.current_dir() {
            _ if path.is_absolute() => path.to_owned(),
            Some(dir) => dir.join(path),
            None => {
                let path = path.to_owned();
                return Err(Error::RelativeHome { place, path });
            }
        };
        Ok(Sourced { value, source })
    };
    if let Some(path) = &flags.home {
        return absolute(path, Place::Flag("--home"), Source::Flag);
    }
    if let Some(path) = env.get("HOLON_HOME") {
        let place = Place::Variable("HOLON_HOME".to_owned());
        return absolute(Path::new(&path), place, Source::Environment);
    }
    let user = env.get("HOME").ok_or(Error::NoHome)?;
    let path = Path::new(&user).join(HOME_NAME);
    absolute(&path, Place::Variable("HOME".to_owned()), Source::Builtin)
}

/// Decides a time zone; `default` is used if the setting is absent.
fn resolve_zone(layers: Layers<'_>, name: &str, default: String) -> Result<Sourced<String>, Error> {
    let judge = |zone: &str| match is_zone(zone) {
        true => Ok(zone.to_owned()),
        false => Err(format!(
            "{zone:?} is not a time zone; write its name, such as UTC or Europe/Berlin"
        )),
    };
    match layers.find(name)? {
        Some(found) => found.judge_text(judge),
        None => Ok(Sourced {
            value: default,
            source: Source::Builtin,
        }),
    }
}

fn resolve_budgets(layers: Layers<'_>, operator_zone: &str) -> Result<BudgetSettings, Error> {
    let limit = |name: &str| -> Result<Option<Sourced<u64>>, Error> {
        let found = layers.find(name)?;
        found.map(|found| found.large_number()).transpose()
    };
    Ok(BudgetSettings {
        time_zone: resolve_zone(layers, "budgets.time_zone", operator_zone.to_owned())?,
        agent_day_tokens: limit("budgets.agent_day_tokens")?,
        host_day_tokens: limit("budgets.host_day_tokens")?,
    })
}

#[expect(
    clippy::expect_used,
    reason = "a constant that a test reads on every run"
)]
pub(crate) fn resolve_agent(layers: Layers<'_>, flags: &Flags) -> Result<Sourced<AgentId>, Error> {
    let found = match flag("--agent", flags.agent.as_ref()) {
        Some(found) => Some(found),
        None => layers.find("agent.default_id")?,
    };
    // A command of a temporary agent finds that agent's id in its environment, so minted ids are read too.
    match found {
        Some(found) => found.judge_text(AgentId::parse_stored),
        None => Ok(Sourced {
            value: AgentId::parse_stored(DEFAULT_AGENT).expect("the builtin agent id is valid"),
            source: Source::Builtin,
        }),
    }
}

fn resolve_http_addr(layers: Layers<'_>, flags: &Flags) -> Result<Sourced<SocketAddr>, Error> {
    let found = match flag("--listen", flags.listen.as_ref()) {
        Some(found) => Some(found),
        None => layers.find("serve.http_addr")?,
    };
    let builtin = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT));
    decide(found.as_ref(), builtin, |found| {
        found.judge_text(|text| {
            text.parse().map_err(|_| {
                format!(
                    "{text:?} is not an address; write it as ADDRESS:PORT, for example {builtin}"
                )
            })
        })
    })
}

fn resolve_model(layers: Layers<'_>, flags: &Flags) -> Result<Option<Sourced<ModelRef>>, Error> {
    let found = match flag("--model", flags.model.as_ref()) {
        Some(found) => Some(found),
        None => layers.find("model.default")?,
    };
    found
        .map(|found| found.judge_text(ModelRef::parse))
        .transpose()
}

fn resolve_fallbacks(layers: Layers<'_>) -> Result<Sourced<Vec<ModelRef>>, Error> {
    let Some(found) = layers.find("model.fallbacks")? else {
        let (value, source) = (Vec::new(), Source::Builtin);
        return Ok(Sourced { value, source });
    };
    let Sourced { value, source } = found.list()?;
    if value.len() > FALLBACKS {
        let problem = format!(
            "{} models are more than the {FALLBACKS} a turn may turn to; remove some",
            value.len()
        );
        return Err(found.refuse(problem));
    }
    let parsed: Result<Vec<ModelRef>, _> = value.iter().map(|text| ModelRef::parse(text)).collect();
    match parsed {
        Ok(value) => Ok(Sourced { value, source }),
        Err(error) => Err(found.refuse(error.to_string())),
    }
}

fn duration(
    layers: Layers<'_>,
    name: &str,
    builtin_ms: u64,
    unit: fn(u64) -> Duration,
) -> Result<Sourced<Duration>, Error> {
    let found = layers.find(name)?;
    decide(found.as_ref(), Duration::from_millis(builtin_ms), |found| {
        let Sourced { value, source } = found.large_number()?;
        let value = unit(value);
        Ok(Sourced { value, source })
    })
}

fn resolve_http(layers: Layers<'_>) -> Result<HttpSettings, Error> {
    let secs = "runtime.provider_http_timeout_secs";
    let millis = "runtime.provider_stream_idle_timeout_ms";
    Ok(HttpSettings {
        timeout: duration(layers, secs, PROVIDER_FIRST_BYTE_MS, Duration::from_secs)?,
        stream_idle: duration(layers, millis, PROVIDER_IDLE_MS, Duration::from_millis)?,
    })
}

fn number(layers: Layers<'_>, name: &str, builtin: u32) -> Result<Sourced<u32>, Error> {
    let found = layers.find(name)?;
    decide(found.as_ref(), builtin, Found::number)
}

fn resolve_max_tokens(layers: Layers<'_>) -> Result<Sourced<u32>, Error> {
    number(
        layers,
        "runtime.max_tool_output_tokens",
        TOOL_OUTPUT_TOKENS_MAX,
    )
}

/// The default may not be over the maximum; a builtin default simply follows a lower maximum.
fn resolve_default_tokens(layers: Layers<'_>, max: u32) -> Result<Sourced<u32>, Error> {
    let name = "runtime.default_tool_output_tokens";
    let sourced = number(layers, name, TOOL_OUTPUT_TOKENS.min(max))?;
    match layers.find(name)? {
        Some(found) if sourced.value > max => Err(found.refuse(format!(
            "{} is over runtime.max_tool_output_tokens, which is {max}; lower the one or raise the other",
            sourced.value
        ))),
        Some(_) | None => Ok(sourced),
    }
}

fn resolve_log_filter(env: &Env) -> Result<Sourced<String>, Error> {
    let Some(raw) = env.get("RUST_LOG") else {
        let (value, source) = (LOG_FILTER.to_owned(), Source::Builtin);
        return Ok(Sourced { value, source });
    };
    let value = text("RUST_LOG", &raw)?.trim().to_owned();
    let source = Source::Environment;
    Ok(Sourced { value, source })
}

/// For the list of effective settings; the catalog reads the same keys for its figures.
fn resolve_unknown(layers: Layers<'_>) -> Result<Vec<(&'static str, Sourced<u32>)>, Error> {
    let builtin = [
        UNKNOWN_WINDOW_TOKENS,
        u32::from(WINDOW_PERCENT),
        UNKNOWN_MAX_OUTPUT_TOKENS,
    ];
    let keys = key::KEYS
        .iter()
        .filter(|key| key.name.starts_with("model.unknown_fallback."));
    keys.zip(builtin)
        .map(|(key, builtin)| Ok((key.name, number(layers, key.name, builtin)?)))
        .collect()
}
