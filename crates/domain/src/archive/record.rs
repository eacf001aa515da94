//! The durable record of an agent in an archive: its model, workspaces, work items and timers, without anything that
//! names rows or effects of the host it comes from.

use crate::agent::{AgentSettings, ProfilePreset};
use crate::authority::AuthorityClass;
use crate::id::{AgentId, TimerId, WorkItemId, WorkspaceId};
use crate::model::{ModelOptions, ModelRef};
use crate::provider::ReasoningEffort;
use crate::time::Timestamp;
use crate::timer::{MissedSlotPolicy, TimerRecord, TimerSchedule, TimerStatus};
use crate::work_item::{
    IdleTurns, PlanArtifact, PlanStatus, Recheck, TodoItem, WorkItemProvenance, WorkItemRecord,
    WorkItemState,
};
use crate::workspace::AttachedWorkspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The agent that an imported one comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportOrigin {
    pub agent_id: AgentId,
    pub exported_at: Timestamp,
}

/// The second entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveRecord {
    pub profile_preset: ProfilePreset,
    /// The agent's own model. Absent if it used the default of its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ArchivedModel>,
    /// The agent's own bound of its thread. Absent if it used that of its host, and in archives of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u32>,
    /// Attached workspaces, oldest first. Their paths may be missing on another host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<AttachedWorkspace>,
    /// Open items, then completed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_items: Vec<ArchivedWorkItem>,
    /// The item with the focus. Absent if none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
    /// Active timers, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<ArchivedTimer>,
}

/// A model of an agent's own, with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedModel {
    pub model: ModelRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<ModelRef>>,
}

impl ArchivedModel {
    /// Returns the model of an agent. `None` if it uses the default of its host.
    #[must_use]
    pub fn of(settings: &AgentSettings) -> Option<Self> {
        let model = settings.model_override.clone()?;
        let options = settings.model_options();
        Some(Self {
            model,
            reasoning_effort: options.reasoning_effort,
            thinking_tokens: options.thinking_tokens,
            fallback_models: options.fallback_models,
        })
    }

    /// Returns the options of the model.
    #[must_use]
    pub fn options(&self) -> ModelOptions {
        ModelOptions {
            reasoning_effort: self.reasoning_effort,
            thinking_tokens: self.thinking_tokens,
            fallback_models: self.fallback_models.clone(),
        }
    }
}

/// A work item without its wait, its idle turns, and the message that caused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedWorkItem {
    pub id: WorkItemId,
    pub workspace_id: WorkspaceId,
    pub objective: String,
    pub state: WorkItemState,
    pub plan_status: PlanStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanArtifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<ArchivedRecheck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    pub authority: AuthorityClass,
    pub revision: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A reminder to check a blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedRecheck {
    pub at: Timestamp,
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// Time at which the agent was shown it. Absent if it still has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at: Option<Timestamp>,
}

impl ArchivedWorkItem {
    /// Takes the portable part of an item.
    #[must_use]
    pub fn of(item: &WorkItemRecord) -> Self {
        Self {
            id: item.id.clone(),
            workspace_id: item.workspace_id.clone(),
            objective: item.objective.clone(),
            state: item.state,
            plan_status: item.plan_status,
            plan: item.plan.clone(),
            todo_list: item.todo_list.clone(),
            blocked_by: item.blocked_by.clone(),
            recheck: item.recheck.as_ref().map(|recheck| ArchivedRecheck {
                at: recheck.at,
                authority: recheck.authority,
                consumed_at: recheck.consumed_at,
            }),
            result_summary: item.result_summary.clone(),
            authority: item.provenance.authority,
            revision: item.revision,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }

    /// Makes the item of another agent. Its reminder has no due entry yet.
    #[must_use]
    pub fn to_item(&self, agent_id: AgentId) -> WorkItemRecord {
        WorkItemRecord {
            id: self.id.clone(),
            agent_id,
            workspace_id: self.workspace_id.clone(),
            objective: self.objective.clone(),
            order: None,
            state: self.state,
            plan_status: self.plan_status,
            plan: self.plan.clone(),
            todo_list: self.todo_list.clone(),
            blocked_by: self.blocked_by.clone(),
            recheck: self.recheck.as_ref().map(|recheck| Recheck {
                at: recheck.at,
                due: None,
                authority: recheck.authority,
                consumed_at: recheck.consumed_at,
            }),
            wait: None,
            ended_wait: None,
            idle_turns: IdleTurns::default(),
            result_summary: self.result_summary.clone(),
            delivery_summary_id: None,
            delivery: None,
            provenance: WorkItemProvenance {
                authority: self.authority,
                turn_index: None,
                message_id: None,
                reply_route: None,
            },
            revision: self.revision,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// An active timer without its due entry and its queued tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedTimer {
    pub id: TimerId,
    pub created_at: Timestamp,
    pub schedule: TimerSchedule,
    pub missed: MissedSlotPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub made_by_agent: bool,
    /// Next planned slot. It may have passed when the archive is imported.
    pub next_fire_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    #[serde(default)]
    pub fire_count: u64,
    #[serde(default)]
    pub missed_count: u64,
}

impl ArchivedTimer {
    /// Takes the portable part of a timer. `None` for a timer that has ended.
    #[must_use]
    pub fn of(timer: &TimerRecord) -> Option<Self> {
        Some(Self {
            id: timer.id.clone(),
            created_at: timer.created_at,
            schedule: timer.schedule.clone(),
            missed: timer.missed,
            summary: timer.summary.clone(),
            authority: timer.authority,
            made_by_agent: timer.made_by_agent,
            next_fire_at: timer.next_fire_at?,
            last_fired_at: timer.last_fired_at,
            fire_count: timer.fire_count,
            missed_count: timer.missed_count,
        })
    }

    /// Makes the timer of another agent. It has no due entry yet.
    #[must_use]
    pub fn to_timer(&self, agent_id: AgentId) -> TimerRecord {
        TimerRecord {
            id: self.id.clone(),
            agent_id,
            created_at: self.created_at,
            schedule: self.schedule.clone(),
            missed: self.missed,
            status: TimerStatus::Active,
            summary: self.summary.clone(),
            authority: self.authority,
            made_by_agent: self.made_by_agent,
            order: None,
            past_slots: Vec::new(),
            passed_over: 0,
            wait_recorded: false,
            queued_tick: None,
            next_fire_at: Some(self.next_fire_at),
            due: None,
            last_fired_at: self.last_fired_at,
            fire_count: self.fire_count,
            missed_count: self.missed_count,
        }
    }
}
