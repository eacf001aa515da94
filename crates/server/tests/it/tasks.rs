//! Routes about tasks: their queries, bodies and refusals.

use crate::world::World;
use holon_domain::limits::TASK_INPUT_BYTES;
use serde_json::json;

#[tokio::test]
async fn tasks_are_listed_and_one_that_does_not_exist_is_not_found() {
    let world = World::start().await;
    for target in [
        "/agents/main/tasks",
        "/agents/main/tasks?filter=all&limit=5",
    ] {
        let reply = world.ask("GET", target, "").await;
        assert_eq!((reply.status, reply.json()), (200, json!([])), "{target}");
    }
    let before = world.engine.commits().await;
    for (method, target, body) in [
        ("GET", "/agents/main/tasks/task_1", ""),
        ("GET", "/agents/main/tasks/task_1/output?tail_lines=3", ""),
        ("POST", "/control/agents/main/tasks/task_1/stop", ""),
        (
            "POST",
            "/control/agents/main/tasks/task_1/input",
            r#"{"input":"x"}"#,
        ),
    ] {
        let reply = world.ask(method, target, body).await;
        assert_eq!(reply.refusal(), (404, "task_not_found".into()), "{target}");
    }
    let reply = world.ask("GET", "/agents/none/tasks", "").await;
    assert_eq!(reply.refusal(), (404, "agent_not_found".into()));
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn queries_and_bodies_about_tasks_keep_their_bounds() {
    let world = World::start().await;
    for (query, code) in [
        ("tail_lines=3&after_byte=0", "invalid_query"),
        ("tail_lines=0", "invalid_limit"),
        ("wait_ms=600001", "invalid_limit"),
        ("max_output_tokens=0", "invalid_limit"),
        ("max_output_tokens=64001", "invalid_limit"),
        ("after_byte=-1", "invalid_query"),
    ] {
        let target = format!("/agents/main/tasks/task_1/output?{query}");
        let reply = world.ask("GET", &target, "").await;
        assert_eq!(reply.refusal(), (400, code.into()), "{query}");
    }
    let reply = world.ask("GET", "/agents/main/tasks?limit=0", "").await;
    assert_eq!(reply.refusal(), (400, "invalid_limit".into()));
    let large = json!({"input": "x".repeat(TASK_INPUT_BYTES + 1)}).to_string();
    for (body, refused) in [
        ("{}", (400, "invalid_request")),
        (r#"{"input":""}"#, (400, "invalid_request")),
        (r#"{"input":"x","force":true}"#, (400, "invalid_request")),
        (large.as_str(), (413, "too_large")),
    ] {
        let target = "/control/agents/main/tasks/task_1/input";
        let reply = world.ask("POST", target, body).await;
        assert_eq!(reply.refusal(), (refused.0, refused.1.into()));
    }
}

#[tokio::test]
async fn aborts_and_deletes_are_guarded() {
    let world = World::start().await;
    for (target, body, refused) in [
        (
            "main/control",
            r#"{"action":"abort"}"#,
            (409, "no_current_run"),
        ),
        (
            "main/control",
            r#"{"action":"abort","run_id":"run_x"}"#,
            (409, "no_current_run"),
        ),
        (
            "main/control",
            r#"{"action":"stop","run_id":"run_x"}"#,
            (400, "invalid_request"),
        ),
        ("main/current-run/abort", "", (409, "no_current_run")),
        (
            "main/current-run/abort",
            r#"{"mode":"later"}"#,
            (400, "invalid_request"),
        ),
        ("main/delete", "", (409, "default_agent")),
        ("none/delete", "", (404, "agent_not_found")),
    ] {
        let target = format!("/control/agents/{target}");
        let reply = world.ask("POST", &target, body).await;
        assert_eq!(
            reply.refusal(),
            (refused.0, refused.1.into()),
            "{target} {body}"
        );
    }
    let gone = world.ask("POST", "/control/agents/dev/delete", "").await;
    assert_eq!(
        (gone.status, gone.json()),
        (
            200,
            json!({"ok": true, "agent_id": "dev", "delete_requested": true})
        )
    );
    while world.ask("GET", "/agents/dev/status", "").await.status != 404 {}
    let left = world.ask("GET", "/agents/deleted", "").await.json();
    assert_eq!(left[0]["agent_id"], "dev");
}
