//! The operator guide matches the scripted provider.

use crate::support::{ScriptedRouter, request, result};
use holon_domain::model::ModelRef;
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../../../docs/guide/scripted-provider.md");

fn examples() -> Vec<Value> {
    let blocks = GUIDE
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| serde_json::from_str(block).unwrap())
        .collect()
}

#[tokio::test]
async fn the_first_script_of_the_guide_plays_as_described() {
    let stage = ScriptedRouter::with(&examples()[0]);
    assert_eq!(stage.text(&request(0, 1)).await, "I will look.");
    let mut second = request(0, 2);
    second.conversation = vec![result("a.txt")];
    let said = stage.text(&second).await;
    assert_eq!(said, "You said: Current input: hello\nI found:\na.txt");
}

#[tokio::test]
async fn every_example_of_the_guide_is_valid() {
    let examples = examples();
    assert!(examples.len() >= 3);
    for example in examples {
        let script = if example.get("rounds").is_some() {
            example
        } else {
            json!({ "rounds": [example] })
        };
        let stage = ScriptedRouter::with(&script);
        assert_eq!(
            stage
                .router
                .check(&ModelRef::parse("scripted/s.json").unwrap())
                .await,
            Ok(()),
            "{script}"
        );
    }
}
