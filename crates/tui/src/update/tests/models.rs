//! The page of models begins at the model in use, and removes the agent's own one only when asked twice.

use super::*;
use crate::msg::Question as Q;

/// Opens the page of models of an agent whose model comes from this source.
fn open(source: &str, listed: &[&str]) -> Model {
    let mut model = with_history(80, 24, Vec::new());
    let mut agent = agent_json("idle", "rests");
    agent["model"] = json!({
        "source": source, "effective_model": "a/own", "runtime_default_model": "b/other",
        "override_reasoning_effort": "high",
    });
    model.status = Some(Box::new(Answer::new(agent).unwrap()));
    let commands = enter(&mut model, "/model");
    let listed: Vec<_> = listed
        .iter()
        .map(|name| json!({"model": name, "available": true}))
        .collect();
    let models = Answer::new(json!({ "model_availability": listed })).unwrap();
    reply(
        &mut model,
        &commands,
        &Q::Models,
        Reply::Models(Box::new(models)),
    );
    model
}

fn selected(model: &Model) -> &str {
    let top = model.overlays.last().unwrap();
    &top.selected_entry().unwrap().id
}

#[test]
fn the_page_opens_at_the_model_in_use() {
    let many: Vec<String> = (0..50).map(|n| format!("m/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (source, listed, wanted) in [
        ("agent_override", vec!["b/other", "a/own"], "a/own"),
        (
            "agent_override",
            [many.clone(), vec!["a/own"]].concat(),
            "a/own",
        ),
        ("agent_override", many, "a/own"),
        ("runtime_default", vec!["b/other", "a/own"], ""),
    ] {
        let model = open(source, &listed);
        assert_eq!(selected(&model), wanted, "{source} {listed:?}");
        assert!(screen(&model).contains("in use"), "{}", screen(&model));
    }
}

#[test]
fn enter_again_and_again_keeps_the_model_and_its_effort() {
    let mut model = open("agent_override", &["b/other", "a/own"]);
    assert!(questions(&press(&mut model, KeyCode::Enter)).is_empty());
    assert_eq!(selected(&model), "high");
    let commands = press(&mut model, KeyCode::Enter);
    let same = Q::SetModel {
        model: "a/own".to_owned(),
        effort: Some("high".to_owned()),
    };
    assert_eq!(questions(&commands), [&same]);
}

#[test]
fn the_agents_own_model_is_removed_by_the_second_press_only() {
    let mut model = open("agent_override", &["a/own", "b/other"]);
    press(&mut model, KeyCode::Up);
    assert_eq!(selected(&model), "");
    assert_eq!(press(&mut model, KeyCode::Enter), []);
    let shown = screen(&model);
    assert!(
        shown.contains("Enter once more: remove the agent's own model a/own"),
        "{shown}"
    );
    // Any other key takes the first press back.
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Up);
    assert_eq!(press(&mut model, KeyCode::Enter), []);
    let commands = press(&mut model, KeyCode::Enter);
    assert_eq!(questions(&commands), [&Q::ClearModel]);
    assert!(model.overlays.is_empty());
}
