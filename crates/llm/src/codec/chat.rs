//! Chat Completions: not written yet.

use super::{Decoded, Fault};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use serde_json::Value;

/// The request as this protocol says it.
pub(crate) fn encode(_provider: &ProviderSpec, _request: &ModelRequest) -> Value {
    Value::Null
}

/// What an answer says.
pub(crate) fn decode(_body: &[u8]) -> Result<Decoded, Fault> {
    Err(Fault::Malformed {
        what: "this protocol is not spoken yet".to_owned(),
    })
}
