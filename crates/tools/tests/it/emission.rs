//! Source and emitted schemas of every tool, checked by a real validator and by rules written independently of the
//! emitter.

use crate::samples::{accepted, refused, spelled_out};
use holon_domain::agent::ProfilePreset;
use holon_domain::limits::{
    BATCH_COMMAND_MS, BATCH_COMMANDS, SLEEP_MAX_MS, TASK_INPUT_BYTES, TASK_WAIT_MS,
    TOOL_OUTPUT_TOKENS, TOOL_OUTPUT_TOKENS_MAX, YIELD_MAX_MS, YIELD_MS,
};
use holon_domain::tool::{ToolFamily, ToolSpec};
use holon_domain::web::WebTools;
use holon_tools::{SchemaMode, all, emit, interpret, offered};
use serde_json::{Value, json};

fn valid(schema: &Value, instance: &Value) -> bool {
    jsonschema::draft202012::new(schema)
        .expect("a schema")
        .is_valid(instance)
}

fn parameters(spec: &ToolSpec, mode: SchemaMode) -> Value {
    emit(spec, mode).parameters
}

#[test]
fn every_schema_is_a_json_schema() {
    for spec in all() {
        for schema in [
            spec.input_schema.clone(),
            parameters(spec, SchemaMode::Relaxed),
            parameters(spec, SchemaMode::Strict),
        ] {
            jsonschema::draft202012::meta::validate(&schema)
                .unwrap_or_else(|error| panic!("{}: {error}", spec.name));
            assert_eq!(schema["type"], "object", "{}", spec.name);
        }
    }
}

/// Collects the arguments of a schema at every depth that lack a description of more than four words.
fn undescribed(schema: &Value, place: &str, found: &mut Vec<String>) {
    let members = schema["properties"].as_object();
    for (name, property) in members.into_iter().flatten() {
        let place = format!("{place}.{name}");
        undescribed(property, &place, found);
        undescribed(&property["items"], &place, found);
        let description = property["description"].as_str().unwrap_or_default();
        if description.split_whitespace().count() <= 4 {
            found.push(place);
        }
    }
}

#[test]
fn every_offered_tool_and_argument_is_described_and_tools_are_sorted_by_name() {
    for preset in [ProfilePreset::PublicNamed, ProfilePreset::PrivateChild] {
        let tools = offered(preset, false, WebTools::ALL);
        let mut found = Vec::new();
        for tool in tools.iter() {
            let words = tool.description.split_whitespace().count();
            assert!(words > 4, "{}: {}", tool.name, tool.description);
            undescribed(&tool.parameters, &tool.name, &mut found);
        }
        assert_eq!(found, Vec::<String>::new());
        assert!(tools.iter().is_sorted_by_key(|tool| tool.name.as_str()));
    }
}

#[test]
fn the_bounds_a_description_names_are_the_bounds_that_hold() {
    let tokens: [u64; 2] = [TOOL_OUTPUT_TOKENS.into(), TOOL_OUTPUT_TOKENS_MAX.into()];
    let item = "/properties/items/items/properties";
    for (tool, place, bounds) in [
        (
            "ExecCommand",
            "/properties/yield_time_ms",
            vec![YIELD_MS, YIELD_MAX_MS],
        ),
        (
            "ExecCommand",
            "/properties/max_output_tokens",
            tokens.to_vec(),
        ),
        (
            "ExecCommandBatch",
            "/properties/items",
            vec![BATCH_COMMANDS as u64],
        ),
        (
            "ExecCommandBatch",
            &format!("{item}/timeout_ms"),
            vec![BATCH_COMMAND_MS],
        ),
        (
            "TaskInput",
            "/properties/input",
            vec![TASK_INPUT_BYTES as u64],
        ),
        ("TaskOutput", "/properties/timeout_ms", vec![TASK_WAIT_MS]),
    ] {
        let spec = all().iter().find(|spec| spec.name == tool).expect("a tool");
        let property = spec.input_schema.pointer(place).expect("a property");
        let description = property["description"].to_string();
        for bound in bounds {
            assert!(
                description.contains(&bound.to_string()),
                "{tool} {place} names {bound}: {description}"
            );
        }
    }
    assert_eq!(
        SLEEP_MAX_MS,
        24 * 60 * 60 * 1_000,
        "Sleep says: at most one day"
    );
}

