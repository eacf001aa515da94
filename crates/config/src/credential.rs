//! Finds the credential of one provider: the sources in their order, and the next step if there is none.
//!
//! Nothing is cached: each call reads the sources again, so a stored key or a renewed login is used at once. A command
//! that prints a credential is only returned; the host runs it.

use crate::codex::{self, LoginKind, Problem};
use crate::credentials::{self, Held};
use crate::env::Env;
use crate::error::CredentialError;
use crate::keyring;
use crate::provider::ProviderEntry;
use holon_domain::provider::{AuthKind, AuthSource};
use holon_domain::time::Timestamp;
use secrecy::SecretString;
use std::path::Path;

/// A credential, or how to get it.
#[derive(Debug)]
pub enum Found {
    /// The provider asks for none.
    NotNeeded,
    Secret {
        kind: AuthKind,
        secret: SecretString,
        /// The account it belongs to, where a provider wants to know.
        account_id: Option<String>,
    },
    /// A command prints it.
    Command { argv: Vec<String>, kind: AuthKind },
}

/// The state of a provider's credential, with the next step where it is missing. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialState {
    /// The provider asks for none.
    NotNeeded,
    /// There is one. Only a call shows if the provider accepts it.
    Configured,
    /// A command prints it, which was not run for this. Otherwise like [`CredentialState::Configured`].
    Printed,
    Missing {
        problem: String,
        next_step: String,
    },
    /// The login has expired.
    Expired {
        problem: String,
        next_step: String,
    },
    /// There is one, and it cannot be sent.
    Unusable {
        problem: String,
        next_step: String,
    },
}

impl CredentialState {
    /// One word for people and JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
            Self::Configured | Self::Printed => "configured",
            Self::Missing { .. } => "missing",
            Self::Expired { .. } => "expired",
            Self::Unusable { .. } => "unusable",
        }
    }

    /// Returns true if the provider can be asked.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        matches!(self, Self::NotNeeded | Self::Configured | Self::Printed)
    }

    /// The problem and its next step. None for a usable credential.
    #[must_use]
    pub fn trouble(&self) -> Option<(&str, &str)> {
        match self {
            Self::NotNeeded | Self::Configured | Self::Printed => None,
            Self::Missing { problem, next_step }
            | Self::Expired { problem, next_step }
            | Self::Unusable { problem, next_step } => Some((problem, next_step)),
        }
    }
}

/// Returns the state of a provider's credential at `now`.
#[must_use]
pub fn state(entry: &ProviderEntry, env: &Env, home: &Path, now: Timestamp) -> CredentialState {
    let error = match credential(entry, env, home, now) {
        Ok(Found::NotNeeded) => return CredentialState::NotNeeded,
        Ok(Found::Secret { .. }) => return CredentialState::Configured,
        Ok(Found::Command { .. }) => return CredentialState::Printed,
        Err(error) => error,
    };
    let (problem, next_step) = (error.problem(), error.next_step());
    match error {
        CredentialError::Missing { .. } => CredentialState::Missing { problem, next_step },
        CredentialError::Expired { .. } => CredentialState::Expired { problem, next_step },
        CredentialError::Unusable { .. }
        | CredentialError::Transport { .. }
        | CredentialError::Exposed { .. }
        | CredentialError::Foreign { .. }
        | CredentialError::Broken { .. }
        | CredentialError::Io { .. }
        | CredentialError::Invalid { .. } => CredentialState::Unusable { problem, next_step },
    }
}

/// The credential of a provider at `now`.
///
/// # Errors
/// When it has none that can be used; the error says what to do and holds nothing secret.
pub fn credential(
    entry: &ProviderEntry,
    env: &Env,
    home: &Path,
    now: Timestamp,
) -> Result<Found, CredentialError> {
    if let Some(found) = &entry.unsupported_transport {
        return Err(CredentialError::Transport {
            problem: found.problem.clone(),
            next: found.next_step.clone(),
        });
    }
    if let Some(problem) = &entry.address_problem {
        let next = "set that variable to an address of this provider, or unset it".to_owned();
        return Err(unusable(&entry.spec.id, problem.clone(), next));
    }
    match entry.auth.source {
        AuthSource::None => Ok(Found::NotNeeded),
        AuthSource::Env => from_variables(entry, env, home),
        AuthSource::ExternalCli => from_login(entry, env, now),
        AuthSource::CredentialProfile => from_profile(entry, home),
        AuthSource::CredentialProcess => Ok(Found::Command {
            argv: entry.auth.command.clone(),
            kind: entry.auth.kind,
        }),
    }
}

