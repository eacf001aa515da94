//! The OpenAPI document against the answers of the server: every answer that a test reads is checked.

use crate::world::{Reply, World};
use holon_server::{openapi_document, routes};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::sync::OnceLock;

pub(crate) fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(openapi_document()).unwrap())
}

/// Compiles the schema of an answer. `None` if the document describes no such answer.
fn validator(method: &str, path: &str, answer: &str) -> Option<Validator> {
    let operation = document()["paths"][path].get(method.to_lowercase())?;
    let content = &operation["responses"][answer]["content"];
    let schema = content.get("application/json")?.get("schema")?;
    let whole = json!({ "allOf": [schema], "components": document()["components"] });
    let compiled = jsonschema::draft202012::new(&whole);
    Some(compiled.unwrap_or_else(|error| panic!("{method} {path}: {error}")))
}

/// Returns the path of the document that a target belongs to.
fn pattern_of(target: &str) -> Option<&'static str> {
    let path = target.split('?').next().unwrap_or(target);
    let fits = |pattern: &&str| {
        let mut of_pattern = pattern.split('/');
        let mut of_path = path.split('/');
        loop {
            match (of_pattern.next(), of_path.next()) {
                (None, None) => return true,
                (Some(name), Some(word)) if name.starts_with('{') && !word.is_empty() => {}
                (Some(name), Some(word)) if name == word => {}
                _ => return false,
            }
        }
    };
    let patterns = routes().into_iter().map(|(_, pattern)| pattern);
    // A path with fewer names is the closer one.
    patterns
        .filter(fits)
        .min_by_key(|pattern| pattern.matches('{').count())
}

/// Checks an answer with the schema of its route.
pub(crate) fn check(method: &str, target: &str, reply: &Reply) {
    let is_json = reply
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"));
    let Some(pattern) = pattern_of(target).filter(|_| is_json) else {
        return;
    };
    let answer = if reply.status == 200 {
        "200"
    } else {
        "default"
    };
    let Some(validator) = validator(method, pattern, answer) else {
        return;
    };
    let body = reply.json();
    let errors: Vec<String> = validator
        .iter_errors(&body)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "{method} {target}: {errors:#?} in {body:#}"
    );
}

#[test]
fn every_answer_of_the_document_says_what_it_holds() {
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let content = &operation["responses"]["200"]["content"];
            let Some(schema) = content.get("application/json") else {
                continue;
            };
            if path == "/openapi.json" {
                continue;
            }
            let schema = &schema["schema"];
            let is_named = schema.get("$ref").is_some();
            let is_list = schema["type"] == "array" && schema["items"].get("$ref").is_some();
            assert!(is_named || is_list, "{method} {path}: {schema}");
        }
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let wrong = Reply {
        status: 200,
        head: "HTTP/1.1 200 OK\r\ncontent-type: application/json".to_owned(),
        body: r#"{"ok":"yes"}"#.to_owned(),
    };
    let noticed = std::panic::catch_unwind(|| check("GET", "/agents/main/status", &wrong));
    assert!(noticed.is_err());
}

#[tokio::test]
async fn the_answers_about_an_agent_are_as_described() {
    let world = World::start().await;
    let create = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(create.status, 200, "{create:?}");
    let item = world
        .ask(
            "POST",
            "/control/agents/dev/work-items",
            r#"{"objective":"write it down"}"#,
        )
        .await;
    assert_eq!(item.status, 200, "{item:?}");
    let timer = world
        .ask(
            "POST",
            "/control/agents/dev/timers",
            r#"{"duration_ms":3600000,"summary":"look"}"#,
        )
        .await;
    assert_eq!(timer.status, 200, "{timer:?}");
    let reads = routes().into_iter();
    let reads = reads.filter(|(method, path)| {
        method == "GET"
            && !path.ends_with("/stream")
            && !path.contains("{item}")
            && !path.contains("{task}")
    });
    for (_, path) in reads {
        // The check of the schema is part of the question.
        let target = path.replace("{id}", "dev");
        let reply = world.ask("GET", &target, "").await;
        assert!(reply.status < 500, "{target}: {reply:?}");
    }
}
