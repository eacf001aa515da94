//! Routes about waits, timers and wakes, and the explanation of an agent's state.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, MemberPath, NoParams, Params, check_limit};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{
    CreateTimerRequest, EmptyRequest, ListFilter, WakeDisposition, WakeRequest, WakeResponse,
};
use holon_domain::explanation::Explanation;
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::timer::{NO_ZONE, TimerSchedule, TimerView};
use holon_domain::wait::WaitRecord;
use holon_domain::{TimerId, WaitId};
use holon_engine::EntryFilter;
use holon_engine::request::{FirstSlot, TimerOrder, Wake};
use serde::Deserialize;

/// Default number of waits or timers in a response.
const ENTRIES: u64 = 50;

/// Query of a list of waits or timers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    filter: Option<ListFilter>,
    limit: Option<u64>,
}

fn engine_filter(filter: ListFilter) -> EntryFilter {
    match filter {
        ListFilter::Active => EntryFilter::Active,
        ListFilter::All => EntryFilter::All,
    }
}

/// `GET /agents/{id}/explain`: explains an agent's state.
pub(crate) async fn explain(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Explanation>, Refusal> {
    Ok(Json(state.reads.explain(&agent_id).await?))
}

/// `GET /agents/{id}/waits`: only active waits unless the caller asks for all.
pub(crate) async fn waits(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<ListParams>,
) -> Result<Json<Vec<WaitRecord>>, Refusal> {
    let limit = check_limit(params.limit, ENTRIES, LIST_PAGE_MAX)?;
    let which = engine_filter(params.filter.unwrap_or(ListFilter::Active));
    Ok(Json(state.reads.waits(&agent_id, which, limit).await?))
}

/// `POST /control/agents/{id}/waits/{wait}/cancel`: cancels an active wait.
pub(crate) async fn cancel_wait(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<WaitRecord>, Refusal> {
    let id = WaitId::from_stored(member);
    Ok(Json(state.control.cancel_wait(&agent_id, id).await?))
}

/// `GET /agents/{id}/timers`: all kept timers, newest first, unless the caller asks for active ones only.
pub(crate) async fn timers(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<ListParams>,
) -> Result<Json<Vec<TimerView>>, Refusal> {
    let limit = check_limit(params.limit, ENTRIES, LIST_PAGE_MAX)?;
    let which = engine_filter(params.filter.unwrap_or(ListFilter::All));
    Ok(Json(state.reads.timers(&agent_id, which, limit).await?))
}

/// `GET /agents/{id}/timers/{timer}`: one timer, active or not.
pub(crate) async fn timer(
    State(state): State<ReadState>,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<TimerView>, Refusal> {
    let id = TimerId::from_stored(member);
    Ok(Json(state.reads.timer(&agent_id, id).await?))
}

/// `POST /control/agents/{id}/timers`: creates a timer.
pub(crate) async fn create_timer(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CreateTimerRequest>,
) -> Result<Json<TimerView>, Refusal> {
    let new = timer_order(request)?;
    Ok(Json(state.control.create_timer(&agent_id, new).await?))
}

/// `POST /control/agents/{id}/timers/{timer}/cancel`: cancels an active timer.
pub(crate) async fn cancel_timer(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<TimerView>, Refusal> {
    let id = TimerId::from_stored(member);
    Ok(Json(state.control.cancel_timer(&agent_id, id).await?))
}

/// `POST /control/agents/{id}/wake`: wakes an agent with a reason.
pub(crate) async fn wake(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<WakeRequest>,
) -> Result<Json<WakeResponse>, Refusal> {
    let wake = Wake {
        reason: request.reason,
        source: request.source,
        correlation_id: request.correlation_id,
        causation_id: request.causation_id,
    };
    let disposition = if state.control.wake(&agent_id, wake).await? {
        WakeDisposition::Coalesced
    } else {
        WakeDisposition::Triggered
    };
    Ok(Json(WakeResponse {
        ok: true,
        agent_id,
        disposition,
    }))
}

/// Converts a request to a timer. The core checks that it can ever fire.
fn timer_order(request: CreateTimerRequest) -> Result<TimerOrder, Refusal> {
    let interval_ms = request.interval_ms;
    if request.time_zone.is_some() && request.cron.is_none() {
        return Err(contradiction("time_zone goes only with cron"));
    }
    if request.time_zone.as_deref() == Some(NO_ZONE) {
        return Err(contradiction("time_zone is empty"));
    }
    let first = match (request.duration_ms, request.at, request.cron) {
        (Some(delay_ms), None, None) => FirstSlot::After {
            delay_ms,
            interval_ms,
        },
        (None, Some(at), None) => FirstSlot::By(TimerSchedule::starting_at(at, interval_ms)),
        (None, None, Some(expression)) if interval_ms.is_none() => {
            FirstSlot::By(TimerSchedule::Cron {
                expression,
                time_zone: request.time_zone.unwrap_or_else(|| NO_ZONE.to_owned()),
            })
        }
        (None, None, Some(_)) => {
            return Err(contradiction("interval_ms does not go with cron"));
        }
        (_, _, _) => {
            return Err(contradiction(
                "exactly one of duration_ms, at and cron is needed",
            ));
        }
    };
    Ok(TimerOrder {
        first,
        missed: request.missed.unwrap_or_default(),
        summary: request.summary,
    })
}

fn contradiction(message: &str) -> Refusal {
    RequestFault::REQUEST
        .refuse(message)
        .hint("send duration_ms or at, with interval_ms to repeat; or cron, with a time_zone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_has_one_way_to_say_when() {
        for fine in [
            r#"{"duration_ms":5}"#,
            r#"{"duration_ms":5,"interval_ms":7}"#,
            r#"{"at":"2030-01-01T00:00:00Z","missed":"skip"}"#,
            r#"{"cron":"0 9 * * *"}"#,
            r#"{"cron":"0 9 * * *","time_zone":"Europe/Berlin"}"#,
        ] {
            assert!(
                timer_order(serde_json::from_str(fine).unwrap()).is_ok(),
                "{fine}"
            );
        }
        for contradictory in [
            "{}",
            r#"{"interval_ms":7}"#,
            r#"{"duration_ms":5,"cron":"0 9 * * *"}"#,
            r#"{"duration_ms":5,"at":"2030-01-01T00:00:00Z"}"#,
            r#"{"cron":"0 9 * * *","interval_ms":7}"#,
            r#"{"duration_ms":5,"time_zone":"UTC"}"#,
        ] {
            let refused = timer_order(serde_json::from_str(contradictory).unwrap()).err();
            let code = refused.and_then(|refusal| refusal.into_body().code);
            assert_eq!(code.as_deref(), Some("invalid_request"), "{contradictory}");
        }
    }
}
