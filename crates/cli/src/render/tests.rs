//! Rendering of responses of a host that is newer than this program.

use super::*;
use holon_client::view::{Explanation, WorkItem};
use serde_json::json;

fn answer<T: serde::de::DeserializeOwned>(value: Value) -> Answer<T> {
    Answer::new(value).expect("what every host says")
}

#[test]
fn a_word_of_a_newer_host_is_shown_as_it_is_spelled() {
    let posture = json!({ "posture": "daydreaming", "reason": "it dreams" });
    let listed = answer(json!({
        "identity": { "agent_id": "main" }, "status": "levitating", "scheduling_posture": posture, "pending": 2,
        "active_workspace_entry": { "cwd": "/w" },
    }));
    assert_eq!(
        agents(&[listed]),
        "main  levitating     2 queued  it dreams"
    );
    let one: Answer<Brief> = answer(json!({
        "id": "b", "kind": "haiku", "created_at": "2026-11-15T00:00:00.000Z", "text": "old pond\n",
    }));
    assert_eq!(brief(&one), "2026-11-15T00:00:00.000Z haiku: old pond");
    let dream = answer(json!({
        "created_at": "2026-11-15T00:00:00.000Z", "turn_index": 3, "kind": "dream_recorded", "data": { "of": "sheep" },
    }));
    assert_eq!(
        transcript(&[dream]),
        "2026-11-15T00:00:00.000Z turn 3 dream_recorded\n    {\"of\":\"sheep\"}"
    );
}

#[test]
fn a_status_of_a_newer_host_is_shown_with_its_words() {
    let agent: Answer<Agent> = answer(json!({
        "identity": { "agent_id": "main" },
        "agent": {
            "status": "levitating", "pending": 0, "total_message_count": 1, "turn_index": 1,
            "last_turn_terminal": { "kind": "evaporated", "reason": "sunshine", "completed_at": "then", "rounds": 2 },
        },
        "scheduling_posture": { "posture": "daydreaming", "reason": "it dreams" },
        "model": { "source": "fleet_policy", "effective_model": "a/b", "override_reasoning_effort": "boundless" },
        "execution": { "cwd": "/w", "policy": { "process_execution": { "path_confinement": "quantum" } } },
        "active_tasks": [{ "id": "task_1", "status": "circling", "created_at": "now", "summary": "orbit" }],
        "newest_seq": 9,
    }));
    let shown = summary(&agent);
    for part in [
        "agent      main (levitating)\nwhy        it dreams\n",
        "model      a/b (fleet_policy)\neffort     boundless\n",
        "task       task_1 (circling) since now: orbit\n",
        "last turn  evaporated (sunshine) at then, 2 rounds\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("confined"), "{shown}");
}

#[test]
fn work_and_an_explanation_of_a_newer_host_are_shown_with_their_words() {
    let item = json!({
        "id": "work_1", "agent_id": "main", "objective": "rest", "state": "dormant", "plan_status": "whispered",
        "scheduling_state": "hovering", "focus": "peripheral",
        "plan_artifact": { "path": "/p", "bytes": 3, "hash": "h" },
        "todo_list": [{ "text": "nap", "state": "dreamed" }], "revision": 2, "updated_at": "then",
    });
    let one: Answer<WorkItem> = answer(item.clone());
    let shown = work::item(&one);
    assert!(shown.contains("todo       [dreamed] nap\n"), "{shown}");
    let wait =
        json!({ "id": "wait_1", "kind": "dawn", "status": "drowsing", "waiting_for": "light" });
    assert_eq!(
        work::waits(&[answer(wait.clone())]),
        "wait_1  drowsing: light"
    );
    let timer = json!({ "id": "timer_1", "status": "melting", "fire_count": 0 });
    assert_eq!(
        work::timers(&[answer(timer)]),
        "timer_1  melting: no summary"
    );
    let explained: Answer<Explanation> = answer(json!({
        "agent_id": "main", "status": "levitating",
        "scheduling_posture": { "posture": "daydreaming", "reason": "it dreams" },
        "closure": { "outcome": "transcended", "waiting_reason": "awaiting_dawn", "evidence": ["stars"] },
        "woken_by": ["the sun"], "pending": 0, "current_work_item": item, "waiting_intents": [wait],
    }));
    let told = explain::explanation(&explained);
    for part in [
        "agent      main (levitating)\nwhy        it dreams\n",
        "stands     transcended, awaiting_dawn (stars)\n",
        "current    work_1  hovering: rest\n",
        "waits for  wait_1  drowsing: light",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
