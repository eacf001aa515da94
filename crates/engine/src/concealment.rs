//! Texts in which a token of a capability URL may occur. A token is concealed before anything is stored, and its
//! placeholder is expanded only in a request to a model and in a command that is run.

use crate::request::Wake;
use holon_core::Ingress;
use holon_core::input::WorkCommand;
use holon_domain::block::Block;
use holon_domain::consequence::Consequence;
use holon_domain::intent::{BlockerChange, ExecCommand, NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::message::{Body, Origin};
use holon_domain::model::{ConversationItem, ModelReply, ModelRequest, ReplyBlock};
use holon_domain::task::{NewCommandTask, TaskReport};
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::trigger::{
    CallbackDelivery, CapabilityKey, TriggerRecord, may_hold_part, may_hold_placeholder,
    may_hold_token, opaque_text, set_opaque_text,
};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A value with texts that a model, a sender or a command wrote.
pub(crate) trait Texts {
    /// Calls `change` with each text.
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String));

    /// Returns true if a text may hold a token.
    fn holds_token(&mut self) -> bool {
        self.any(may_hold_token)
    }

    /// Returns true if a text may hold a part of a token.
    fn holds_part(&mut self) -> bool {
        self.any(may_hold_part)
    }

    /// Returns true if a text may hold a placeholder.
    fn holds_placeholder(&mut self) -> bool {
        self.any(may_hold_placeholder)
    }

    fn any(&mut self, test: fn(&str) -> bool) -> bool {
        let mut found = false;
        self.each_text(&mut |text| found |= test(text));
        found
    }

    /// Replaces each token of this host by its placeholder.
    fn conceal(&mut self, key: &CapabilityKey, triggers: &[TriggerRecord]) {
        self.each_text(&mut |text| {
            if let Cow::Owned(concealed) = key.conceal(text, triggers) {
                *text = concealed;
            }
        });
    }

    /// Replaces what a cut left of the tokens of these triggers.
    fn conceal_parts(&mut self, key: &CapabilityKey, triggers: &[TriggerRecord]) {
        self.each_text(&mut |text| {
            if let Cow::Owned(concealed) = key.conceal_parts(text, triggers) {
                *text = concealed;
            }
        });
    }

    /// Replaces what pages of a longer text show of the tokens of these triggers.
    fn conceal_pages(&mut self, key: &CapabilityKey, triggers: &[TriggerRecord]) {
        self.each_text(&mut |text| {
            if let Cow::Owned(concealed) = key.conceal_page(text, triggers) {
                *text = concealed;
            }
        });
    }

    /// Replaces the placeholders of the agent's own capabilities by their tokens.
    fn expand(&mut self, key: &CapabilityKey, triggers: &[TriggerRecord]) {
        self.each_text(&mut |text| {
            if let Cow::Owned(expanded) = key.expand(text, triggers) {
                *text = expanded;
            }
        });
    }
}

impl Texts for Value {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::String(text) => change(text),
            Self::Array(values) => values.iter_mut().for_each(|value| value.each_text(change)),
            Self::Object(fields) => {
                for (mut name, mut value) in std::mem::take(fields) {
                    if may_hold_token(&name) {
                        change(&mut name);
                    }
                    value.each_text(change);
                    fields.insert(name, value);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}

impl Texts for Body {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Text { text } => change(text),
            Self::Json { value } => {
                value.each_text(change);
                // A token in an opaque payload is hidden by its encoding, and whoever decodes it would find it.
                if let Some(bytes) = opaque_text(value) {
                    let mut changed = bytes.clone();
                    change(&mut changed);
                    if changed != bytes {
                        set_opaque_text(value, &changed);
                    }
                }
            }
            Self::Brief { title, text, .. } => {
                title.iter_mut().for_each(&mut *change);
                change(text);
            }
        }
    }
}

impl Texts for Ingress {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.body.each_text(change);
        self.origin.each_text(change);
        if let Some(metadata) = &mut self.metadata {
            metadata.each_text(change);
        }
        let links = [&mut self.correlation_id, &mut self.causation_id];
        links.into_iter().flatten().for_each(change);
    }
}

impl Texts for Origin {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Operator { actor_id } => actor_id.iter_mut().for_each(change),
            Self::Channel {
                channel_id,
                sender_id,
            } => {
                change(channel_id);
                sender_id.iter_mut().for_each(change);
            }
            Self::Webhook { source, event_type } => {
                change(source);
                event_type.iter_mut().for_each(change);
            }
            Self::Callback { source, .. } => source.iter_mut().for_each(change),
            // The runtime writes these.
            Self::Timer { .. } | Self::System { .. } | Self::Task { .. } => {}
        }
    }
}

