//! `holon config credentials`: shows names and kinds of credentials, never their values.

use super::report_change;
use crate::addressing::hint;
use crate::args::CredentialsCommand;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::secret::{self, SecretSource};
use crate::settings;
use holon_config::credentials::{self, Place};
use holon_domain::provider::AuthKind;
use secrecy::SecretString;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A stored credential without its value.
#[derive(Serialize)]
struct StoredCredential {
    profile: String,
    kind: AuthKind,
    place: Place,
    /// True if the profile is recorded. Only a request shows that the keyring still holds the value and that the
    /// provider accepts it.
    configured: bool,
}

#[derive(Serialize)]
struct CredentialReport {
    credential: StoredCredential,
}

#[derive(Serialize)]
struct RemovalReport {
    profile: String,
    status: &'static str,
}

/// Runs one subcommand of `config credentials`.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: CredentialsCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    match command {
        CredentialsCommand::Set {
            profile,
            kind,
            stdin,
            keyring,
        } => {
            // An invalid name is refused before the operator types a secret for it.
            credentials::check_id(&profile).map_err(Failure::usage)?;
            let from = if stdin {
                SecretSource::Stdin
            } else {
                SecretSource::Prompt { instead: "--stdin" }
            };
            let what = format!("the {kind} to store as {profile}");
            let secret = secret::read(from, &what, output)?;
            let place = if keyring { Place::Keyring } else { Place::File };
            store(&home, &profile, kind, &secret, place).await?;
            let credential = StoredCredential {
                profile,
                kind,
                place,
                configured: true,
            };
            let words = |set: &CredentialReport| {
                let StoredCredential {
                    profile,
                    kind,
                    place,
                    ..
                } = &set.credential;
                format!("{profile} is stored ({kind}{})", place_remark(*place))
            };
            Ok(report_change(&home, CredentialReport { credential }, words, output).await)
        }
        CredentialsCommand::List => {
            let stored: Vec<StoredCredential> = credentials::list(&home)?
                .into_iter()
                .map(|profile| StoredCredential {
                    profile: profile.id,
                    kind: profile.kind,
                    place: profile.place,
                    configured: true,
                })
                .collect();
            output.answer(&stored, |stored| list_lines(stored));
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
            let removed = RemovalReport {
                profile,
                status: "removed",
            };
            let words = |removed: &RemovalReport| format!("{} is removed", removed.profile);
            Ok(report_change(&home, removed, words, output).await)
        }
    }
}

/// Returns a remark for a credential that is not in the default place.
const fn place_remark(place: Place) -> &'static str {
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

/// Stores a secret in the requested place. The keyring is written before the file that refers to it.
async fn store(
    home: &Path,
    profile: &str,
    kind: AuthKind,
    secret: &SecretString,
    place: Place,
) -> Result<(), Failure> {
    match place {
        Place::File => {
            // The new one is stored first, so that a refused secret leaves the old one as it is.
            let replaces_keyring = is_in_keyring(home, profile)?;
            credentials::set(home, profile, kind, secret)?;
            if replaces_keyring {
                holon_daemon::keyring::clear(home, profile).await?;
            }
        }
        Place::Keyring => {
            credentials::check_material(secret).map_err(Failure::usage)?;
            holon_daemon::keyring::store(home, profile, secret).await?;
            credentials::set_in_keyring(home, profile, kind)?;
        }
    }
    Ok(())
}

fn list_lines(stored: &[StoredCredential]) -> String {
    if stored.is_empty() {
        return hint("nothing is stored; store a key with: holon config credentials set PROVIDER");
    }
    let width = stored
        .iter()
        .map(|one| one.profile.len())
        .max()
        .unwrap_or(0);
    let lines: Vec<String> = stored
        .iter()
        .map(|one| {
            format!(
                "{:width$}  {}{}",
                one.profile,
                one.kind,
                place_remark(one.place)
            )
        })
        .collect();
    lines.join("\n")
}
