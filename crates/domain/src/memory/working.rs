//! Working memory: what an agent would need to know to go on after a pause, derived from typed records.
//!
//! One row per agent, replaced when a turn ends and never changed while one runs. The runtime derives it without a model:
//! the same records give the same memory. A change raises the revision and leaves a short delta for the next prompt.

use super::episode::{EpisodeBuilder, EpisodeBuilderView};
use crate::id::{EpisodeId, WorkItemId};
use crate::work_item::TodoItem;
use crate::{limits, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The snapshot of an agent's work at the end of a turn. Every list is bounded by `limits`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkingMemory {
    /// Work item that has the focus. Absent if none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// State of that item in one line: its plan and its checklist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_summary: Option<String>,
    /// Where the agent works: its workspace, and its worktree if it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope_hints: Vec<String>,
    /// First lines of the item's plan file, as the runtime last read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
    /// Files that calls changed, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub working_set_files: Vec<String>,
    /// Beginnings of what the agent said at the end of turns with work, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent_decisions: Vec<String>,
    /// Entries of the checklist that are not done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_followups: Vec<String>,
    /// What the current item, the agent and other items wait for, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
}

impl WorkingMemory {
    /// Returns its first lines for people: the objective, how it stands, what was decided last and what is waited for.
    /// `None` if it holds none of these.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        let labelled = |label: &str, text: Option<&String>| {
            text.filter(|text| !text.trim().is_empty())
                .map(|text| format!("{label}: {}", text.trim()))
        };
        let lines = [
            labelled("objective", self.objective.as_ref()),
            labelled("state", self.work_summary.as_ref()),
            labelled("last decision", self.recent_decisions.first()),
            labelled("waits for", self.waiting_on.first()),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        let head = text::preview(&lines.join("\n"), limits::CONTEXT_SUMMARY_BYTES);
        (!head.is_empty()).then_some(head)
    }
}

/// A part of the working memory, as deltas name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryField {
    CurrentWorkItemId,
    Objective,
    WorkSummary,
    ScopeHints,
    Plan,
    TodoList,
    WorkingSetFiles,
    RecentDecisions,
    PendingFollowups,
    WaitingOn,
    /// A part of another build.
    #[serde(other)]
    Other,
}

impl MemoryField {
    /// Returns the name of the field.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CurrentWorkItemId => "current_work_item_id",
            Self::Objective => "objective",
            Self::WorkSummary => "work_summary",
            Self::ScopeHints => "scope_hints",
            Self::Plan => "plan",
            Self::TodoList => "todo_list",
            Self::WorkingSetFiles => "working_set_files",
            Self::RecentDecisions => "recent_decisions",
            Self::PendingFollowups => "pending_followups",
            Self::WaitingOn => "waiting_on",
            Self::Other => "other",
        }
    }
}

impl WorkingMemory {
    /// Lists the parts in which two snapshots differ, in the order of their fields.
    #[must_use]
    pub fn changed_fields(&self, later: &Self) -> Vec<MemoryField> {
        let differs = [
            (
                self.current_work_item_id != later.current_work_item_id,
                MemoryField::CurrentWorkItemId,
            ),
            (self.objective != later.objective, MemoryField::Objective),
            (
                self.work_summary != later.work_summary,
                MemoryField::WorkSummary,
            ),
            (
                self.scope_hints != later.scope_hints,
                MemoryField::ScopeHints,
            ),
            (self.plan != later.plan, MemoryField::Plan),
            (self.todo_list != later.todo_list, MemoryField::TodoList),
            (
                self.working_set_files != later.working_set_files,
                MemoryField::WorkingSetFiles,
            ),
            (
                self.recent_decisions != later.recent_decisions,
                MemoryField::RecentDecisions,
            ),
            (
                self.pending_followups != later.pending_followups,
                MemoryField::PendingFollowups,
            ),
            (self.waiting_on != later.waiting_on, MemoryField::WaitingOn),
        ];
        let changed = differs.into_iter().filter(|(differs, _)| *differs);
        changed.map(|(_, field)| field).collect()
    }
}