/// The variables in their order, then the stored profile named like the provider.
fn from_variables(entry: &ProviderEntry, env: &Env, home: &Path) -> Result<Found, CredentialError> {
    let id = &entry.spec.id;
    for variable in &entry.auth.env {
        let name = &variable.name;
        let next = || format!("set {name} again, or unset it");
        let secret = env
            .secret(name)
            .map_err(|_| unusable(id, format!("{name} is not text"), next()))?;
        if let Some(secret) = secret {
            credentials::check_material(&secret)
                .map_err(|problem| unusable(id, format!("{name}: {problem}"), next()))?;
            return Ok(found(variable.kind, secret));
        }
    }
    match credentials::get(home, id) {
        // A stored key is sent in the form that the provider expects. Another kind was stored on purpose.
        Ok(Some(held)) => Ok(held_by(home, id, held, |kind| match kind {
            AuthKind::ApiKey => entry.auth.kind,
            other => other,
        })),
        // A server on this machine often needs no credential.
        Ok(None) | Err(_) if entry.loopback => Ok(Found::NotNeeded),
        Ok(None) => {
            let names: Vec<&str> = entry
                .auth
                .env
                .iter()
                .map(|variable| variable.name.as_str())
                .collect();
            Err(CredentialError::Missing {
                provider: id.clone(),
                next: format!(
                    "set {}, or store a key: holon config credentials set {id}",
                    names.join(" or ")
                ),
            })
        }
        Err(error) => Err(error),
    }
}

/// Returns the stored profile that holds the credential of a provider: the one that its settings name, or the one of its
/// own name if none of its variables is set.
pub(crate) fn profile_in_use(entry: &ProviderEntry, env: &Env, home: &Path) -> Option<String> {
    if entry.auth.profile.is_some() || entry.auth.source != AuthSource::Env {
        return entry.auth.profile.clone();
    }
    let is_set = |name: &str| !matches!(env.secret(name), Ok(None));
    if entry.auth.env.iter().any(|one| is_set(&one.name)) {
        return None;
    }
    let held = credentials::get(home, &entry.spec.id).ok().flatten();
    held.map(|_| entry.spec.id.clone())
}

fn from_profile(entry: &ProviderEntry, home: &Path) -> Result<Found, CredentialError> {
    let id = &entry.spec.id;
    let profile = entry.auth.profile.as_deref().unwrap_or(id);
    let Some(held) = credentials::get(home, profile)? else {
        return Err(CredentialError::Missing {
            provider: id.clone(),
            next: format!(
                "store it: holon config credentials set {profile} --kind {}",
                entry.auth.kind
            ),
        });
    };
    let (Held::Here(kind, _) | Held::InKeyring(kind)) = held;
    if kind != entry.auth.kind {
        let problem = format!(
            "profile {profile} holds a {kind}, and the provider is set up for a {}",
            entry.auth.kind
        );
        let next = format!("run: holon config set providers.{id}.auth.kind {kind}");
        return Err(unusable(id, problem, next));
    }
    Ok(held_by(home, profile, held, |kind| kind))
}

/// Reads the secret of a profile from the file or from the keyring's program.
fn held_by(
    home: &Path,
    profile: &str,
    held: Held,
    sent_as: impl Fn(AuthKind) -> AuthKind,
) -> Found {
    match held {
        Held::Here(kind, secret) => found(sent_as(kind), secret),
        Held::InKeyring(kind) => Found::Command {
            argv: keyring::lookup(home, profile),
            kind: sent_as(kind),
        },
    }
}

/// The address that takes a ChatGPT login and nothing else.
const CHATGPT: &str = "https://chatgpt.com/";

fn from_login(entry: &ProviderEntry, env: &Env, now: Timestamp) -> Result<Found, CredentialError> {
    let id = &entry.spec.id;
    let login = codex::login(env).map_err(|problem| match problem {
        Problem::Missing => CredentialError::Missing {
            provider: id.clone(),
            next: "install the Codex program and run: codex login".to_owned(),
        },
        Problem::Unusable(problem, next) => unusable(id, problem, next),
    })?;
    if login.ends.is_some_and(|ends| ends <= now) {
        return Err(CredentialError::Expired {
            provider: id.clone(),
            next: "run: codex login".to_owned(),
        });
    }
    let kind = match login.kind {
        LoginKind::Account => AuthKind::SessionToken,
        LoginKind::ApiKey if entry.spec.base_url.starts_with(CHATGPT) => {
            let problem =
                "Codex is logged in with an API key, which works for openai/* only".to_owned();
            let next =
                "log in with ChatGPT: codex login, or set OPENAI_API_KEY and use a model of openai"
                    .to_owned();
            return Err(unusable(id, problem, next));
        }
        LoginKind::ApiKey => AuthKind::ApiKey,
    };
    credentials::check_material(&login.secret)
        .map_err(|problem| unusable(id, problem, "run: codex login".to_owned()))?;
    Ok(Found::Secret {
        kind,
        secret: login.secret,
        account_id: login.account_id,
    })
}

const fn found(kind: AuthKind, secret: SecretString) -> Found {
    Found::Secret {
        kind,
        secret,
        account_id: None,
    }
}

fn unusable(provider: &str, problem: String, next: String) -> CredentialError {
    CredentialError::Unusable {
        provider: provider.to_owned(),
        problem,
        next,
    }
}
