//! Delegation: agents that other agents make. The order by which one is made, what ties it to its parent, and what its
//! parent sees of it.
//!
//! The delegation record is part of the parent's task for the child ([`ChildTask`]): it names both agents and the work
//! item that the child works for, and its state is the status of the task. The child knows the same task
//! ([`Supervision`]), so its end names the call that made it.

use crate::agent::{AgentIdentity, AgentStatus, IdentityView};
use crate::authority::AuthorityClass;
use crate::closure::WaitingReason;
use crate::id::{AgentId, DelegationId, MessageId, TaskId, WorkItemId};
use crate::model::{ModelOptions, ModelRef};
use crate::task::{TaskRecord, TaskRecoverySpec, TaskStatus, WorkspaceMode};
use crate::time::Timestamp;
use crate::workspace::{WorkspaceEntry, WorkspaceSet, WorktreeSession};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preset by which a call names the kind of agent to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnPreset {
    /// A private agent for one task, supervised by the caller.
    #[default]
    PrivateChild,
    /// A public agent that owns itself.
    PublicNamed,
}

/// A call of `SpawnAgent` after its arguments were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnAgent {
    #[serde(default)]
    pub preset: SpawnPreset,
    /// First message of the new agent. A private child always has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<String>,
    /// Name of a public agent. The runtime names private ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Template from which the home is made. Absent if the home is made empty by the first command that needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    pub workspace_mode: WorkspaceMode,
}

impl SpawnAgent {
    /// Returns true if files have to be made before the agent: a worktree, or a home from a template.
    #[must_use]
    pub fn needs_host(&self) -> bool {
        self.template.is_some() || self.workspace_mode == WorkspaceMode::Worktree
    }
}

/// Supervision of a private child: the task of the parent that represents it. Part of the child's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supervision {
    pub parent_agent_id: AgentId,
    /// Task of the parent. The end of the child closes it.
    pub task_id: TaskId,
    pub delegation_id: DelegationId,
    /// Worktree that was made for the child, wherever it works now. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeSession>,
    /// Work item for which the child was made. Its calls count against that item's budget. Absent if there was none, and
    /// in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

/// What the task of a child says about it. With the row of the task it is the delegation record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildTask {
    pub child_agent_id: AgentId,
    pub delegation_id: DelegationId,
    /// Worktree that was made for the child. Absent if it works in the workspace of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeSession>,
    /// Work item of the child: the one with its focus, or that it picked last. Written with the end of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
    /// Files that patches of the child changed, the newest first. Written with the end of the task, before the worktree was
    /// looked at. Empty in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// What the child's own row says about its worktree. Never stored here, because the row of an ended task does not
    /// change; a reader adds it by [`TaskRecord::note_child`].
    #[serde(skip)]
    pub worktree_state: Option<WorktreeState>,
}

/// The worktree of a child as the child's own row shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    pub cleanup_status: CleanupStatus,
    /// Reasons for which it was kept.
    pub kept_reasons: Vec<String>,
    pub changed_files: Vec<String>,
    /// Number of changed files, those that are not named included. Absent until the worktree was looked at, and if it was
    /// not kept.
    pub changed_files_total: Option<u64>,
}

/// Everything a new agent is made from. It travels with the send that makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnOrder {
    pub identity: AgentIdentity,
    /// Path at which the home will be created.
    pub agent_home: String,
    pub workspace: WorkspaceEntry,
    #[serde(default, skip_serializing_if = "WorkspaceSet::is_empty")]
    pub attached: WorkspaceSet,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_session: Option<WorktreeSession>,
    /// Model of its parent. Absent if the parent uses the host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    #[serde(default)]
    pub model_options: ModelOptions,
    /// Bound of its parent's thread. Absent if the setting of the host holds, and in orders of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u32>,
    /// Present for a private child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervision: Option<Supervision>,
    /// Absent if a public agent gets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_message: Option<ParentMessage>,
}

/// A message of a parent to the agent that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentMessage {
    pub from: AgentId,
    pub text: String,
    /// Authority of the turn that sends it. The message has no more.
    pub authority: AuthorityClass,
    /// Message of the parent whose turn sends it.
    pub caused_by: MessageId,
    /// Task of the parent for the child. Absent for an agent that owns itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// One agent that was made by another, as the table of children holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRecord {
    /// Root of the tree.
    pub root: AgentId,
    pub parent: AgentId,
    pub child: AgentId,
    /// Number of agents above it.
    pub depth: u32,
    /// True for a supervised child, which counts among the live ones.
    pub supervised: bool,
    pub spawned_at: Timestamp,
}

