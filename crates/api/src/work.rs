//! Requests about work items, waits, timers and wakes.
//!
//! `trust` is accepted from older clients and ignored: the route decides the authority.

use crate::message::FieldPresence;
use holon_domain::intent::WorkItemFilter;
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::work_item::{PlanStatus, TodoItem, WorkItemCursor, WorkItemView};
use holon_domain::{AgentId, Timestamp, WorkItemId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Body of `POST /control/agents/{id}/work-items`. The response is the item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkItemRequest {
    /// Goal of the item, at most 2,000 bytes.
    pub objective: String,
    /// `draft` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["draft", "ready", "needs_input"]))]
    pub plan_status: Option<PlanStatus>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub todo_list: Vec<TodoItem>,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/agents/{id}/work-items/{item}`. An absent field stays unchanged. The response is the item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWorkItemRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["draft", "ready", "needs_input"]))]
    pub plan_status: Option<PlanStatus>,
    /// Replaces the whole checklist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    pub todo_list: Option<Vec<TodoItem>>,
    /// `null` and an empty text clear the blocker. Only the agent itself sets one, so any other text is refused.
    #[serde(
        default,
        deserialize_with = "decode_nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub blocked_by: Option<Option<String>>,
    /// Refused unless it is `null`: a reminder belongs to a blocker, and only the agent names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_after_ms: Option<u64>,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Decodes a present field to `Some`, so that `null` differs from an absent field.
fn decode_nullable<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Response of `GET /agents/{id}/work-items`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemsResponse {
    pub context: WorkItemsContext,
    pub filter: WorkItemFilter,
    /// Number of items in this response.
    pub returned: u64,
    /// Number of items that match the filter, including those beyond the limit.
    pub total_matching: u64,
    pub limit: u64,
    /// Most recently changed first.
    pub work_items: Vec<WorkItemView>,
    /// Value of `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<WorkItemCursor>,
}

/// The agent's focus at the time of the response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemsContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
}

/// Filter of a list of waits or timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFilter {
    /// Active entries, oldest first.
    Active,
    /// All kept entries, newest first.
    All,
}

/// Body of `POST /control/agents/{id}/timers`. Exactly one of `duration_ms`, `at` and `cron` defines the first slot.
/// The response is the timer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTimerRequest {
    /// Milliseconds until the first slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Time of the first slot.
    #[serde(
        default,
        deserialize_with = "holon_domain::time::rfc3339::optional",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
    /// Milliseconds between slots, together with `duration_ms` or `at`. Absent: the timer fires once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// Five fields: minute, hour, day of the month, month, day of the week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// IANA zone in which `cron` is read; that of the operator when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Handling of slots that pass while the host is down; `once` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["skip", "once", "all"]))]
    pub missed: Option<MissedSlotPolicy>,
    /// Text of the tick that the agent reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/agents/{id}/wake`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeRequest {
    /// Text that tells the agent why to look.
    pub reason: String,
    /// Name of the outside system that changed. Wakes of one source coalesce, and waits for that source end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// Effect of a wake request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeDisposition {
    /// The scheduler delivers it as soon as the agent can take a tick.
    Triggered,
    /// It joined a pending wake of the same source.
    Coalesced,
}

/// Response to a wake that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    pub disposition: WakeDisposition,
}

/// An empty body, for commands whose path says everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyRequest {
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(json: &str) -> UpdateWorkItemRequest {
        serde_json::from_str(json).expect("parses")
    }

    #[test]
    fn a_blocker_that_is_null_is_not_one_that_is_absent() {
        assert_eq!(update("{}").blocked_by, None);
        assert_eq!(update(r#"{"blocked_by":null}"#).blocked_by, Some(None));
        let set = update(r#"{"blocked_by":"a review"}"#);
        assert_eq!(set.blocked_by, Some(Some("a review".to_owned())));
        for json in [
            "{}",
            r#"{"blocked_by":null}"#,
            r#"{"blocked_by":"a review"}"#,
        ] {
            let sent = serde_json::to_string(&update(json)).expect("serialises");
            assert_eq!(sent, json);
        }
    }

    #[test]
    fn fields_that_a_request_does_not_know_are_refused() {
        let known = serde_json::from_str::<CreateTimerRequest>(r#"{"duration_ms":5,"trust":"x"}"#);
        assert_eq!(known.expect("parses").duration_ms, Some(5));
        assert!(serde_json::from_str::<CreateTimerRequest>(r#"{"delay":5}"#).is_err());
        assert!(serde_json::from_str::<WakeRequest>(r#"{"reason":"x","trust":1}"#).is_err());
        assert!(serde_json::from_str::<WakeRequest>("{}").is_err());
        assert!(serde_json::from_str::<EmptyRequest>(r#"{"force":true}"#).is_err());
    }
}
