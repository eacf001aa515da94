//! From a model reference to the provider that can serve it.
//!
//! Knows the providers of this build by id and nothing about how any of them works.

use crate::error::Error;
use crate::scripted::Scripted;
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Id of the provider that plays scripts.
const SCRIPTED: &str = "scripted";

/// All providers of this build.
#[derive(Debug)]
pub struct Router {
    scripted: Scripted,
}

impl Router {
    /// A router whose scripted provider looks up relative script paths under `script_base`.
    #[must_use]
    pub fn new(script_base: PathBuf) -> Self {
        Self {
            scripted: Scripted::new(script_base),
        }
    }

    /// One attempt at one round; returns at once when `cancel` fires.
    ///
    /// # Errors
    /// The provider's failure, classified.
    pub async fn call(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let scripted = self.transport(&request.model)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled.into()),
            answer = scripted.play(request) => answer,
        }
    }

    /// Whether a call to this model could work at all: a known provider and a script that can be played.
    ///
    /// # Errors
    /// What a call would fail with.
    pub fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.transport(model)?.check(model.model())?;
        Ok(())
    }

    /// The ids of the providers this build can speak to.
    #[must_use]
    pub fn providers(&self) -> Vec<&str> {
        vec![SCRIPTED]
    }

    fn transport(&self, model: &ModelRef) -> Result<&Scripted, Error> {
        let known = || self.providers().join(", ");
        if model.is_none() {
            return Err(Error::NoModel { known: known() });
        }
        match model.provider() {
            SCRIPTED => Ok(&self.scripted),
            other => Err(Error::UnknownProvider {
                provider: other.to_owned(),
                known: known(),
            }),
        }
    }
}
