//! Routes that read, create, update and complete work items.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, MemberPath, NoParams, Params, check_limit};
use crate::refusal::Refusal;
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{
    CreateWorkItemRequest, EmptyRequest, UpdateWorkItemRequest, WorkItemsContext, WorkItemsResponse,
};
use holon_domain::WorkItemId;
use holon_domain::intent::{BlockerChange, NewWorkItem, WorkItemChange, WorkItemFilter};
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::work_item::{WorkItemCursor, WorkItemView};
use holon_engine::{Error, Rejection};
use serde::Deserialize;

/// Default number of items in a response.
const ITEMS: u64 = 20;

/// Query of a list of items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemsParams {
    filter: Option<WorkItemFilter>,
    limit: Option<u64>,
    after: Option<WorkItemCursor>,
}

/// `GET /agents/{id}/work-items`: lists an agent's work items.
pub(crate) async fn list(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<ItemsParams>,
) -> Result<Json<WorkItemsResponse>, Refusal> {
    let limit = check_limit(params.limit, ITEMS, LIST_PAGE_MAX)?;
    let filter = params.filter.unwrap_or_default();
    let page = state
        .reads
        .work_items(&agent_id, filter, params.after, limit)
        .await?;
    Ok(Json(WorkItemsResponse {
        context: WorkItemsContext {
            current_work_item_id: page.current,
        },
        filter,
        returned: page.items.len() as u64,
        total_matching: page.total,
        limit,
        work_items: page.items,
        next_cursor: page.next,
    }))
}

/// `GET /agents/{id}/work-items/{item}`: returns one work item.
pub(crate) async fn show(
    State(state): State<ReadState>,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<WorkItemView>, Refusal> {
    let id = WorkItemId::from_stored(member);
    Ok(Json(state.reads.work_item(&agent_id, &id).await?))
}

/// `POST /control/agents/{id}/work-items`: creates a work item.
pub(crate) async fn create(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CreateWorkItemRequest>,
) -> Result<Json<WorkItemView>, Refusal> {
    let new = NewWorkItem {
        objective: request.objective,
        plan_status: request.plan_status.unwrap_or_default(),
        todo_list: request.todo_list,
    };
    Ok(Json(state.control.create_work_item(&agent_id, new).await?))
}

/// `POST /control/agents/{id}/work-items/{item}`: changes an open work item.
pub(crate) async fn update(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<UpdateWorkItemRequest>,
) -> Result<Json<WorkItemView>, Refusal> {
    let id = WorkItemId::from_stored(member);
    let changed = state
        .control
        .update_work_item(&agent_id, id, item_change(request)?);
    Ok(Json(changed.await?))
}

/// `POST /control/agents/{id}/work-items/{item}/complete`: completes a work item.
pub(crate) async fn complete(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<WorkItemView>, Refusal> {
    let id = WorkItemId::from_stored(member);
    Ok(Json(state.control.complete_work_item(&agent_id, id).await?))
}

/// `POST /control/agents/{id}/work-items/{item}/resume`: clears the stall of a work item.
pub(crate) async fn resume(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<WorkItemView>, Refusal> {
    let id = WorkItemId::from_stored(member);
    Ok(Json(state.control.resume_work_item(&agent_id, id).await?))
}

/// Converts a request to a change. The core checks its texts.
fn item_change(request: UpdateWorkItemRequest) -> Result<WorkItemChange, Refusal> {
    let names_blocker = matches!(&request.blocked_by, Some(Some(text)) if !text.is_empty());
    if names_blocker || request.recheck_after_ms.is_some() {
        let reason = "only the agent names a blocker and when to look at it again; send it a message that says \
                      what is in the way";
        let reason = reason.to_owned();
        return Err(Error::Rejected(Rejection::InvalidWork { reason }).into());
    }
    Ok(WorkItemChange {
        objective: request.objective,
        plan_status: request.plan_status,
        todo_list: request.todo_list,
        blocker: request.blocked_by.map(|_| BlockerChange::Clear),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocker(json: &str) -> Result<Option<BlockerChange>, Option<String>> {
        let request = serde_json::from_str(json).unwrap();
        match item_change(request) {
            Ok(change) => Ok(change.blocker),
            Err(refusal) => Err(refusal.into_body().code),
        }
    }

    #[test]
    fn null_and_empty_clear_a_blocker_and_only_the_agent_names_one() {
        let refused = Err(Some("invalid_work".to_owned()));
        for (json, expected) in [
            ("{}", Ok(None)),
            (r#"{"blocked_by":null}"#, Ok(Some(BlockerChange::Clear))),
            (r#"{"blocked_by":""}"#, Ok(Some(BlockerChange::Clear))),
            (r#"{"blocked_by":"x"}"#, refused.clone()),
            (
                r#"{"blocked_by":"x","recheck_after_ms":5}"#,
                refused.clone(),
            ),
            (r#"{"recheck_after_ms":5}"#, refused.clone()),
            (r#"{"blocked_by":null,"recheck_after_ms":5}"#, refused),
        ] {
            assert_eq!(blocker(json), expected, "{json}");
        }
    }
}
