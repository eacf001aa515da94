//! The step that renews the credential of a provider, from the place where the credential is read.
//!
//! Holds no secret: of a variable only its name is shown, and of a command nothing.

use crate::provider::ProviderEntry;
use holon_domain::provider::{AuthSource, CredentialRenewal};

/// Returns the step that renews a provider's credential, or gives it one.
#[must_use]
pub fn renewal(entry: &ProviderEntry) -> CredentialRenewal {
    let id = &entry.spec.id;
    let step = match entry.auth.source {
        AuthSource::None => format!(
            "store a credential: holon config credentials set {id}, then: holon config providers set {id} \
             --credential-profile {id}"
        ),
        AuthSource::Env => {
            let names: Vec<&str> = entry.auth.env.iter().map(|one| one.name.as_str()).collect();
            format!(
                "renew {} (a host that runs is to be restarted with it), or unset it and store the credential: holon \
                 config credentials set {id}",
                names.join(" or ")
            )
        }
        AuthSource::CredentialProfile => {
            let profile = entry.auth.profile.as_deref().unwrap_or(id);
            format!("renew the credential: holon config credentials set {profile}")
        }
        AuthSource::ExternalCli => "log in again: codex login".to_owned(),
        AuthSource::CredentialProcess => format!(
            "renew what its command prints, and try it: holon config providers doctor {id} --probe"
        ),
    };
    CredentialRenewal {
        step,
        is_noticed: is_noticed(entry.auth.source),
    }
}

/// Returns true if the host finds a new credential by itself: in a file that it watches, in the keyring after a change
/// of the credential file, by a reload of its settings, or at its start with another environment. It does not run the
/// operator's command to look for one.
const fn is_noticed(source: AuthSource) -> bool {
    match source {
        AuthSource::None
        | AuthSource::Env
        | AuthSource::CredentialProfile
        | AuthSource::ExternalCli => true,
        AuthSource::CredentialProcess => false,
    }
}
