//! A work item as tools, prompts and clients see it.

use super::{
    DeliverySummary, DeliverySummaryRecord, PlanArtifact, PlanStatus, Readiness, TodoItem,
    WorkItemProvenance, WorkItemRecord, WorkItemSchedulingState, WorkItemState,
};
use crate::id::{AgentId, DeliverySummaryId, WorkItemId, WorkspaceId};
use crate::time::Timestamp;
use crate::{limits, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Relation of an item to the focus of its agent. An open item without the focus is blocked by a blocker alone; one that
/// only waits is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Focus {
    Current,
    Queued,
    Blocked,
    Completed,
}

/// Plan file of an item, with the path under which the agent reads and edits it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDescriptor {
    /// Path at which the file is, or would be.
    pub path: String,
    /// True if the runtime found a file there. The other fields then describe it.
    #[serde(default)]
    pub exists: bool,
    /// SHA-256 of the file in hex. Absent if the runtime has seen no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    pub preview: String,
    /// True if the preview is the whole file; false if there is none.
    pub preview_complete: bool,
}

/// Report that was stored when the item was completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionReport {
    pub text: String,
    /// Always `work_item_result_summary` in this build.
    pub source: String,
    /// Delivery summary with the whole text. Absent for imported items and items that earlier builds completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_summary_id: Option<DeliverySummaryId>,
    /// Turn that completed the item. Absent where the delivery summary is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_turn_index: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// A work item as tools, prompts and clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemView {
    pub id: WorkItemId,
    pub agent_id: AgentId,
    pub workspace_id: WorkspaceId,
    pub objective: String,
    pub state: WorkItemState,
    pub focus: Focus,
    pub readiness: Readiness,
    pub scheduling_state: WorkItemSchedulingState,
    pub is_current: bool,
    pub is_runnable: bool,
    pub plan_status: PlanStatus,
    pub plan_artifact: PlanDescriptor,
    /// Absent if the reader did not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<Vec<TodoItem>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_consumed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_report: Option<CompletionReport>,
    /// Absent unless the item was completed with a report, in results of tools, for imported items, and for items that
    /// earlier builds completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_summary: Option<DeliverySummaryRecord>,
    pub provenance: WorkItemProvenance,
    pub revision: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A work item in a list with one line for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemListEntry {
    pub id: WorkItemId,
    /// Beginning of the objective.
    pub objective: String,
    pub focus: Focus,
    pub scheduling_state: WorkItemSchedulingState,
    pub plan_status: PlanStatus,
    /// Beginning of the blocker text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

impl WorkItemView {
    /// Shortens the preview of the plan, so that a list of many items stays small.
    #[must_use]
    pub fn with_short_plan(mut self) -> Self {
        let plan = &mut self.plan_artifact;
        if plan.preview.len() > limits::LIST_PLAN_PREVIEW_BYTES {
            plan.preview = text::preview(&plan.preview, limits::LIST_PLAN_PREVIEW_BYTES);
            plan.preview_complete = false;
        }
        self
    }

    /// Adds the delivery summary of the item. The text of the report becomes that of the summary.
    #[must_use]
    pub fn with_delivery(mut self, summary: DeliverySummaryRecord) -> Self {
        if let Some(report) = &mut self.completion_report {
            summary.text.clone_into(&mut report.text);
            report.describe(&summary.delivery);
        }
        self.delivery_summary = Some(summary);
        self
    }

    /// Shortens the view to one line.
    #[must_use]
    pub fn list_entry(self) -> WorkItemListEntry {
        let short = |text: &str| text::preview(text, limits::EVENT_PREVIEW_BYTES);
        WorkItemListEntry {
            objective: short(&self.objective),
            focus: self.focus,
            scheduling_state: self.scheduling_state,
            plan_status: self.plan_status,
            blocked_by: self.blocked_by.as_deref().map(short),
            recheck_at: self.recheck_at,
            updated_at: self.updated_at,
            id: self.id,
        }
    }
}

impl CompletionReport {
    fn describe(&mut self, origin: &DeliverySummary) {
        self.source_turn_index = Some(origin.turn_index);
        self.created_at = Some(origin.created_at);
    }
}

/// Facts that a view needs beside the record.
#[derive(Debug, Clone, Copy)]
pub struct ViewContext<'a> {
    pub agent_home: &'a str,
    pub current: Option<&'a WorkItemId>,
    /// The agent's `wake_count`, which decides whether idle turns still count.
    pub wake_count: u64,
    pub include_todo_list: bool,
}

impl WorkItemRecord {
    /// Returns the item as a reader sees it.
    #[must_use]
    pub fn view(&self, context: ViewContext<'_>) -> WorkItemView {
        let scheduling_state = self.scheduling_state(context.wake_count);
        let readiness = scheduling_state.readiness();
        let is_current = context.current == Some(&self.id);
        WorkItemView {
            id: self.id.clone(),
            agent_id: self.agent_id.clone(),
            workspace_id: self.workspace_id.clone(),
            objective: self.objective.clone(),
            state: self.state,
            focus: match (self.state, is_current) {
                (WorkItemState::Completed, _) => Focus::Completed,
                (WorkItemState::Open, true) => Focus::Current,
                (WorkItemState::Open, false) if self.blocked_by.is_some() => Focus::Blocked,
                (WorkItemState::Open, false) => Focus::Queued,
            },
            readiness,
            scheduling_state,
            is_current,
            is_runnable: scheduling_state == WorkItemSchedulingState::Runnable,
            plan_status: self.plan_status,
            plan_artifact: self.plan_descriptor(context.agent_home),
            todo_list: context.include_todo_list.then(|| self.todo_list.clone()),
            blocked_by: self.blocked_by.clone(),
            recheck_at: self.recheck.as_ref().map(|recheck| recheck.at),
            recheck_consumed_at: self
                .recheck
                .as_ref()
                .and_then(|recheck| recheck.consumed_at),
            completion_report: self.result_summary.clone().map(|text| CompletionReport {
                text,
                source: "work_item_result_summary".to_owned(),
                delivery_summary_id: self.delivery_summary_id.clone(),
                source_turn_index: None,
                created_at: None,
            }),
            delivery_summary: None,
            provenance: self.provenance.clone(),
            revision: self.revision,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// Returns the path of the item's plan file, relative to the agent's home.
    #[must_use]
    pub fn plan_path(id: &WorkItemId) -> String {
        format!("work-items/{id}/plan.md")
    }

    fn plan_descriptor(&self, agent_home: &str) -> PlanDescriptor {
        let path = format!("{agent_home}/{}", Self::plan_path(&self.id));
        match &self.plan {
            Some(PlanArtifact {
                hash,
                bytes,
                updated_at,
                preview,
                preview_complete,
            }) => PlanDescriptor {
                path,
                exists: true,
                hash: Some(hash.clone()),
                bytes: *bytes,
                updated_at: Some(*updated_at),
                preview: preview.clone(),
                preview_complete: *preview_complete,
            },
            None => PlanDescriptor {
                path,
                exists: false,
                hash: None,
                bytes: 0,
                updated_at: None,
                preview: String::new(),
                preview_complete: false,
            },
        }
    }
}
