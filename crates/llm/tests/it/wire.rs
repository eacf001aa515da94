//! A router to one provider over HTTP, for tests that talk to a real server on loopback.

use crate::support::{Key, request};
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ProviderSpec, Transport};
use holon_domain::tool::OfferedTool;
use holon_llm::{HttpLimits, Router};
use holon_testkit::provider::Protocol;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The key that every test router sends.
pub(crate) const KEY: &str = "sk-canary-8d1f0c";

/// A provider as the settings would describe it.
pub(crate) fn spec(protocol: Protocol, base_url: &str) -> ProviderSpec {
    ProviderSpec {
        id: "acme".to_owned(),
        transport: Transport::parse(protocol.transport()).unwrap(),
        base_url: base_url.to_owned(),
        store_responses: false,
        context_management: None,
        reasoning_effort: None,
        omit: std::collections::BTreeSet::new(),
    }
}

pub(crate) fn router(spec: ProviderSpec, limits: HttpLimits) -> Router {
    router_with(spec, limits, Key::of(KEY))
}

/// Builds a router to this provider with this credential.
pub(crate) fn router_with(spec: ProviderSpec, limits: HttpLimits, key: Key) -> Router {
    Router::new("scripts".into(), vec![spec], Arc::new(key), limits).unwrap()
}

/// Limits that no sound answer reaches, even on a slow machine.
pub(crate) fn patient() -> HttpLimits {
    HttpLimits {
        answer_bytes: 1 << 20,
        ..HttpLimits::default()
    }
}

/// Limits that a silent server reaches soon.
pub(crate) fn impatient() -> HttpLimits {
    HttpLimits {
        first_byte: Duration::from_millis(300),
        ..patient()
    }
}

pub(crate) fn asking() -> ModelRequest {
    let parameters = serde_json::json!({
        "type": "object", "properties": {}, "required": [], "additionalProperties": false,
    });
    let tool = OfferedTool {
        name: "ExecCommand".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters,
        strict: true,
        freeform: None,
    };
    ModelRequest {
        model: ModelRef::parse("acme/fake-model").unwrap(),
        tools: vec![tool].into(),
        ..request(0, 1)
    }
}

/// Runs one attempt without cancelling it.
pub(crate) async fn ask(router: &Router) -> Result<ModelReply, ModelFailure> {
    router
        .call(&asking(), &|_| {}, &CancellationToken::new())
        .await
}