#[test]
fn samples_are_judged_alike_by_the_schemas_and_by_the_tools() {
    for spec in all() {
        let (relaxed, strict) = (
            parameters(spec, SchemaMode::Relaxed),
            parameters(spec, SchemaMode::Strict),
        );
        for sample in accepted(&spec.name) {
            let full = spelled_out(&strict, &sample);
            assert!(
                valid(&spec.input_schema, &sample),
                "source of {}: {sample}",
                spec.name
            );
            assert!(valid(&relaxed, &sample), "relaxed {}: {sample}", spec.name);
            assert!(valid(&strict, &full), "strict {}: {full}", spec.name);
            let meant =
                interpret(&spec.name, &sample, ProfilePreset::PublicNamed).expect("accepted");
            assert_eq!(
                interpret(&spec.name, &full, ProfilePreset::PublicNamed),
                Ok(meant),
                "{full}"
            );
        }
        for sample in refused(&spec.name) {
            // A relaxed schema leaves bounds out, and the source leaves some objects open.
            assert!(
                !valid(&spec.input_schema, &sample) || !valid(&relaxed, &sample),
                "{}: {sample}",
                spec.name
            );
            assert!(
                interpret(&spec.name, &sample, ProfilePreset::PublicNamed).is_err(),
                "{}: {sample}",
                spec.name
            );
        }
    }
}

#[test]
fn emissions_are_as_published() {
    for spec in all() {
        let emitted = json!({
            "relaxed": emit(spec, SchemaMode::Relaxed),
            "strict": emit(spec, SchemaMode::Strict),
        });
        insta::assert_json_snapshot!(spec.name.clone(), emitted);
    }
}

