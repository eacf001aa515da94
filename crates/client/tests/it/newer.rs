//! A host that is newer than this client: unknown words are read as text, and responses are kept whole.

use crate::canned::{Host, json as answer, stream};
use holon_api::{
    CreateTimerRequest, CreateWorkItemRequest, ListFilter, RunRequest, UpdateWorkItemRequest,
    WakeRequest,
};
use holon_client::EventsQuery;
use holon_domain::intent::WorkItemFilter;
use holon_domain::summary::AgentListEntry;
use holon_domain::{AgentId, TimerId, WaitId, WorkItemId};
use serde::Serialize;
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

const AT: &str = "2026-11-15T00:00:00.000Z";

fn main_agent() -> AgentId {
    AgentId::parse("main").unwrap()
}

/// Returns a host that sends this once.
fn sends(body: &Value) -> Host {
    Host::start(vec![answer(200, &body.to_string())])
}

/// Asserts that a response was kept as the host sent it.
#[track_caller]
fn assert_kept(answer: &impl Serialize, sent: &Value) {
    assert_eq!(&serde_json::to_value(answer).unwrap(), sent);
}

fn item() -> Value {
    json!({
        "id": "work_1", "agent_id": "main", "objective": "rest", "state": "dormant",
        "plan_status": "whispered", "scheduling_state": "hovering", "readiness": "ripe", "focus": "peripheral",
        "plan_artifact": { "path": "/p", "bytes": 3, "hash": "h", "medium": "clay" },
        "todo_list": [{ "text": "nap", "state": "dreamed" }],
        "revision": 2, "created_at": AT, "updated_at": AT, "mood": "good",
    })
}

fn wait() -> Value {
    json!({
        "id": "wait_1", "agent_id": "main", "kind": "dawn", "status": "drowsing", "waiting_for": "light",
        "wake_sources": [{ "kind": "sun", "height": 3 }], "authority": "hearsay", "trigger_count": 0,
        "created_at": AT, "updated_at": AT,
    })
}

