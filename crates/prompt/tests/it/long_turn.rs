//! A turn under way with its log, from which conversations are built.

use crate::fixture::{Scene, at};
use holon_domain::CallId;
use holon_domain::attempt::TokenUsage;
use holon_domain::block::{Block, ToolCall, calls_of};
use holon_domain::intent::TaskOutput;
use holon_domain::limits::FAILURE_SUMMARY_BYTES;
use holon_domain::log::{InterjectionBoundary, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, PromptBlock, StopReason};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::task::TaskRecord;
use holon_domain::text;
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::{StaleReminder, WorkItemRecord};
use holon_domain::workspace::WorkspaceEntry;
use holon_prompt::PlanFile;
use holon_prompt::conversation::{BuiltConversation, ConversationInput, ReminderTerms, build};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const NO_REMINDERS: ReminderTerms = ReminderTerms {
    rounds: 0,
    cooldown_rounds: 0,
    max_tokens: 0,
};

/// A turn under way, with its log.
pub(crate) struct Turn {
    scene: Scene,
    turn: OpenTurn,
    pub(crate) entries: Vec<Arc<LogEntry>>,
    pub(crate) messages: HashMap<u64, MessageEnvelope>,
    pub(crate) queued: Vec<QueueEntry>,
    /// Current work item in its present state.
    pub(crate) item: Option<WorkItemRecord>,
    pub(crate) plan: PlanFile,
    /// Context blocks of the frame.
    pub(crate) context: Vec<PromptBlock>,
    pub(crate) reminders: ReminderTerms,
    pub(crate) rounds: u32,
    /// True if the last request was refused.
    pub(crate) is_refused: bool,
}

impl Turn {
    pub(crate) fn new() -> Self {
        Self::opened_by(1)
    }

    /// Begins with the message at this position of the queue.
    pub(crate) fn opened_by(message_seq: u64) -> Self {
        let turn = json!({
            "run_id": "run_1", "turn_index": 1, "message_seq": 1, "message_id": "msg_1",
            "message_kind": "operator_prompt", "authority": "operator_instruction", "started_at": at(0),
            "workspace": WorkspaceEntry::agent_home("/home"), "first_entry": 1, "rounds": 0,
            "max_rounds": 10_000, "usage": TokenUsage::new(0, 0), "phase": "calling_model", "effect": 1,
        });
        Self {
            scene: Scene::new(),
            turn: serde_json::from_value(turn).unwrap(),
            entries: vec![Arc::new(LogEntry::IncomingMessage { message_seq })],
            messages: HashMap::new(),
            queued: Vec::new(),
            item: None,
            plan: PlanFile::Known,
            context: Vec::new(),
            reminders: NO_REMINDERS,
            rounds: 0,
            is_refused: false,
        }
    }

    pub(crate) fn built(&self, room_tokens: usize) -> BuiltConversation {
        build(&ConversationInput {
            agent: &self.scene.agent,
            turn: &self.turn,
            item: self.item.as_ref(),
            plan: &self.plan,
            context: &self.context,
            entries: &self.entries,
            messages: &self.messages,
            queued: &self.queued,
            waits: &[],
            receipt: holon_tools::receipt,
            short_receipt: holon_tools::short_receipt,
            entered_guidance: holon_tools::use_workspace::entered_guidance,
            reminders: self.reminders,
            room_tokens,
            is_refused: self.is_refused,
            is_unsealed: false,
        })
    }

    /// Commits what a request was the first to hold, as its answer does.
    pub(crate) fn commit(&mut self, built: &BuiltConversation) {
        let recap = built
            .compaction
            .as_ref()
            .and_then(|made| made.recap.clone());
        self.entries
            .extend(recap.map(LogEntry::Recap).map(Arc::new));
        let shortened = built.compaction.iter().map(|made| made.shortened.clone());
        let shortened = shortened.filter(|short| !short.is_empty());
        self.entries
            .extend(shortened.map(LogEntry::Shortened).map(Arc::new));
        let reminder = built.reminder_text.clone();
        let reminder = reminder.map(|text| LogEntry::ContinuationPrompt {
            text,
            reason: StaleReminder::LOG_REASON.to_owned(),
        });
        self.entries.extend(reminder.map(Arc::new));
        for entry in std::mem::take(&mut self.queued) {
            self.join(entry.envelope);
        }
    }

    /// Adds a round that makes one call with this result.
    pub(crate) fn round(&mut self, words: &str, envelope: ToolEnvelope) {
        self.round_of(words, vec![envelope]);
    }

