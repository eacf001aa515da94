//! The route that lists what model calls used.

use crate::extract::{Params, check_limit};
use crate::refusal::{Refusal, RequestFault};
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use holon_api::{UsageEntry, UsageResponse};
use holon_domain::usage::{UsageFilter, UsageGrouping};
use holon_domain::{AgentId, WorkItemId, limits};
use serde::Deserialize;

/// Query of a page of usage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageParams {
    by: Option<UsageGrouping>,
    agent: Option<String>,
    item: Option<String>,
    day: Option<String>,
    after: Option<String>,
    limit: Option<u64>,
}

/// `GET /usage`: lists what model calls used, by agent, work item, day or model.
pub(crate) async fn list(
    State(state): State<ReadState>,
    Params(params): Params<UsageParams>,
) -> Result<Json<UsageResponse>, Refusal> {
    let most = check_limit(
        params.limit,
        limits::USAGE_PAGE as u64,
        limits::USAGE_PAGE as u64,
    )?;
    let most = usize::try_from(most).unwrap_or(limits::USAGE_PAGE);
    let agent_id = params.agent.as_deref().map(AgentId::parse).transpose();
    let filter = UsageFilter {
        agent_id: agent_id.map_err(holon_engine::Error::from)?,
        work_item_id: params.item.map(WorkItemId::from_stored),
        day: params.day.map(check_day).transpose()?,
    };
    let by = params.by.unwrap_or_default();
    // One more row than asked for tells whether there is another page.
    let read = state.reads.usage(filter, by, params.after, most + 1);
    let (mut rows, total) = read.await?;
    let has_more = rows.len() > most;
    rows.truncate(most);
    Ok(Json(UsageResponse {
        by,
        next: rows.last().filter(|_| has_more).map(|row| row.key.clone()),
        rows: rows
            .into_iter()
            .map(|row| UsageEntry {
                key: row.key,
                figures: row.sums.into(),
            })
            .collect(),
        total: total.into(),
        time_zone: state.reads.time_zone(),
    }))
}

/// Refuses a text that is no day, so that a misspelt one is not taken for a day without usage.
fn check_day(day: String) -> Result<String, Refusal> {
    let digits = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = day.split('-').collect();
    match parts.as_slice() {
        [year, month, date] if digits(year, 4) && digits(month, 2) && digits(date, 2) => Ok(day),
        _ => Err(RequestFault::QUERY.refuse(format!("day {day:?} is not written as YYYY-MM-DD"))),
    }
}
