//! Routes about storage and retention.

use crate::body::JsonBody;
use crate::extract::{NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{AgentStorage, PruneFailure, PruneRequest, PruneResponse, StorageResponse};
use holon_domain::AgentId;
use holon_domain::limits::{HISTORY_DAYS_MAX, PRUNE_STEPS_PER_REQUEST};
use holon_engine::PruneOrder;
use std::cmp::Reverse;

/// `GET /storage`: says how much the host stores, by kind and by agent.
pub(crate) async fn report(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StorageResponse>, Refusal> {
    let sizes = state.reads.storage().await?;
    let terms = state.reads.history_terms();
    let mut agents: Vec<AgentStorage> = sizes
        .agents
        .into_iter()
        .map(|(agent_id, history, outputs)| AgentStorage {
            agent_id: agent_id.to_string(),
            bytes: history.bytes() + outputs.bytes,
            history,
            output_files: outputs.files,
            output_bytes: outputs.bytes,
        })
        .collect();
    agents.sort_by_key(|agent| Reverse(agent.bytes));
    Ok(Json(StorageResponse {
        database_bytes: sizes.database.file_bytes,
        free_bytes: sizes.database.free_bytes,
        wal_bytes: sizes.database.wal_bytes,
        budget_bytes: terms.budget_bytes,
        history_days: terms.days,
        history: sizes.history,
        output_files: sizes.outputs.files,
        output_bytes: sizes.outputs.bytes,
        agents,
        unreadable_rows: sizes.passed_over,
    }))
}

/// `POST /control/storage/prune`: removes old turns in bounded steps, or says what would go.
pub(crate) async fn prune(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<PruneRequest>,
) -> Result<Json<PruneResponse>, Refusal> {
    let days = request.older_than_days;
    if days > HISTORY_DAYS_MAX {
        return Err(
            RequestFault::PRUNE.refuse(format!("older_than_days is at most {HISTORY_DAYS_MAX}"))
        );
    }
    let before = state.control.now().minus_days(days);
    let order = PruneOrder {
        before,
        preview: request.dry_run,
        next: request.next,
        steps: PRUNE_STEPS_PER_REQUEST,
    };
    let report = state.control.prune(order).await?;
    Ok(Json(PruneResponse {
        dry_run: request.dry_run,
        before,
        removed: report.removed,
        failures: report.failures.into_iter().map(failure).collect(),
        next: report.next.map(|agent_id| agent_id.to_string()),
    }))
}

fn failure((agent_id, reason): (AgentId, String)) -> PruneFailure {
    PruneFailure {
        agent_id: agent_id.to_string(),
        reason,
    }
}
