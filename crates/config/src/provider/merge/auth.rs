//! Where a provider's credential comes from, as the settings say it: one source, one kind that fits it, and what the
//! source needs.

use super::{Fields, fields_of};
use crate::credentials;
use crate::env::VARIABLES;
use crate::error::Error;
use crate::layer::Found;
use crate::provider::{AuthSpec, KeyVariable};
use holon_domain::provider::{AuthKind, AuthSource};

/// The keys that say it, beside source and kind.
const DETAILS: &[AuthSource] = &[
    AuthSource::Env,
    AuthSource::ExternalCli,
    AuthSource::CredentialProfile,
    AuthSource::CredentialProcess,
];

/// Reads the credential settings of a provider. None when there are none.
pub(super) fn read(fields: &Fields<'_>) -> Result<Option<AuthSpec>, Error> {
    let Some(said) = fields.get("auth.source") else {
        return match first_detail(fields) {
            None => Ok(None),
            Some(found) => Err(found.refuse(format!(
                "says nothing without providers.{}.auth.source; add it",
                fields.id()
            ))),
        };
    };
    let source = fields
        .choice("auth.source", AuthSource::parse)?
        .unwrap_or(AuthSource::None);
    let kind = kind(fields, source)?;
    no_strangers(fields, source)?;
    let missing = || {
        said.refuse(format!(
            "{source} needs providers.{}.{}; add it",
            fields.id(),
            fields_of(source)
        ))
    };
    let mut spec = AuthSpec {
        source,
        kind,
        ..AuthSpec::none()
    };
    match source {
        AuthSource::Env => spec.env = variables(fields.get("auth.env").ok_or_else(missing)?, kind)?,
        AuthSource::ExternalCli => {
            spec.external = fields.choice("auth.external", |text| Some(text.to_owned()))?;
            spec.external.as_ref().ok_or_else(missing)?;
        }
        AuthSource::CredentialProfile => {
            let found = fields.get("auth.profile").ok_or_else(missing)?;
            spec.profile = Some(
                found
                    .judge_text(|id| credentials::check_id(id).map(|()| id.to_owned()))?
                    .value,
            );
        }
        AuthSource::CredentialProcess => {
            let found = fields.get("auth.command").ok_or_else(missing)?;
            spec.command = found.list()?.value;
            if spec.command.is_empty() {
                return Err(found.refuse("names no program; write [\"program\", \"argument\"]"));
            }
        }
        AuthSource::None => {}
    }
    Ok(Some(spec))
}

fn first_detail<'a>(fields: &'a Fields<'_>) -> Option<&'a Found> {
    let details = DETAILS.iter().map(|source| fields_of(*source));
    details
        .chain(["auth.kind"])
        .find_map(|field| fields.get(field))
}

/// A detail of another source is a leftover or a mistake and would have no effect, so it is refused.
fn no_strangers(fields: &Fields<'_>, source: AuthSource) -> Result<(), Error> {
    for other in DETAILS.iter().filter(|other| **other != source) {
        if let Some(found) = fields.get(fields_of(*other)) {
            return Err(found.refuse(format!(
                "belongs to source {other}, and the source is {source}; remove one of the two"
            )));
        }
    }
    Ok(())
}

fn kind(fields: &Fields<'_>, source: AuthSource) -> Result<AuthKind, Error> {
    let fitting: &[AuthKind] = match source {
        AuthSource::Env => &[AuthKind::ApiKey, AuthKind::BearerToken],
        AuthSource::ExternalCli => &[AuthKind::SessionToken],
        AuthSource::CredentialProfile | AuthSource::CredentialProcess => &[
            AuthKind::ApiKey,
            AuthKind::BearerToken,
            AuthKind::Oauth,
            AuthKind::SessionToken,
        ],
        AuthSource::None => &[AuthKind::None],
    };
    let usual = fitting.first().copied().unwrap_or(AuthKind::None);
    let kind = fields
        .choice("auth.kind", AuthKind::parse)?
        .unwrap_or(usual);
    match fields.get("auth.kind") {
        Some(found) if !fitting.contains(&kind) => {
            let names: Vec<&str> = fitting.iter().map(|kind| kind.as_str()).collect();
            Err(found.refuse(format!(
                "source {source} gives {}, not {kind}; change one of the two",
                names.join(", ")
            )))
        }
        Some(_) | None => Ok(kind),
    }
}

fn variables(found: &Found, kind: AuthKind) -> Result<Vec<KeyVariable>, Error> {
    let names = found.list()?.value;
    if names.is_empty() {
        return Err(found.refuse("names no variable"));
    }
    for name in &names {
        check_variable(name).map_err(|problem| found.refuse(problem))?;
    }
    Ok(names
        .into_iter()
        .map(|name| KeyVariable { name, kind })
        .collect())
}

/// A variable that holds a key is taken out of the environment of commands, so it cannot be one they live by.
fn check_variable(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let fits = (1..=128).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !fits {
        return Err(format!(
            "{name:?} is not the name of a variable for keys; it has upper-case letters, digits and '_'"
        ));
    }
    let taken = VARIABLES.iter().any(|variable| variable.name == name);
    if taken || matches!(name, "PATH" | "USER" | "LANG" | "TERM" | "PWD" | "TMPDIR") {
        return Err(format!(
            "{name} has another meaning; keep the key in a variable of its own"
        ));
    }
    Ok(())
}
