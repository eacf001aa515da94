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
    let number = |part: &str, digits: usize, most: u16| {
        let is_written = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_written
            && part
                .parse()
                .is_ok_and(|number| (1..=most).contains(&number))
    };
    let parts: Vec<&str> = day.split('-').collect();
    match parts.as_slice() {
        [year, month, date]
            if number(year, 4, 9_999) && number(month, 2, 12) && number(date, 2, 31) =>
        {
            Ok(day)
        }
        _ => {
            Err(RequestFault::QUERY.refuse(format!("day {day:?} is no day written as YYYY-MM-DD")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_day_of_the_calendar_is_taken() {
        for (day, is_right) in [
            ("2026-11-18", true),
            ("2026-12-31", true),
            ("9999-99-99", false),
            ("2026-00-01", false),
            ("2026-1-18", false),
            ("2026-11-18-", false),
            ("0000-01-01", false),
            ("+026-11-18", false),
        ] {
            assert_eq!(check_day(day.to_owned()).is_ok(), is_right, "{day}");
        }
    }
}