/// Place of an agent in its tree, and what the tree has spawned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeStanding {
    /// Number of agents above the agent; 0 for a root.
    pub depth: u32,
    /// Supervised children of the whole tree that have not ended.
    pub live: u32,
    /// Times of the newest spawns in the tree, newest first, at most `limits::SPAWNS_PER_HOUR`.
    pub spawned: Vec<Timestamp>,
    /// Supervised children of the agent in the order in which they were made, each with true if it has not ended.
    pub children: Vec<(AgentId, bool)>,
}

/// Phase of a child as its parent sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildPhase {
    /// It works, or is about to.
    Running,
    /// It goes on when a command of its own has ended.
    Blocked,
    /// It waits for something it has declared.
    Waiting,
    /// Nothing of it happens any more; its history can be read.
    Terminal,
}

/// What a parent sees of the work of a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildObservability {
    pub phase: ChildPhase,
    /// Task of the child that it depends on, as `managed_task_` and its status; what its suspended turn waits for; or
    /// `put_aside` with the fault of its stored rows, after which it does nothing until an operator starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Work item of the child that has its focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_work_item_id: Option<WorkItemId>,
    /// Objective of that item, or what the child waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_progress_brief: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_result_brief: Option<String>,
}

/// State of the worktree of a child, for its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CleanupStatus {
    /// The child may still work in it.
    InUse,
    /// The child has ended, and a clean-up is about to look at the worktree.
    Pending,
    /// The child has ended, and the worktree is kept for a review.
    Retained,
    /// The child has ended without leaving work in it, and it is gone.
    Removed,
}

/// What became of the worktree of an ended child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum WorktreeEnd {
    /// It held no work, or was gone before.
    Removed,
    /// It holds work, or could not be looked at.
    Kept {
        /// What speaks against a removal, in words.
        reasons: Vec<String>,
        /// The first files that differ from the commit at which the worktree began, relative to it. Empty in rows of
        /// earlier builds, and if git could not list them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed_files: Vec<String>,
        /// Number of all such files.
        #[serde(default, skip_serializing_if = "crate::skip::is_default")]
        changed_files_total: u64,
    },
}

/// The supervision of a child for people and models. The same in `SpawnAgent`, `TaskStatus` and `TaskOutput`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildSupervision {
    pub parent_agent_id: AgentId,
    pub child_agent_id: AgentId,
    /// Task of the parent for status, output, input and stop.
    pub supervision_task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_work_item_id: Option<WorkItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
    pub delegation_id: DelegationId,
    pub workspace_mode: WorkspaceMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeSession>,
    /// Always `supervision_task`: the worktree belongs to the task, not to the child.
    pub cleanup_owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup_status: Option<CleanupStatus>,
    /// Reasons for which the worktree of an ended child is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_reasons: Vec<String>,
    /// The first files of a kept worktree that differ from the commit at which it began. While `cleanup_status` is
    /// `pending`, and for a child that has no worktree, these are the files that patches of the child changed, as far as
    /// its memory names them; a child whose end was heard of late has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// Number of all such files. Absent until the worktree was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files_total: Option<u64>,
    /// Always `parent_supervisor`: what the child asks for goes to its parent.
    pub followup_target: String,
}

/// State of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    Active,
    Completed,
    Failed,
    Cancelled,
    /// The supervision was interrupted; the child may live.
    Interrupted,
}

/// A delegation: work of a parent that a child does. A projection of the task row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelegationRecord {
    pub delegation_id: DelegationId,
    pub parent_agent_id: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_work_item_id: Option<WorkItemId>,
    pub child_agent_id: AgentId,
    /// Work item of the child: the one with its focus, or that it picked last. Absent if it has none, or the child was
    /// not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
    pub state: DelegationState,
    pub supervision_task_id: TaskId,
    /// Label of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Present once the child has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
}

/// A live child in the summary of its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveChild {
    pub identity: IdentityView,
    pub status: AgentStatus,
    pub supervision_task_id: TaskId,
    /// Label of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(flatten)]
    pub observability: ChildObservability,
}

/// Beginning of the `blocked_reason` of a child whose stored rows cannot be read.
pub const PUT_ASIDE: &str = "put_aside";

impl ActiveChild {
    /// Returns the fault for which the child was put aside, if it was.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        let reason = self.observability.blocked_reason.as_deref()?;
        reason.strip_prefix(PUT_ASIDE)?.strip_prefix(": ")
    }
}

/// Rows of a child that its parent is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildFacts {
    pub agent: crate::agent::AgentRecord,
    /// Why the child was put aside. Until an operator starts it, it does nothing.
    pub aside: Option<String>,
    /// Number of queued messages.
    pub pending: u64,
    /// Status of its oldest task that has not ended.
    pub task: Option<TaskStatus>,
    /// Objective of its current work item.
    pub objective: Option<String>,
    /// Text of its newest notice, shortened.
    pub last_progress_brief: Option<String>,
    /// Text of its newest outcome, shortened.
    pub last_result_brief: Option<String>,
}

