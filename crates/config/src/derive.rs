//! The model that is asked if none is chosen: the first of the first provider that has a credential.

use crate::credential::{Found, credential};
use crate::env::Env;
use crate::provider::ProviderEntry;
use crate::settings::Settings;
use crate::source::{Source, Sourced};
use holon_domain::time::Timestamp;

impl Settings {
    /// These settings with a model, if none is set and some provider has a credential.
    ///
    /// Looks at the environment, the Codex login and the stored profiles. A provider without a credential never counts,
    /// also when it asks for none: nobody wants to be sent to a server that happens to be built in. Neither does one
    /// whose credential a command prints, since running it may ask the user something.
    #[must_use]
    pub fn with_derived_model(mut self, env: &Env, now: Timestamp) -> Self {
        if self.model.is_some() {
            return self;
        }
        let home = &self.home.value;
        let ready = |entry: &&ProviderEntry| {
            matches!(credential(entry, env, home, now), Ok(Found::Secret { .. }))
        };
        let mut ready = self.providers.by_preference().filter(ready);
        let model = ready.find_map(|entry| self.catalog.default_of(&entry.spec.id));
        drop(ready);
        self.model = model.map(|value| Sourced {
            value,
            source: Source::Credentials,
        });
        self
    }
}
