//! The status of the host and the fields of an agent's state.

use crate::world::World;

#[tokio::test]
async fn the_host_reports_its_process_its_activity_and_its_surface() {
    let world = World::start().await;
    let status = world.ask("GET", "/control/runtime/status", "").await;
    assert_eq!(status.status, 200, "{status:?}");
    let status = status.json();
    for (pointer, value) in [
        ("/ok", serde_json::json!(true)),
        ("/healthy", serde_json::json!(true)),
        ("/pid", serde_json::json!(4711)),
        ("/home_dir", serde_json::json!("/srv/holon")),
        ("/http_addr", serde_json::json!(world.address.to_string())),
        ("/activity/active_task_count", serde_json::json!(0)),
        (
            "/startup_surface/default_agent_id",
            serde_json::json!("main"),
        ),
        (
            "/startup_surface/control_auth_mode",
            serde_json::json!("required"),
        ),
    ] {
        assert_eq!(status.pointer(pointer), Some(&value), "{pointer}");
    }
    let state = status["activity"]["state"].as_str().unwrap_or_default();
    assert!(
        ["idle", "waiting", "processing"].contains(&state),
        "{state}"
    );
    assert!(status["activity"]["active_agent_count"].as_u64() >= Some(2));
    let ready = world
        .ask("GET", "/control/runtime/readiness", "")
        .await
        .json();
    assert_eq!(ready["healthy"], true);
    assert_eq!(
        (ready.get("activity"), ready.get("last_failure")),
        (None, None)
    );
    let report = world.local().host_report().await.unwrap().unwrap();
    assert!(report.activity.is_some(), "the client reads it");
}

#[tokio::test]
async fn a_state_has_every_required_field_of_an_agents_state() {
    let world = World::start().await;
    for target in ["/agents/main/state", "/state"] {
        let state = world.ask("GET", target, "").await.json();
        let agent = &state["agent"]["agent"];
        for field in [
            "id",
            "status",
            "pending",
            "active_task_ids",
            "compacted_message_count",
            "working_memory",
            "total_message_count",
            "total_input_tokens",
            "total_output_tokens",
            "total_model_rounds",
            "tool_latency",
            "execution_profile",
            "attached_workspaces",
            "active_workspace_id",
            "cwd",
        ] {
            assert!(agent.get(field).is_some(), "{field} in {agent}");
        }
    }
}

#[tokio::test]
async fn a_draft_shows_the_prompt_that_a_text_would_open_a_turn_with() {
    let world = World::start().await;
    let before = world.engine.newest("main").await;
    let body = r#"{"text":"count the sheep"}"#;
    let reply = world
        .ask("POST", "/control/agents/main/debug-prompt", body)
        .await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let dump = reply.json()["dump"].clone();
    let blocks = dump["blocks"].as_array().unwrap();
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    let holds = texts.iter().filter(|text| text.contains("count the sheep"));
    assert_eq!(holds.count(), 1, "{texts:?}");
    assert!(dump["prompt_tokens"].as_u64() > Some(100), "{dump}");
    assert_eq!(
        world.engine.newest("main").await,
        before,
        "nothing is stored"
    );
}
