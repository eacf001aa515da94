//! Responses as the Codex backend streams them: not written yet.

use super::{Decoded, Fault};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use serde_json::Value;

/// The request as this protocol says it.
pub(crate) fn encode(_provider: &ProviderSpec, _request: &ModelRequest) -> Value {
    Value::Null
}

/// Whether the stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It does.
    More,
    /// It said it is done.
    Done,
}

/// Puts an answer together from its events.
#[derive(Debug, Default)]
pub(crate) struct Assembler {}

impl Assembler {
    /// Takes one event.
    pub(crate) fn event(&mut self, _name: Option<&str>, _data: &str) -> Result<Progress, Fault> {
        Ok(Progress::More)
    }

    /// The answer, once the stream is over.
    pub(crate) fn finish(self) -> Result<Decoded, Fault> {
        Err(Fault::CutOff)
    }
}
