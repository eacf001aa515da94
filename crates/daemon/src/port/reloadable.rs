//! The adapters that follow the settings while a host runs. They are replaced together.
//!
//! Invariant: the variable that holds a provider's credential is hidden from commands before that provider can be
//! called, and stays hidden as long as the process lives, because it stays in the environment when the provider is
//! removed.

use super::command::Commands;
use super::model::{Models, ProviderBinding};
use super::web::Web;
use crate::error::Error;
use holon_config::Settings;
use holon_process::Image;
use holon_workspace::ClaimFolders;
use std::sync::Arc;

/// The adapters that are replaced when the settings change.
#[derive(Debug, Clone)]
pub(crate) struct ReloadableAdapters {
    pub(crate) models: Arc<Models>,
    /// Command port that hides the variables with keys.
    pub(crate) commands: Arc<Commands>,
    pub(crate) web: Arc<Web>,
}

impl ReloadableAdapters {
    /// Binds the adapters by the settings.
    ///
    /// # Errors
    /// Fails if a provider cannot be set up, or this program's file cannot be opened for the shims.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let removals = settings.child_env_removals();
        // Opened at the start: an upgrade that replaces the file does not change what runs commands.
        let image = Image::open().map_err(|source| Error::System {
            what: "open this program's own file",
            source,
        })?;
        let (shell, claims) = (
            settings.shell.as_deref(),
            ClaimFolders::of_host(&settings.home.value),
        );
        Ok(Self {
            models: Arc::new(Models::new(settings)?),
            commands: Arc::new(Commands::new(image, shell, removals, claims)),
            web: Arc::new(Web::new(settings)),
        })
    }

    /// Replaces the settings and the providers bound to them.
    pub(crate) fn swap(&self, settings: &Settings, bound: ProviderBinding) {
        self.commands
            .hide_from_commands(settings.child_env_removals());
        self.models.swap(bound);
        self.web.swap(settings);
    }
}