impl TaskRecord {
    /// Returns the child that the task represents; `None` for a command, and in rows of earlier builds.
    #[must_use]
    pub fn child(&self) -> Option<&ChildTask> {
        match &self.recovery {
            Some(TaskRecoverySpec::ChildAgentTask { child, .. }) => child.as_deref(),
            Some(
                TaskRecoverySpec::CommandTask { .. }
                | TaskRecoverySpec::SubagentTask { .. }
                | TaskRecoverySpec::WorktreeSubagentTask { .. },
            )
            | None => None,
        }
    }

    /// Notes what the child's own rows say about its work item and its worktree, for the views of the task.
    pub fn note_child(&mut self, facts: &ChildFacts) {
        let Some(TaskRecoverySpec::ChildAgentTask {
            child: Some(child), ..
        }) = &mut self.recovery
        else {
            return;
        };
        if let Some(item) = facts.work_item_id() {
            child.child_work_item_id = Some(item.clone());
        }
        child.worktree_state = child.worktree.as_ref().map(|_| facts.worktree_state());
    }

    /// Returns the supervision of the task's child; `None` for a command.
    #[must_use]
    pub fn child_supervision(&self) -> Option<ChildSupervision> {
        let child = self.child()?;
        let seen = child.worktree_state.as_ref();
        Some(ChildSupervision {
            parent_agent_id: self.agent_id.clone(),
            child_agent_id: child.child_agent_id.clone(),
            supervision_task_id: self.id.clone(),
            parent_work_item_id: self.work_item_id.clone(),
            child_work_item_id: child.child_work_item_id.clone(),
            delegation_id: child.delegation_id.clone(),
            workspace_mode: match child.worktree {
                Some(_) => WorkspaceMode::Worktree,
                None => WorkspaceMode::Inherit,
            },
            worktree: child.worktree.clone(),
            cleanup_owner: "supervision_task".to_owned(),
            cleanup_status: seen.map(|seen| seen.cleanup_status),
            kept_reasons: seen.map_or_else(Vec::new, |seen| seen.kept_reasons.clone()),
            changed_files: match seen.map(|seen| (seen, seen.cleanup_status)) {
                None | Some((_, CleanupStatus::Pending)) => child.changed_files.clone(),
                Some((
                    seen,
                    CleanupStatus::InUse | CleanupStatus::Retained | CleanupStatus::Removed,
                )) => seen.changed_files.clone(),
            },
            changed_files_total: seen.and_then(|seen| seen.changed_files_total),
            followup_target: "parent_supervisor".to_owned(),
        })
    }

    /// Returns the delegation that the task stands for; `None` for a command.
    #[must_use]
    pub fn delegation(&self) -> Option<DelegationRecord> {
        let child = self.child()?;
        Some(DelegationRecord {
            delegation_id: child.delegation_id.clone(),
            parent_agent_id: self.agent_id.clone(),
            parent_work_item_id: self.work_item_id.clone(),
            child_agent_id: child.child_agent_id.clone(),
            child_work_item_id: child.child_work_item_id.clone(),
            state: match self.status {
                TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => {
                    DelegationState::Active
                }
                TaskStatus::Completed => DelegationState::Completed,
                TaskStatus::Failed => DelegationState::Failed,
                TaskStatus::Cancelled => DelegationState::Cancelled,
                TaskStatus::Interrupted => DelegationState::Interrupted,
            },
            supervision_task_id: self.id.clone(),
            summary: self.summary.clone(),
            result_summary: self.end.as_ref().map(|end| end.result_summary.clone()),
        })
    }
}

impl ChildFacts {
    /// Returns the work item with the focus of the child, or that it picked last.
    #[must_use]
    pub fn work_item_id(&self) -> Option<&WorkItemId> {
        self.agent.work.last_focused()
    }

    /// Returns the state of a worktree that was made for this child.
    #[must_use]
    fn worktree_state(&self) -> WorktreeState {
        let (cleanup_status, kept) = match (&self.agent.archived_at, &self.agent.worktree_end) {
            (None, _) => (CleanupStatus::InUse, None),
            (Some(_), Some(WorktreeEnd::Removed)) => (CleanupStatus::Removed, None),
            (Some(_), None) => (CleanupStatus::Pending, None),
            (
                Some(_),
                Some(WorktreeEnd::Kept {
                    reasons,
                    changed_files,
                    changed_files_total,
                }),
            ) => (
                CleanupStatus::Retained,
                Some((reasons, changed_files, *changed_files_total)),
            ),
        };
        let (kept_reasons, changed_files, changed_files_total) = match kept {
            Some((reasons, files, total)) => (reasons.clone(), files.clone(), Some(total)),
            None => (Vec::new(), Vec::new(), None),
        };
        WorktreeState {
            cleanup_status,
            kept_reasons,
            changed_files,
            changed_files_total,
        }
    }
}