/// Collects every rule that `schema` breaks, at any depth. Independent of the emitter: it descends into everything that
/// looks like a schema and states the rules of the contract.
fn violations(schema: &Value, mode: SchemaMode, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(n, inner)| violations(inner, mode, &format!("{at}/{n}"), found));
        }
        Value::Object(node) => {
            for noise in ["$schema", "title"] {
                if node.get(noise).is_some_and(Value::is_string) {
                    found.push(format!("{at}: {noise}"));
                }
            }
            for bound in ["minLength", "minimum", "maximum", "minItems", "maxItems"] {
                if mode == SchemaMode::Relaxed && node.get(bound).is_some_and(Value::is_number) {
                    found.push(format!("{at}: {bound}"));
                }
            }
            if node.contains_key("properties")
                || node
                    .get("type")
                    .is_some_and(|t| t.to_string().contains("\"object\""))
            {
                object_violations(schema, mode, at, found);
            }
            let skipped = ["enum", "const", "default", "required", "type", "examples"];
            for (key, inner) in node
                .iter()
                .filter(|(key, _)| !skipped.contains(&key.as_str()))
            {
                violations(inner, mode, &format!("{at}/{key}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn object_violations(schema: &Value, mode: SchemaMode, at: &str, found: &mut Vec<String>) {
    if schema["additionalProperties"] != json!(false) {
        found.push(format!("{at}: open"));
    }
    let Some(properties) = schema["properties"].as_object() else {
        found.push(format!("{at}: no properties"));
        return;
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if mode == SchemaMode::Strict
        && properties
            .keys()
            .any(|name| !required.contains(&name.as_str()))
    {
        found.push(format!("{at}: not all required"));
    }
}

fn broken(schema: &Value, mode: SchemaMode) -> Vec<String> {
    let mut found = Vec::new();
    violations(schema, mode, "", &mut found);
    found
}

#[test]
fn every_emission_obeys_the_rules_of_its_mode() {
    for spec in all() {
        for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
            let emitted = emit(spec, mode);
            assert_eq!(emitted.strict, mode == SchemaMode::Strict);
            assert_eq!(emitted.name, spec.name);
            assert_eq!(
                broken(&emitted.parameters, mode),
                Vec::<String>::new(),
                "{} {mode:?}",
                spec.name
            );
        }
        let source_required = &spec.input_schema["required"];
        assert_eq!(
            &parameters(spec, SchemaMode::Relaxed)["required"],
            source_required,
            "{}",
            spec.name
        );
    }
}

/// A tool more deeply nested than any real one, with each construct that the rules mention.
fn contrived() -> ToolSpec {
    let point = json!({
        "type": "object",
        "properties": {"x": {"type": "integer"}, "label": {"type": "string"}},
        "required": ["x"],
    });
    ToolSpec {
        name: "Contrived".into(),
        description: "For the test.".into(),
        family: ToolFamily::Core,
        input_schema: json!({
            "type": "object",
            "$defs": {"Point": point},
            "properties": {
                "always": {"$ref": "#/$defs/Point"},
                "sometimes": {"$ref": "#/$defs/Point", "description": "A place."},
                "many": {"type": "array", "items": point},
                "either": {"anyOf": [point, {"type": "string"}]},
                "one": {"oneOf": [{"const": "a"}, {"const": "b"}]},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "fixed": {"const": "only"},
                "untyped_enum": {"enum": ["p", "q"]},
                "both": {"allOf": [{"type": "string"}]},
                "loose": {"type": ["string", "integer"]},
                "already": {"type": ["string", "null"]},
                "already_either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "anything": true,
            },
            "required": ["always"],
        }),
    }
}

#[test]
fn strict_rules_hold_inside_arrays_alternatives_and_definitions() {
    let strict = parameters(&contrived(), SchemaMode::Strict);
    assert_eq!(broken(&strict, SchemaMode::Strict), Vec::<String>::new());
    jsonschema::draft202012::meta::validate(&strict).expect("still a schema");
    let absent = spelled_out(&strict, &json!({"always": {"x": 1, "label": null}}));
    assert!(
        valid(&strict, &absent),
        "every optional argument accepts null: {absent}"
    );
    for name in strict["properties"]
        .as_object()
        .expect("properties")
        .keys()
        .filter(|name| *name != "always")
    {
        let mut missing = absent.clone();
        missing.as_object_mut().expect("arguments").remove(name);
        assert!(!valid(&strict, &missing), "{name} must be present");
    }
    let mut required_null = absent;
    required_null["always"] = Value::Null;
    assert!(
        !valid(&strict, &required_null),
        "a required argument does not become nullable"
    );
}

#[test]
fn strict_emission_still_accepts_what_the_source_accepts() {
    let spec = contrived();
    let strict = parameters(&spec, SchemaMode::Strict);
    let point = json!({"x": 1, "label": "here"});
    for (name, value) in [
        ("sometimes", point.clone()),
        ("many", json!([point, {"x": 2, "label": null}])),
        ("either", point.clone()),
        ("either", json!("text")),
        ("one", json!("a")),
        ("mode", json!("slow")),
        ("fixed", json!("only")),
        ("untyped_enum", json!("q")),
        ("both", json!("text")),
        ("loose", json!(3)),
        ("anything", json!([1, 2])),
    ] {
        let arguments = spelled_out(&strict, &json!({"always": point, name: value}));
        assert!(valid(&strict, &arguments), "{name}: {arguments}");
    }
    assert_eq!(
        strict["properties"]["mode"]["enum"],
        json!(["fast", "slow", null])
    );
    assert_eq!(strict["properties"]["sometimes"]["description"], "A place.");
}

#[test]
fn relaxed_emission_closes_objects_and_keeps_what_is_required() {
    let relaxed = parameters(&contrived(), SchemaMode::Relaxed);
    assert_eq!(broken(&relaxed, SchemaMode::Relaxed), Vec::<String>::new());
    assert_eq!(relaxed["required"], json!(["always"]));
    assert!(valid(&relaxed, &json!({"always": {"x": 1}})));
    assert!(!valid(&relaxed, &json!({"always": {"x": 1, "z": 2}})));
    assert!(
        !valid(&relaxed, &json!({"always": {"x": 1}, "mode": null})),
        "relaxed adds no null"
    );
}