/// Reason for a change of the working memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryChangeReason {
    TerminalTurnCompleted,
    /// The turn took the result of a task.
    TaskRejoined,
    /// A timer, a wake or an event from outside began the turn.
    WakeResumed,
    /// Another work item has the focus than before.
    ActiveWorkChanged,
    /// Only the place of the work changed.
    ScopeHintsChanged,
    /// A reason of another build.
    #[serde(other)]
    Other,
}

/// The change of the working memory that the next prompt shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingMemoryDelta {
    /// Revision that a prompt has shown before.
    pub from_revision: u64,
    pub to_revision: u64,
    /// Turn whose end made the newest part of the change.
    pub created_at_turn: u64,
    pub reason: MemoryChangeReason,
    pub changed_fields: Vec<MemoryField>,
    /// The change in words, at most `limits::MEMORY_DELTA_LINES` lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary_lines: Vec<String>,
}

/// What one turn did, as far as memory keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
pub struct TurnMemoryDelta {
    pub turn_index: u64,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_work_changed: bool,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub plan_changed: bool,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub todo_list_changed: bool,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub scope_hints_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touched_files: Vec<String>,
    /// Commands that the turn ran, each with its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Commands that test or check something, each with its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
    /// Beginning of what the agent said at the end of the turn, or of its failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_followups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
}

/// What the calls of an open turn have come to so far. Kept in the turn, because its log is not read
/// when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnEvidence {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touched_files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
    /// Item that the turn completed last, if it worked on that item or on none. Kept here, because the turn may have
    /// moved on to another item since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_item: Option<WorkItemId>,
}

impl TurnEvidence {
    /// Returns true if no call changed a file, ran a command or completed an item.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.touched_files.is_empty()
            && self.commands.is_empty()
            && self.verification.is_empty()
            && self.completed_item.is_none()
    }
}

/// Number of messages that turns had taken before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMark {
    pub turn_index: u64,
    pub message_count: u64,
}

/// The stored memory of an agent: the snapshot, its revision, and the open episode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkingMemoryState {
    pub current_working_memory: WorkingMemory,
    /// Grows by one with every change of the snapshot. 0 before the first one.
    pub working_memory_revision: u64,
    /// Change that no answered request has shown yet. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_working_memory_delta: Option<WorkingMemoryDelta>,
    /// Newest revision that an answered request has shown. Noted when its turn ends.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub last_prompted_working_memory_revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_episode_builder: Option<EpisodeBuilder>,
    /// Episodes that were finalized. Also the position of the newest one.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub archived_episode_count: u64,
    /// Message counts at the turns with which the history of a prompt may begin, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history_marks: Vec<HistoryMark>,
}

/// Working memory as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingMemoryView {
    pub current_working_memory: WorkingMemory,
    pub working_memory_revision: u64,
    /// Recaps that stood in for rounds of the agent's turns.
    pub compression_epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_working_memory_delta: Option<WorkingMemoryDelta>,
    #[serde(default)]
    pub last_prompted_working_memory_revision: u64,
    /// Id that the open episode gets when it is finalized. Absent if none is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_episode_id: Option<EpisodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_episode_builder: Option<EpisodeBuilderView>,
    pub archived_episode_count: u64,
}

impl WorkingMemoryState {
    /// Returns the view of this state for clients.
    #[must_use]
    pub fn view(self, compression_epoch: u64) -> WorkingMemoryView {
        let builder = self.active_episode_builder;
        WorkingMemoryView {
            current_working_memory: self.current_working_memory,
            working_memory_revision: self.working_memory_revision,
            compression_epoch,
            pending_working_memory_delta: self.pending_working_memory_delta,
            last_prompted_working_memory_revision: self.last_prompted_working_memory_revision,
            active_episode_id: builder.as_ref().map(|builder| builder.id.clone()),
            active_episode_builder: builder.map(Into::into),
            archived_episode_count: self.archived_episode_count,
        }
    }
}
