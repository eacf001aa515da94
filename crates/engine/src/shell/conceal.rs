//! Conceals tokens of capability URLs in what is about to be stored, and expands their placeholders in requests and
//! commands. Rows are read only if a text may hold one.

use super::Shell;
use crate::concealment::Texts;
use holon_domain::AgentId;
use holon_domain::intent::{ExecCommand, TaskInput};
use holon_domain::model::ModelRequest;
use holon_domain::trigger::{TriggerRecord, may_hold_placeholder};

impl Shell {
    /// Replaces each token of this host by a placeholder, before the value is stored.
    pub(crate) async fn conceal(&self, agent_id: &AgentId, value: &mut impl Texts) {
        if value.holds_token() || value.holds_part() {
            let triggers = self.triggers_of(agent_id).await;
            value.conceal(&self.conduct.capability_key, &triggers);
            value.conceal_parts(&self.conduct.capability_key, &triggers);
        }
    }

    /// Returns the request with tokens in place of their placeholders. `None` if it holds no placeholder.
    pub(super) async fn expand_request(
        &self,
        agent_id: &AgentId,
        request: &ModelRequest,
    ) -> Option<ModelRequest> {
        if !is_marked(request) {
            return None;
        }
        let mut expanded = request.clone();
        let triggers = self.triggers_of(agent_id).await;
        expanded.expand(&self.conduct.capability_key, &triggers);
        Some(expanded)
    }

    /// Returns the command as it is run.
    pub(super) async fn expand_command(
        &self,
        agent_id: &AgentId,
        command: &ExecCommand,
    ) -> ExecCommand {
        let mut expanded = command.clone();
        if expanded.holds_placeholder() {
            let triggers = self.triggers_of(agent_id).await;
            expanded.expand(&self.conduct.capability_key, &triggers);
        }
        expanded
    }

    /// Returns the input of a task as it is written.
    pub(super) async fn expand_input(&self, agent_id: &AgentId, input: &TaskInput) -> TaskInput {
        let mut expanded = input.clone();
        if may_hold_placeholder(&input.input) {
            let triggers = self.triggers_of(agent_id).await;
            let key = &self.conduct.capability_key;
            expanded.input = key.expand(&input.input, &triggers).into_owned();
        }
        expanded
    }

    /// Reads an agent's triggers. If they cannot be read, none is known: a token is then concealed for good, and a
    /// placeholder stays.
    async fn triggers_of(&self, agent_id: &AgentId) -> Vec<TriggerRecord> {
        let read = self.store.triggers(agent_id);
        read.await.unwrap_or_else(|error| {
            tracing::warn!(%agent_id, %error, "the triggers of an agent could not be read");
            Vec::new()
        })
    }
}

/// Returns true if a text of the request holds a placeholder. Copies nothing.
fn is_marked(request: &ModelRequest) -> bool {
    use holon_domain::block::Block;
    use holon_domain::model::ConversationItem;
    let frame = &request.frame;
    let mut blocks = frame.system_blocks.iter().chain(&frame.context_blocks);
    let marked_block = |block: &Block| match block {
        Block::Text { text } | Block::Reasoning { text, .. } => may_hold_placeholder(text),
        Block::ToolCall(call) => holds(&call.input),
    };
    let marked = |item: &ConversationItem| match item {
        ConversationItem::Assistant { blocks, .. } => blocks.iter().any(marked_block),
        ConversationItem::ToolResult { content, .. } => may_hold_placeholder(content),
        ConversationItem::User { text } => may_hold_placeholder(text),
        ConversationItem::Image(_) => false,
    };
    let mut earlier = request.thread.iter().flat_map(|turn| &turn.items);
    blocks.any(|block| may_hold_placeholder(&block.text))
        || earlier.any(marked)
        || request.conversation.iter().any(marked)
}

fn holds(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => may_hold_placeholder(text),
        Value::Array(values) => values.iter().any(holds),
        Value::Object(fields) => fields.values().any(holds),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
