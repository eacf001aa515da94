//! Models without a provider: one that the test answers for, and one with a fixed behaviour.

use super::pending::CallQueue;
use async_trait::async_trait;
use holon_domain::attempt::TokenUsage;
use holon_domain::delta::TextSink;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::provider::{ModelPolicy, PolicySource, ReasoningPolicy};
use holon_domain::token_ratio::TokenRatio;
use holon_engine::ports::ModelClient;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The policy of an unknown model, with a context window that a long test can fill.
pub const SMALL_POLICY: ModelPolicy = ModelPolicy {
    context_window_tokens: 32_000,
    effective_context_window_percent: 90,
    max_output_tokens: 4_096,
    source: PolicySource::UnknownFallback,
    output_source: PolicySource::UnknownFallback,
    freeform_tools: false,
    image_input: false,
    reasoning: ReasoningPolicy::NONE,
    token_ratio: TokenRatio::ONE,
};

/// A policy with a context window that no test or measurement fills.
pub const WIDE_POLICY: ModelPolicy = ModelPolicy {
    context_window_tokens: 1_000_000,
    effective_context_window_percent: 90,
    max_output_tokens: 8_192,
    source: PolicySource::ConfigOverride,
    output_source: PolicySource::ConfigOverride,
    freeform_tools: false,
    image_input: false,
    reasoning: ReasoningPolicy::NONE,
    token_ratio: TokenRatio::ONE,
};

/// A model whose every request waits for the test to answer it.
pub type ScriptedModel = CallQueue<ModelRequest, Result<ModelReply, ModelFailure>>;

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn call(
        &self,
        request: &ModelRequest,
        _text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let answer = self.ask(request.clone(), &cancel).await;
        answer.unwrap_or_else(|| Err(failure(ModelFailureKind::Connection)))
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        SMALL_POLICY
    }
}

/// A model that behaves the same in every turn and never fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedModel {
    /// Never answers: the turn stays open and the queue grows.
    Held,
    /// Answers with text at once.
    Text,
    /// Calls one command in the first round, then answers with text.
    OneTool,
}

#[async_trait]
impl ModelClient for FixedModel {
    async fn call(
        &self,
        request: &ModelRequest,
        _text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        match (self, request.round) {
            (Self::Held, _) => {
                cancel.cancelled().await;
                Err(failure(ModelFailureKind::Connection))
            }
            (Self::OneTool, 1) => calls(&[("ExecCommand", json!({ "cmd": "true" }))]),
            (Self::Text | Self::OneTool, _) => says("done"),
        }
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        WIDE_POLICY
    }
}

/// A reply with text only, which ends the turn.
pub fn says(text: &str) -> Result<ModelReply, ModelFailure> {
    let text = ReplyBlock::Text {
        text: text.to_owned(),
    };
    reply(vec![text], StopReason::EndTurn)
}

/// A reply that calls these tools, each with its input.
pub fn calls(of: &[(&str, Value)]) -> Result<ModelReply, ModelFailure> {
    let call = |(name, input): &(&str, Value)| {
        ReplyBlock::Call(RequestedCall {
            provider_id: None,
            name: (*name).to_owned(),
            input: input.clone(),
        })
    };
    reply(of.iter().map(call).collect(), StopReason::ToolUse)
}

/// A reply with text that calls these tools, each with its input.
pub fn says_and_calls(text: &str, of: &[(&str, Value)]) -> Result<ModelReply, ModelFailure> {
    let said = ReplyBlock::Text {
        text: text.to_owned(),
    };
    let mut reply = calls(of)?;
    reply.blocks.insert(0, said);
    Ok(reply)
}

/// A reply with these blocks and a small usage.
pub fn reply(blocks: Vec<ReplyBlock>, stop_reason: StopReason) -> Result<ModelReply, ModelFailure> {
    Ok(ModelReply {
        blocks,
        stop_reason,
        usage: TokenUsage::new(10, 2),
        context_management: None,
    })
}

/// A failed attempt of this kind.
#[must_use]
pub fn failure(kind: ModelFailureKind) -> ModelFailure {
    ModelFailure::new(kind, "no answer")
}