    /// Adds a round with a call for each result.
    pub(crate) fn round_of(&mut self, words: &str, results: Vec<ToolEnvelope>) {
        self.rounds += 1;
        let round = self.rounds;
        let id = |place: usize| CallId::from_stored(format!("call_{round}_{place}"));
        let calls = results.iter().enumerate().map(|(place, envelope)| {
            Block::ToolCall(ToolCall {
                id: id(place),
                name: envelope.tool_name.clone(),
                input: json!({"cmd": format!("step {round}")}),
                provider_id: None,
            })
        });
        let said = Block::Text {
            text: words.to_owned(),
        };
        self.entries.push(Arc::new(LogEntry::AssistantRound {
            round,
            blocks: Arc::new(std::iter::once(said).chain(calls).collect()),
            intents: Arc::default(),
            stop_reason: StopReason::ToolUse,
            usage: TokenUsage::new(1, 1),
            tries: serde_json::from_value(json!({
                "model_ref": "a/b", "started_at": at(0), "duration_ms": 1,
            }))
            .unwrap(),
        }));
        for (place, envelope) in results.into_iter().enumerate() {
            self.entries.push(Arc::new(LogEntry::ToolResult {
                round,
                call_id: id(place),
                envelope,
                duration_ms: 1,
            }));
        }
    }

    pub(crate) fn join(&mut self, message: MessageEnvelope) {
        let seq = u64::try_from(self.entries.len()).unwrap() + 1_000;
        self.messages.insert(seq, message);
        self.entries.push(Arc::new(LogEntry::Interjection {
            message_seq: seq,
            boundary: InterjectionBoundary::AfterToolResults,
            waits: None,
        }));
    }

    /// Returns the recaps of the log.
    pub(crate) fn recaps(&self) -> Vec<&str> {
        let texts = self
            .entries
            .iter()
            .filter_map(|entry| match entry.as_ref() {
                LogEntry::Recap(recap) => Some(recap.text.as_str()),
                _ => None,
            });
        texts.collect()
    }
}

pub(crate) fn queued(seq: u64, envelope: MessageEnvelope) -> QueueEntry {
    QueueEntry {
        seq,
        status: QueueStatus::Queued,
        max_rounds: None,
        envelope,
    }
}

/// The result of a command that printed these streams.
pub(crate) fn command(stdout: &str, stderr: &str) -> ToolEnvelope {
    let result = json!({
        "disposition": "completed", "exit_status": 0, "duration_ms": 3, "stdout_preview": stdout,
        "stderr_preview": stderr, "truncated": false, "artifacts": [], "command_diagnostics": {},
    });
    ToolEnvelope::success("ExecCommand", "exit 0", result)
}

/// The result of a look at a child that reported these words.
pub(crate) fn child_report(words: &str) -> ToolEnvelope {
    let task = json!({
        "id": "task_9", "agent_id": "main", "kind": "child_agent_task", "status": "completed",
        "created_at": at(0), "updated_at": at(9),
        "recovery": {
            "kind": "child_agent_task", "summary": "count", "prompt": "count", "trust": "trusted_operator",
            "workspace_mode": "inherit", "child": {"child_agent_id": "child-7", "delegation_id": "delegation_1"},
        },
        "end": {
            "ended_at": at(9), "result_summary": text::preview(words, FAILURE_SUMMARY_BYTES),
            "output_summary": words, "output_bytes": words.len(), "output_cut": false,
        },
    });
    let task: TaskRecord = serde_json::from_value(task).unwrap();
    let query = TaskOutput {
        task_id: task.id.clone(),
        wait_ms: None,
        after_byte: None,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    };
    holon_tools::task_output::envelope(&task, &query, Err("it is no command"), at(10))
}

/// The result of a command that printed about so many bytes.
pub(crate) fn output(bytes: usize) -> ToolEnvelope {
    command(&"abc ".repeat(bytes / 4), "")
}

pub(crate) fn tokens(items: &[ConversationItem]) -> usize {
    items.iter().map(ConversationItem::estimated_tokens).sum()
}

pub(crate) fn texts(items: &[ConversationItem]) -> String {
    let text = |item: &ConversationItem| match item {
        ConversationItem::User { text } => text.clone(),
        ConversationItem::ToolResult { content, .. } => content.clone(),
        ConversationItem::Assistant { blocks, .. } => format!("{blocks:?}"),
        ConversationItem::Image(attached) => attached.image.label(),
    };
    items.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Checks that every call is followed by its result, and every result preceded by its call.
pub(crate) fn assert_paired(items: &[ConversationItem]) {
    let mut open: Vec<CallId> = Vec::new();
    for item in items {
        match item {
            ConversationItem::Assistant { blocks, .. } => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                open = calls_of(blocks).map(|call| call.id.clone()).collect();
            }
            ConversationItem::ToolResult { call_id, .. } => {
                let place = open.iter().position(|id| id == call_id);
                open.remove(place.expect("a result of an open call"));
            }
            ConversationItem::User { .. } | ConversationItem::Image(_) => {
                assert!(open.is_empty(), "{open:?}")
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
