//! `holon config credentials`: names and kinds are shown, values never.

use super::tell;
use crate::args::CredentialsCommand;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::secret::{self, From};
use crate::settings;
use holon_config::credentials::{self, Place};
use holon_domain::provider::AuthKind;
use secrecy::SecretString;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A stored credential without what it holds.
#[derive(Serialize)]
struct Stored {
    profile: String,
    kind: AuthKind,
    place: Place,
    /// That the profile is noted. Whether the keyring still has what it names, and whether the provider takes it, only
    /// using it can tell.
    configured: bool,
}

#[derive(Serialize)]
struct Set {
    credential: Stored,
}

#[derive(Serialize)]
struct Removed {
    profile: String,
    status: &'static str,
}

/// Carries out one of them.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: CredentialsCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home(home)?;
    match command {
        CredentialsCommand::Set {
            profile,
            kind,
            stdin,
            keyring,
        } => {
            // A name that is none is refused before anybody types a secret for it.
            credentials::check_id(&profile).map_err(Failure::usage)?;
            let from = if stdin { From::Stdin } else { From::Prompt };
            let what = format!("the {kind} to store as {profile}");
            let secret = secret::read(from, &what, output)?;
            let place = store(&home, &profile, kind, (&secret, keyring)).await?;
            let credential = Stored {
                profile,
                kind,
                place,
                configured: true,
            };
            let words = |set: &Set| {
                let Stored {
                    profile,
                    kind,
                    place,
                    ..
                } = &set.credential;
                format!("{profile} is stored ({kind}{})", shown(*place))
            };
            Ok(tell(&home, Set { credential }, words, output).await)
        }
        CredentialsCommand::List => {
            let stored: Vec<Stored> = credentials::list(&home)?
                .into_iter()
                .map(|profile| Stored {
                    profile: profile.id,
                    kind: profile.kind,
                    place: profile.place,
                    configured: true,
                })
                .collect();
            output.answer(&stored, |stored| words(stored));
            Ok(Exit::Done)
        }
        CredentialsCommand::Remove { profile } => {
            if is_in_keyring(&home, &profile)? {
                holon_daemon::keyring::clear(&home, &profile).await?;
            }
            if !credentials::remove(&home, &profile)? {
                let message = format!("there is no stored credential {profile}");
                return Err(Failure::new(Exit::Failed, "not_configured", message)
                    .hint("see what is stored with: holon config credentials list"));
            }
            let removed = Removed {
                profile,
                status: "removed",
            };
            let words = |removed: &Removed| format!("{} is removed", removed.profile);
            Ok(tell(&home, removed, words, output).await)
        }
    }
}

/// Where somebody should know that it is.
const fn shown(place: Place) -> &'static str {
    match place {
        Place::File => "",
        Place::Keyring => ", in the keyring",
    }
}

fn is_in_keyring(home: &Path, profile: &str) -> Result<bool, Failure> {
    let stored = credentials::list(home)?;
    Ok(stored
        .iter()
        .any(|one| one.id == profile && one.place == Place::Keyring))
}

/// Stores a secret where it was asked for. The keyring has it before the file says so.
async fn store(
    home: &Path,
    profile: &str,
    kind: AuthKind,
    (secret, keyring): (&SecretString, bool),
) -> Result<Place, Failure> {
    if !keyring {
        if is_in_keyring(home, profile)? {
            holon_daemon::keyring::clear(home, profile).await?;
        }
        credentials::set(home, profile, kind, secret)?;
        return Ok(Place::File);
    }
    credentials::check_material(secret).map_err(Failure::usage)?;
    holon_daemon::keyring::store(home, profile, secret).await?;
    credentials::set_in_keyring(home, profile, kind)?;
    Ok(Place::Keyring)
}

fn words(stored: &[Stored]) -> String {
    if stored.is_empty() {
        return "nothing is stored; store a key with: holon config credentials set PROVIDER"
            .to_owned();
    }
    let width = stored
        .iter()
        .map(|one| one.profile.len())
        .max()
        .unwrap_or(0);
    let lines: Vec<String> = stored
        .iter()
        .map(|one| format!("{:width$}  {}{}", one.profile, one.kind, shown(one.place)))
        .collect();
    lines.join("\n")
}
