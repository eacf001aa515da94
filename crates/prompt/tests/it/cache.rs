//! The cache identity: changes that keep the key, and changes that rotate it.

use crate::fixture::{Scene, at, operator, tool};
use holon_domain::AgentId;
use holon_domain::model::ModelRef;
use holon_domain::tool_set::ToolSet;
use serde_json::json;

fn key(scene: &Scene) -> String {
    scene.built().frame.cache.prompt_cache_key
}

fn fingerprint(scene: &Scene) -> String {
    scene.built().frame.cache.context_fingerprint
}

fn changed(change: impl FnOnce(&mut Scene)) -> Scene {
    let mut scene = Scene::new();
    change(&mut scene);
    scene
}

#[test]
fn the_key_stays_when_only_the_turn_changes_and_the_fingerprint_does_not() {
    let base = Scene::new();
    for scene in [
        changed(|s| s.current = operator(9, "Something else.")),
        changed(|s| s.now = at(5_000)),
    ] {
        assert_eq!(key(&scene), key(&base));
        assert_ne!(fingerprint(&scene), fingerprint(&base));
    }
}

#[test]
fn the_key_stays_when_facts_change_that_no_prompt_shows() {
    let base = Scene::new();
    for scene in [
        changed(|s| s.agent.counters.turns = 99),
        changed(|s| s.agent.generation = 7),
        changed(|s| s.agent.last_wake_reason = Some("timer".into())),
    ] {
        assert_eq!(scene.built(), base.built());
    }
}

#[test]
fn the_key_rotates_with_the_agent_its_workspace_its_model_and_its_tools() {
    let base = key(&Scene::new());
    for scene in [
        changed(|s| s.agent.settings.identity.agent_id = AgentId::parse("other").expect("a name")),
        changed(|s| s.agent.settings.workspace.workspace_anchor = "/project".into()),
        changed(|s| s.agent.settings.workspace.cwd = "/project/sub".into()),
        changed(|s| s.model = ModelRef::parse("other/model").expect("a reference")),
        changed(|s| s.tools = ToolSet::new([s.tools.to_vec(), vec![tool("Enqueue")]].concat())),
        changed(|s| s.tools = ToolSet::default()),
        changed(|s| {
            let mut tools = s.tools.to_vec();
            tools[0].parameters = json!({"type": "object", "properties": {"reason": {}}});
            s.tools = ToolSet::new(tools);
        }),
    ] {
        assert_ne!(key(&scene), base);
    }
}

#[test]
fn a_frame_is_a_function_of_its_input() {
    assert_eq!(Scene::new().built(), Scene::new().built());
    let cache = Scene::new().built().frame.cache;
    assert_eq!(
        (
            cache.agent_id.as_str(),
            cache.working_memory_revision,
            cache.compression_epoch
        ),
        ("main", 0, 0)
    );
    let mut changed = Scene::new();
    changed.memory.working_memory_revision = 7;
    let later = changed.built().frame.cache;
    assert_eq!(later.working_memory_revision, 7);
    assert_eq!(later.prompt_cache_key, cache.prompt_cache_key);
    assert_eq!(
        (
            cache.prompt_cache_key.len(),
            cache.context_fingerprint.len()
        ),
        (16, 16)
    );
}
