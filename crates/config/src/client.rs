//! The settings of a client of a running host: the home and the agent. A client asks no provider and binds no address,
//! so nothing else of the environment or the file can keep it from its host.

use crate::env::Env;
use crate::error::Error;
use crate::file::FileSettings;
use crate::layer::Layers;
use crate::resolve::{Flags, resolve_agent, resolve_home};
use crate::source::Sourced;
use holon_domain::AgentId;
use std::path::PathBuf;

/// Home of the host, and the agent that is meant when none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    pub home: Sourced<PathBuf>,
    pub default_agent: Sourced<AgentId>,
}

impl ClientSettings {
    /// Resolves both with the same precedence as [`resolve`](crate::resolve()).
    ///
    /// # Errors
    /// When one of the two cannot be used; the error names where it stands.
    pub fn resolve(env: &Env, flags: &Flags, file: Option<&FileSettings>) -> Result<Self, Error> {
        Ok(Self {
            home: resolve_home(env, flags)?,
            default_agent: resolve_agent(Layers { env, file }, flags)?,
        })
    }
}