impl Texts for Wake {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.reason);
        let names = [
            &mut self.source,
            &mut self.correlation_id,
            &mut self.causation_id,
        ];
        names.into_iter().flatten().for_each(change);
    }
}

impl Texts for WorkCommand {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Create(new) => new.each_text(change),
            Self::Update { change: item, .. } => item.each_text(change),
            // A schedule that holds anything but slots is refused, so only the summary is free text.
            Self::CreateTimer(NewTimer { summary, .. })
            | Self::CreateTimerAfter { summary, .. } => {
                summary.iter_mut().for_each(change);
            }
            Self::Complete { .. }
            | Self::Resume { .. }
            | Self::CancelWait { .. }
            | Self::CancelTimer { .. } => {}
        }
    }
}

impl Texts for NewWorkItem {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.objective);
        let todos = self.todo_list.iter_mut();
        todos.for_each(|todo| change(&mut todo.text));
    }
}

impl Texts for WorkItemChange {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.objective.iter_mut().for_each(&mut *change);
        let todos = self.todo_list.iter_mut().flatten();
        todos.for_each(|todo| change(&mut todo.text));
        match &mut self.blocker {
            Some(BlockerChange::Set { text, .. }) => change(text),
            Some(BlockerChange::Clear) | None => {}
        }
    }
}

impl Texts for CallbackDelivery {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.content.body.each_text(change);
        let names = [
            &mut self.source,
            &mut self.delivery_id,
            &mut self.correlation_id,
            &mut self.causation_id,
            &mut self.content.content_type,
        ];
        names.into_iter().flatten().for_each(change);
    }
}

impl Texts for ModelReply {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        for block in &mut self.blocks {
            match block {
                ReplyBlock::Text { text } | ReplyBlock::Reasoning { text, .. } => change(text),
                ReplyBlock::Call(call) => call.input.each_text(change),
            }
        }
    }
}

impl Texts for ModelRequest {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        let frame = &mut self.frame;
        change(&mut frame.system_prompt);
        let blocks = frame.system_blocks.iter_mut();
        for block in blocks.chain(&mut frame.context_blocks) {
            change(&mut block.text);
        }
        let earlier = self.thread.iter_mut();
        let earlier = earlier.flat_map(|turn| &mut Arc::make_mut(turn).items);
        for item in earlier.chain(&mut self.conversation) {
            match item {
                ConversationItem::Assistant { blocks, .. } => {
                    blocks.iter_mut().for_each(|block| block.each_text(change));
                }
                ConversationItem::ToolResult { content, .. } => change(content),
                ConversationItem::User { text } => change(text),
                ConversationItem::Image(_) => {}
            }
        }
    }
}

impl Texts for Block {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Text { text } | Self::Reasoning { text, .. } => change(text),
            Self::ToolCall(call) => call.input.each_text(change),
        }
    }
}

impl Texts for ToolEnvelope {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.summary_text);
        match &mut self.outcome {
            ToolOutcome::Success { result } => result.each_text(change),
            ToolOutcome::Error { error } => {
                change(&mut error.message);
                if let Some(details) = &mut error.details {
                    details.each_text(change);
                }
            }
        }
    }
}

impl Texts for Consequence {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Result(result)
            | Self::SkillUsed { result, .. }
            | Self::Task { result, .. }
            | Self::Workspace { result, .. } => result.each_text(change),
            // The plan is a file that the agent wrote; its preview repeats the call, which is concealed.
            Self::PlanWritten(_) | Self::ChildPrepared { .. } => {}
            Self::FilesSeen { fault } => fault.iter_mut().for_each(change),
        }
    }
}

impl Texts for TaskReport {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        let (stdout, stderr) = match self {
            Self::Ended(output) => (&mut output.stdout, &mut output.stderr),
            Self::Lost { stdout, stderr, .. } => (stdout, stderr),
            // The runtime writes the reason, and the command in it is concealed.
            Self::NotStarted { .. } => return,
        };
        for stream in [stdout, stderr] {
            change(&mut stream.head);
            change(&mut stream.tail);
        }
    }
}

impl Texts for NewCommandTask {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.command.each_text(change);
        self.summary.iter_mut().for_each(change);
    }
}

impl Texts for ExecCommand {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.cmd);
        self.workdir.iter_mut().for_each(&mut *change);
        self.shell.iter_mut().for_each(change);
    }
}
