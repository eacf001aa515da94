//! Fields that clients of the existing implementation need to read status, list, state, triggers and briefs.

use crate::world::World;
use serde_json::{Value, json};

/// Returns the names that an object lacks.
fn missing<'a>(object: &Value, names: &[&'a str]) -> Vec<&'a str> {
    let lacks = |name: &&&str| object.get(**name).is_none_or(Value::is_null);
    names.iter().filter(lacks).copied().collect()
}

const POLICY: [&str; 8] = [
    "model_ref",
    "display_name",
    "description",
    "prompt_budget_estimated_tokens",
    "compaction_trigger_estimated_tokens",
    "compaction_keep_recent_estimated_tokens",
    "runtime_max_output_tokens",
    "tool_output_truncation_estimated_tokens",
];

async fn run_once(world: &World) -> String {
    let body = r#"{"text":"say something","agent_id":"dev"}"#;
    let ran = world.ask("POST", "/control/run", body).await;
    assert_eq!(ran.status, 200, "{ran:?}");
    ran.json()["final_text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn status_list_and_state_have_the_fields_of_older_clients() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    run_once(&world).await;

    let status = world.ask("GET", "/agents/dev/status", "").await.json();
    let state = world.ask("GET", "/agents/dev/state", "").await.json();
    let list = world.ask("GET", "/agents/list", "").await.json();
    let listed = list.as_array().unwrap().iter();
    let listed = listed
        .clone()
        .find(|entry| entry["identity"]["agent_id"] == "dev")
        .unwrap();
    for entry in [
        &status["agent"]["active_workspace_entry"],
        &state["workspace"]["active_workspace_entry"],
        &listed["active_workspace_entry"],
        &status["execution"],
    ] {
        assert_eq!(entry["execution_root_id"], "canonical_root:agent_home");
        assert_eq!(entry["access_mode"], "exclusive_write");
    }
    let policy = &status["model"]["resolved_policy"];
    assert_eq!(missing(policy, &POLICY), [""; 0], "{policy:#}");
    assert_eq!(policy["model_ref"], status["model"]["effective_model"]);
    let tokens = |name: &str| policy[name].as_u64().unwrap();
    let budget = tokens("prompt_budget_estimated_tokens");
    let trigger = tokens("compaction_trigger_estimated_tokens");
    let kept = tokens("compaction_keep_recent_estimated_tokens");
    assert!(0 < kept && kept < trigger && trigger < budget, "{policy:#}");

    let episode = &status["agent"]["working_memory"]["active_episode_builder"];
    let names = ["started_at", "latest_turn_index", "latest_message_count"];
    assert_eq!(missing(episode, &names), [""; 0], "{episode:#}");
    assert_eq!(episode["latest_turn_index"], episode["end_turn_index"]);
}

#[tokio::test]
async fn triggers_have_their_id_and_their_count_under_both_names() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    let asked = r#"{"delivery_mode":"enqueue_message"}"#;
    let made = world
        .ask("POST", "/control/agents/dev/external-triggers", asked)
        .await;
    assert_eq!(made.status, 200, "{made:?}");
    let list = world.ask("GET", "/agents/dev/external-triggers", "").await;
    let state = world.ask("GET", "/agents/dev/state", "").await.json();
    let status = world.ask("GET", "/agents/dev/status", "").await.json();
    for trigger in [
        &made.json(),
        &list.json()[0],
        &state["external_triggers"][0],
        &status["active_external_triggers"][0],
    ] {
        assert!(trigger["id"].is_string(), "{trigger:#}");
        assert_eq!(trigger["external_trigger_id"], trigger["id"]);
        assert_eq!(trigger["delivery_count"], json!(0));
        assert_eq!(trigger["delivery_count"], trigger["trigger_count"]);
    }
}

#[tokio::test]
async fn the_event_of_a_brief_has_its_text() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    let said = run_once(&world).await;
    let page = world.ask("GET", "/agents/dev/events?limit=200", "").await;
    let page = page.json();
    let events = page["events"].as_array().unwrap();
    let brief = events
        .iter()
        .find(|event| event["type"] == "brief_created")
        .unwrap();
    assert_eq!(brief["payload"]["text"], json!(said));
    assert!(!said.is_empty());
}
