//! A host that is newer than this client: unknown words are read as text, and responses are kept whole.

use crate::canned::{Host, json as answer};
use holon_api::RunRequest;
use holon_domain::AgentId;
use holon_domain::summary::AgentListEntry;
use serde_json::{Value, json};

fn posture() -> Value {
    json!({ "posture": "daydreaming", "reason": "it dreams", "depth": 3 })
}

fn model() -> Value {
    json!({
        "source": "fleet_policy", "effective_model": "a/b", "effective_fallback_models": [],
        "override_reasoning_effort": "boundless", "fallback_active": false,
        "resolved_policy": {
            "context_window_tokens": 1000, "effective_context_window_percent": 90, "max_output_tokens": 7,
            "source": "oracle",
        },
    })
}

fn listed() -> Value {
    json!({
        "identity": { "agent_id": "main", "kind": "swarm", "visibility": "tenant", "ownership": "pooled",
            "profile_preset": "captain", "status": "hibernated" },
        "status": "levitating", "scheduling_posture": posture(), "pending": 2, "model": model(),
        "waiting_reason": "awaiting_dawn", "active_workspace_entry": { "cwd": "/w", "projection_kind": "overlay" },
        "mood": "good",
    })
}

fn status() -> Value {
    json!({
        "identity": { "agent_id": "main", "kind": "swarm" },
        "agent": { "status": "levitating", "lifecycle": "molting", "pending": 0, "total_message_count": 1,
            "turn_index": 1, "last_turn_terminal": {
                "kind": "evaporated", "reason": "sunshine", "completed_at": "2026-11-15T00:00:00.000Z", "rounds": 2 } },
        "scheduling_posture": posture(), "model": model(),
        "closure": { "outcome": "transcended", "runtime_posture": "floating", "evidence": [] },
        "execution": { "cwd": "/w", "policy": { "process_execution": { "path_confinement": "quantum" } } },
        "active_tasks": [{ "id": "task_1", "kind": "orbit", "status": "circling", "wait_policy": "patient",
            "created_at": "2026-11-15T00:00:00.000Z" }],
        "newest_seq": 9,
    })
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_list_or_a_status() {
    let host = Host::start(vec![
        answer(200, &json!([listed()]).to_string()),
        answer(200, &status().to_string()),
    ]);
    let agents = host.client().agents().await.unwrap();
    assert_eq!(agents[0].status, "levitating");
    assert_eq!(agents[0].scheduling_posture.posture, "daydreaming");
    assert_eq!(serde_json::to_value(&agents).unwrap(), json!([listed()]));
    assert!(agents[0].known::<AgentListEntry>().is_err());
    let agent = host.client().status(None).await.unwrap();
    assert_eq!(agent.active_tasks[0].status, "circling");
    assert_eq!(
        agent.model.override_reasoning_effort.as_deref(),
        Some("boundless")
    );
    assert_eq!(
        agent.agent.last_turn_terminal.as_ref().unwrap().kind,
        "evaporated"
    );
    assert_eq!(agent.raw(), &status());
}

#[tokio::test]
async fn unknown_words_do_not_spoil_briefs_transcripts_and_runs() {
    let brief = json!({ "id": "brief_1", "kind": "haiku", "created_at": "2026-11-15T00:00:00.000Z", "text": "old pond",
        "attachments": [{ "kind": "frog", "name": "f" }] });
    let entry = json!({ "id": "e1", "created_at": "2026-11-15T00:00:00.000Z", "turn_index": 1, "kind": "dream_recorded",
        "stop_reason": "dawn", "data": { "text": "sheep" } });
    let run = json!({
        "agent_id": "main", "message_id": "msg_1", "final_status": "postponed", "waiting_reason": "awaiting_dawn",
        "final_text": "later", "failure_artifact": { "category": "weather", "kind": "rain", "summary": "wet" },
        "tasks": [{ "task": { "task_id": "task_1", "status": "circling" } }],
        "provider_attempt_timeline": { "requested_model_ref": "a/b", "attempts": [{
            "provider": "a", "model_ref": "a/b", "failure_kind": "moonstruck", "outcome": "eclipsed",
            "disposition": "pray" }] },
    });
    let host = Host::start(vec![
        answer(200, &json!([brief]).to_string()),
        answer(200, &json!([entry]).to_string()),
        answer(200, &run.to_string()),
    ]);
    let main = AgentId::parse("main").unwrap();
    let briefs = host.client().briefs(Some(&main), None).await.unwrap();
    assert_eq!(briefs[0].kind, "haiku");
    let entries = host.client().transcript(Some(&main), None).await.unwrap();
    assert_eq!(entries[0].kind, "dream_recorded");
    assert_eq!(entries[0].raw(), &entry);
    let told = host.client().run(&RunRequest::default()).await.unwrap();
    assert_eq!(told.final_status, "postponed");
    let tries = &told.provider_attempt_timeline.attempts;
    assert_eq!(tries[0].failure_kind.as_deref(), Some("moonstruck"));
    assert_eq!(told.raw(), &run);
}