fn timer() -> Value {
    json!({
        "id": "timer_1", "agent_id": "main", "created_at": AT, "repeat": false, "missed": "mourned",
        "status": "melting", "fire_count": 1, "missed_count": 0,
    })
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_list_of_work_items() {
    let sent = json!({
        "context": { "current_work_item_id": "work_1" }, "filter": "sunlit", "returned": 1, "total_matching": 1,
        "limit": 5, "work_items": [item()],
    });
    let host = sends(&sent);
    let client = host.client();
    let list = client
        .work_items(&main_agent(), WorkItemFilter::Open, None, 5)
        .await
        .unwrap();
    assert_eq!(list.returned, 1);
    assert_eq!(list.work_items[0].scheduling_state, "hovering");
    assert_kept(&list, &sent);
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_work_item() {
    let host = Host::start(vec![answer(200, &item().to_string()); 5]);
    let (client, main) = (host.client(), main_agent());
    let id = WorkItemId::from_stored("work_1");
    let shown = client.work_item(&main, &id).await.unwrap();
    let todo = shown.todo_list.as_deref().unwrap();
    assert_eq!(
        (shown.state.as_str(), todo[0].state.as_str()),
        ("dormant", "dreamed")
    );
    assert_kept(&shown, &item());
    let request = CreateWorkItemRequest::default();
    let created = client.create_work_item(&main, &request).await.unwrap();
    assert_kept(&created, &item());
    let request = UpdateWorkItemRequest::default();
    let updated = client.update_work_item(&main, &id, &request).await.unwrap();
    assert_kept(&updated, &item());
    let completed = client.complete_work_item(&main, &id).await.unwrap();
    assert_kept(&completed, &item());
    let resumed = client.resume_work_item(&main, &id).await.unwrap();
    assert_kept(&resumed, &item());
}

#[tokio::test]
async fn unknown_words_do_not_spoil_waits() {
    let host = Host::start(vec![
        answer(200, &json!([wait()]).to_string()),
        answer(200, &wait().to_string()),
    ]);
    let (client, main) = (host.client(), main_agent());
    let list = client.waits(&main, ListFilter::All, 5).await.unwrap();
    let words = (list[0].kind.as_str(), list[0].status.as_str());
    assert_eq!(words, ("dawn", "drowsing"));
    assert_kept(&list, &json!([wait()]));
    let id = WaitId::from_stored("wait_1");
    let cancelled = client.cancel_wait(&main, &id).await.unwrap();
    assert_kept(&cancelled, &wait());
}

#[tokio::test]
async fn unknown_words_do_not_spoil_timers() {
    let one = answer(200, &timer().to_string());
    let host = Host::start(vec![
        answer(200, &json!([timer()]).to_string()),
        one.clone(),
        one,
    ]);
    let (client, main) = (host.client(), main_agent());
    let list = client.timers(&main, ListFilter::All, 5).await.unwrap();
    assert_eq!(list[0].status, "melting");
    assert_kept(&list, &json!([timer()]));
    let request = CreateTimerRequest::default();
    let created = client.create_timer(&main, &request).await.unwrap();
    assert_kept(&created, &timer());
    let id = TimerId::from_stored("timer_1");
    let cancelled = client.cancel_timer(&main, &id).await.unwrap();
    assert_kept(&cancelled, &timer());
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_wake() {
    let sent = json!({ "ok": true, "agent_id": "main", "disposition": "postponed" });
    let host = sends(&sent);
    let request = WakeRequest::default();
    let woken = host.client().wake(&main_agent(), &request).await.unwrap();
    assert_eq!(woken.disposition, "postponed");
    assert_kept(&woken, &sent);
}

#[tokio::test]
async fn unknown_words_do_not_spoil_an_explanation() {
    let sent = json!({
        "agent_id": "main", "status": "levitating", "scheduling_posture": posture(),
        "closure": { "outcome": "transcended", "waiting_reason": "awaiting_dawn", "runtime_posture": "floating",
            "evidence": ["it dreams"] },
        "woken_by": ["the sun"], "pending": 1,
        "oldest_unserved": { "message_id": "msg_1", "kind": "omen", "priority": "cosmic", "created_at": AT,
            "preview": "look" },
        "current_work_item": item(), "waiting_intents": [wait()],
        "pending_wake_hints": [{ "key": "ci", "count": 2, "delivery": "by_owl" }],
    });
    let host = sends(&sent);
    let explained = host.client().explain(&main_agent()).await.unwrap();
    assert_eq!(explained.oldest_unserved.as_ref().unwrap().kind, "omen");
    assert_kept(&explained, &sent);
}

fn envelope() -> Value {
    json!({
        "id": "evt_main_5", "event_seq": 5, "ts": AT, "agent_id": "main", "type": "agent_dreamed", "version": 1,
        "projection": { "name": "telepathic", "raw_payload_included": false, "redactions": [] },
        "provenance": {}, "payload": { "about": "sheep" },
    })
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_page_of_events() {
    let sent = json!({
        "events": [envelope()], "oldest_seq": 5, "newest_seq": 5, "has_older": false, "has_newer": false,
        "order": "sideways", "limit": 5, "epoch": "e",
    });
    let host = sends(&sent);
    let query = EventsQuery::default();
    let page = host.client().events(&main_agent(), query).await.unwrap();
    assert_eq!(page.order, "sideways");
    assert_eq!(page.events[0].projection.name, "telepathic");
    assert_kept(&page, &sent);
}

#[tokio::test]
async fn unknown_words_do_not_spoil_a_stream_of_events() {
    let frame = format!("id: 5\nevent: agent_dreamed\ndata: {}\n\n", envelope());
    let host = Host::start(vec![stream("e", &frame)]);
    let mut events = host.client().events_stream(main_agent(), Some(4));
    let event = events.next().await.unwrap();
    assert_kept(&event, &envelope());
}
