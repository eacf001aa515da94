//! What holds and where it is from; and the schema, which is the table of keys.

use crate::support::{Home, env};
use holon_config::{Effective, KEYS, Key, schema};

fn rows(pairs: &[(&str, &str)], content: &str) -> Vec<(String, String, &'static str)> {
    let home = Home::new();
    let effective = home.settings(&env(pairs), content).effective();
    effective
        .into_iter()
        .map(|Effective { key, value, source }| (key, value.unwrap_or_default(), source))
        .collect()
}

const HOST_ZONE: &str = "Asia/Tokyo";

#[test]
fn with_nothing_set_every_single_key_shows_the_default_of_the_schema() {
    let expected: Vec<(String, String, &str)> = KEYS
        .iter()
        .filter(|key| key.is_single())
        .map(|key| (key.name.to_owned(), default_of(key).to_owned(), "builtin"))
        .collect();
    assert_eq!(rows(&[("TZ", HOST_ZONE)], ""), expected);
}

/// Default of a key on a host in a zone.
fn default_of(key: &Key) -> &str {
    match key.name {
        "operator.time_zone" | "budgets.time_zone" => HOST_ZONE,
        _ => key.default.unwrap_or_default(),
    }
}

#[test]
fn every_value_that_was_set_is_shown_with_its_source_and_nothing_secret_is() {
    let content = r#"
        model.default = "a/b"
        model.unknown_fallback.context_window_tokens = 9_000
        models.catalog."a/b".display_name = "B"
        [providers.mine]
        transport = "openai_responses"
        base_url = "https://m.example"
        auth = { source = "env", env = "MINE_KEY" }
        "#;
    let pairs = [
        ("HOLON_MAX_OUTPUT_TOKENS", "7"),
        ("OPENAI_BASE_URL", "https://o.example"),
        ("HOLON_OPENAI_CODEX_REASONING_EFFORT", "high"),
        ("MINE_KEY", "sk-hidden"),
        ("OPENAI_API_KEY", "sk-hidden"),
    ];
    let rows = rows(&pairs, content);
    for row in [
        ("model.default", "a/b", "file"),
        (
            "model.unknown_fallback.context_window_tokens",
            "9000",
            "file",
        ),
        ("runtime.max_output_tokens", "7", "environment"),
        ("models.catalog.\"a/b\".display_name", "B", "file"),
        ("providers.mine.auth.env", "[\"MINE_KEY\"]", "file"),
        ("providers.mine.base_url", "https://m.example", "file"),
        (
            "providers.openai.base_url",
            "https://o.example",
            "environment",
        ),
        (
            "providers.openai-codex.reasoning_effort",
            "high",
            "environment",
        ),
    ] {
        let found = rows
            .iter()
            .any(|(key, value, source)| (key.as_str(), value.as_str(), *source) == row);
        assert!(found, "{row:?} in {rows:?}");
    }
    assert!(!format!("{rows:?}").contains("hidden"));
}

#[test]
fn the_schema_lists_every_key_with_what_it_takes() {
    let schema = schema();
    assert_eq!(schema.len(), KEYS.len());
    let entry = |name: &str| {
        let entry = schema.iter().find(|entry| entry.key == name);
        serde_json::to_value(entry.expect("is listed")).expect("serialises")
    };
    let tokens = entry("runtime.max_output_tokens");
    assert_eq!(tokens["kind"], "number");
    assert_eq!(
        (&tokens["min"], &tokens["max"]),
        (&1.into(), &100_000_000.into())
    );
    assert_eq!(tokens["default"], "8192");
    assert_eq!(tokens["variables"][0], "HOLON_MAX_OUTPUT_TOKENS");
    let source = entry("providers.<id>.auth.source");
    assert_eq!(source["allowed"].as_array().map(Vec::len), Some(5));
}
