//! Precedence: flag over environment over file over builtin, decided once for each setting.
//!
//! [`resolve`] is pure; [`Settings::load`] is the one place that gathers its arguments from the world.
//! A value that cannot be used is an error naming where it stands, never silently skipped for the next source.

use crate::env::Env;
use crate::error::{Error, Place};
use crate::file::FileSettings;
use crate::layer::{decide, flag, key, variable};
use crate::settings::{Color, Settings, Source, Sourced};
use holon_domain::AgentId;
use holon_domain::limits::{EVENT_BUDGET_BYTES, TOOL_OUTPUT_TOKENS, TOOL_OUTPUT_TOKENS_MAX};
use holon_domain::model::ModelRef;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The agent that is meant when nothing names one.
const DEFAULT_AGENT: &str = "main";
/// The port of the control plane when nothing names one.
const DEFAULT_PORT: u16 = 7878;
/// The home's name under the user's.
const HOME_NAME: &str = ".holon";
/// What is logged when nothing is said.
const LOG_FILTER: &str = "info";
/// A smaller budget would not hold the events retention keeps of even one busy agent.
const EVENT_BUDGET_MIN: u64 = 1 << 20;

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// `--home`.
    pub home: Option<PathBuf>,
    /// `--agent`.
    pub agent: Option<String>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--model`.
    pub model: Option<String>,
}

impl Settings {
    /// The settings of this process: its flags, its environment, and the home's file.
    ///
    /// # Errors
    /// When any of them holds something that cannot be used.
    pub fn load(flags: &Flags) -> Result<Self, Error> {
        let env = Env::from_process();
        let home = resolve_home(&env, flags)?;
        let file = FileSettings::load(&home.value)?;
        resolve(&env, flags, file.as_ref())
    }
}

/// One resolved value per setting.
///
/// # Errors
/// When a value cannot be used; the error names where it stands and what would be right.
pub fn resolve(env: &Env, flags: &Flags, file: Option<&FileSettings>) -> Result<Settings, Error> {
    let max = resolve_max_tokens(env, file)?;
    Ok(Settings {
        home: resolve_home(env, flags)?,
        default_agent: resolve_agent(env, flags, file)?,
        http_addr: resolve_http_addr(env, flags, file)?,
        model: resolve_model(env, flags, file)?,
        event_budget_bytes: resolve_event_budget(file)?,
        default_tool_output_tokens: resolve_default_tokens(env, file, max.value)?,
        max_tool_output_tokens: max,
        log_filter: resolve_log_filter(env)?,
        shell: env.shell.clone(),
        color: match env.no_color {
            Some(_) => Color::Never,
            None => Color::Auto,
        },
    })
}

fn resolve_home(env: &Env, flags: &Flags) -> Result<Sourced<PathBuf>, Error> {
    let absolute = |path: &Path, place: Place, source: Source| match (&env.current_dir, path) {
        (_, path) if path.is_absolute() => Ok(Sourced {
            value: path.to_owned(),
            source,
        }),
        (Some(dir), path) => Ok(Sourced {
            value: dir.join(path),
            source,
        }),
        (None, path) => Err(Error::RelativeHome {
            place,
            path: path.to_owned(),
        }),
    };
    if let Some(path) = &flags.home {
        return absolute(path, Place::Flag("--home"), Source::Flag);
    }
    if let Some(path) = &env.holon_home {
        let place = Place::Variable("HOLON_HOME");
        return absolute(Path::new(path), place, Source::Environment);
    }
    let user = env.home.as_ref().ok_or(Error::NoHome)?;
    let path = Path::new(user).join(HOME_NAME);
    absolute(&path, Place::Variable("HOME"), Source::Builtin)
}

#[expect(
    clippy::expect_used,
    reason = "a constant that a test reads on every run"
)]
fn resolve_agent(
    env: &Env,
    flags: &Flags,
    file: Option<&FileSettings>,
) -> Result<Sourced<AgentId>, Error> {
    let found = flag("--agent", flags.agent.as_ref())
        .or(variable("HOLON_AGENT_ID", env.holon_agent_id.as_ref())?)
        .or_else(|| key(file, "agent.default_id"));
    // A command of a temporary agent finds that agent's id in its environment, so minted ids are read too.
    match found {
        Some(found) => found.judge(AgentId::parse_stored),
        None => Ok(Sourced {
            value: AgentId::parse_stored(DEFAULT_AGENT).expect("the builtin agent id is valid"),
            source: Source::Builtin,
        }),
    }
}

fn resolve_http_addr(
    env: &Env,
    flags: &Flags,
    file: Option<&FileSettings>,
) -> Result<Sourced<SocketAddr>, Error> {
    let found = flag("--listen", flags.listen.as_ref())
        .or(variable("HOLON_HTTP_ADDR", env.holon_http_addr.as_ref())?)
        .or_else(|| key(file, "serve.http_addr"));
    let builtin = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT));
    decide(found, builtin, |text| {
        text.parse().map_err(|_| {
            format!("{text:?} is not an address; write it as ADDRESS:PORT, for example {builtin}")
        })
    })
}

fn resolve_model(
    env: &Env,
    flags: &Flags,
    file: Option<&FileSettings>,
) -> Result<Option<Sourced<ModelRef>>, Error> {
    flag("--model", flags.model.as_ref())
        .or(variable("HOLON_MODEL", env.holon_model.as_ref())?)
        .or_else(|| key(file, "model.default"))
        .map(|found| found.judge(ModelRef::parse))
        .transpose()
}

fn resolve_event_budget(file: Option<&FileSettings>) -> Result<Sourced<u64>, Error> {
    let found = key(file, "retention.event_budget_bytes");
    decide(found, EVENT_BUDGET_BYTES, |text| {
        number(text, EVENT_BUDGET_MIN, u64::MAX)
    })
}

fn resolve_max_tokens(env: &Env, file: Option<&FileSettings>) -> Result<Sourced<u32>, Error> {
    let set = env.holon_max_tool_output_tokens.as_ref();
    let found = variable("HOLON_MAX_TOOL_OUTPUT_TOKENS", set)?
        .or_else(|| key(file, "runtime.max_tool_output_tokens"));
    decide(found, TOOL_OUTPUT_TOKENS_MAX, |text| {
        number(text, 1, TOOL_OUTPUT_TOKENS_MAX)
    })
}

/// The default may not be over the maximum; a builtin default simply follows a lower maximum.
fn resolve_default_tokens(
    env: &Env,
    file: Option<&FileSettings>,
    max: u32,
) -> Result<Sourced<u32>, Error> {
    let set = env.holon_default_tool_output_tokens.as_ref();
    let found = variable("HOLON_DEFAULT_TOOL_OUTPUT_TOKENS", set)?
        .or_else(|| key(file, "runtime.default_tool_output_tokens"));
    decide(found, TOOL_OUTPUT_TOKENS.min(max), |text| {
        number(text, 1, max)
    })
}

fn resolve_log_filter(env: &Env) -> Result<Sourced<String>, Error> {
    let found = variable("RUST_LOG", env.rust_log.as_ref())?;
    decide(found, LOG_FILTER.to_owned(), |text| {
        Ok::<_, Error>(text.to_owned())
    })
}

/// A whole number within bounds.
fn number<T>(text: &str, min: T, max: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + Copy + std::fmt::Display,
{
    match text.parse::<T>() {
        Ok(number) if min <= number && number <= max => Ok(number),
        Ok(_) | Err(_) => Err(format!(
            "expected a whole number from {min} to {max}, found {text:?}"
        )),
    }
}
