//! The adapters that follow the settings while a host runs, taken over together.
//!
//! Invariant: what a provider's credential is called is kept from commands before that provider can be asked, and
//! for as long as the process lives: the variable stays in its environment when the provider is gone.

use super::command::Commands;
use super::model::{Bound, Models};
use crate::error::Error;
use holon_config::Settings;
use holon_process::Image;
use holon_workspace::Claims;
use std::sync::Arc;

/// The adapters that follow the settings.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// Every provider of the settings.
    pub(crate) models: Arc<Models>,
    /// Commands without the variables that hold keys.
    pub(crate) commands: Arc<Commands>,
}

impl Live {
    /// Binds what the settings say.
    ///
    /// # Errors
    /// When a provider cannot be spoken to at all, or our own program cannot be opened to make shims of.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let removals = settings.child_env_removals();
        // Held from the start: an upgrade that replaces the file does not change what runs commands.
        let image = Image::open().map_err(|source| Error::System {
            what: "open this program's own file",
            source,
        })?;
        let (shell, claims) = (
            settings.shell.as_deref(),
            Claims::of_host(&settings.home.value),
        );
        Ok(Self {
            models: Arc::new(Models::new(settings)?),
            commands: Arc::new(Commands::new(image, shell, removals, claims)),
        })
    }

    /// Puts other settings, and what they were bound to, in the place of these.
    pub(crate) fn swap(&self, settings: &Settings, bound: Bound) {
        self.commands
            .hide_from_commands(settings.child_env_removals());
        self.models.swap(bound);
    }
}
