//! Delivery summaries: the stored reports of completed work items.
//!
//! An item that was completed with a report has one. The item and the brief that told the operator point to it.

use crate::decision::BriefSeq;
use crate::id::{AgentId, BriefId, DeliverySummaryId, MessageId, WorkItemId};
use crate::time::Timestamp;
use crate::turn::LogSeq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of a report that is the text of the round that completed the item.
pub const ASSISTANT_ROUND: &str = "assistant_round";

/// Location of the text of a report. It is stored once: the round stays in the log until retention removes it, and the
/// delivery summary gets a copy then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportText {
    /// The text blocks of the assistant round at this log position.
    Round(LogSeq),
    Words(String),
}

/// A delivery summary as stored. [`DeliverySummaryRecord`] is the form that clients read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverySummaryRow {
    pub id: DeliverySummaryId,
    pub work_item_id: WorkItemId,
    pub agent_id: AgentId,
    pub text: ReportText,
    #[serde(flatten)]
    pub delivery: DeliverySummary,
}

impl DeliverySummaryRow {
    /// Returns the summary with its text, or with the beginning of it.
    #[must_use]
    pub fn with_text(self, text: String) -> DeliverySummaryRecord {
        DeliverySummaryRecord {
            id: Some(self.id),
            work_item_id: self.work_item_id,
            agent_id: self.agent_id,
            text,
            delivery: self.delivery,
        }
    }
}

/// Origin of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliverySummary {
    /// Always `assistant_round` in this build: the text of the round that completed the item.
    pub source: String,
    /// Brief that told the operator. It may have been removed since.
    pub brief_id: BriefId,
    /// Position of that brief among those of the agent. Absent for items that earlier builds completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief_seq: Option<BriefSeq>,
    /// Message that the completing turn answered.
    pub message_id: MessageId,
    pub turn_index: u64,
    pub created_at: Timestamp,
}

/// Delivery summary of a completed item, as clients read it. Its text is whole for a reader of one item, and the beginning
/// of it in lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliverySummaryRecord {
    /// Absent for items that earlier builds completed, which have the origin of the report in their own row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<DeliverySummaryId>,
    pub work_item_id: WorkItemId,
    pub agent_id: AgentId,
    pub text: String,
    #[serde(flatten)]
    pub delivery: DeliverySummary,
}
