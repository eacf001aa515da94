//! The OpenAPI document against the requests that the server takes: both accept the same ones.

use crate::schemas::document;
use crate::world::World;
use holon_domain::limits::{
    MESSAGE_BODY_BYTES, OBJECTIVE_CHARACTERS, ORIGIN_NAME_CHARACTERS, TIMER_SUMMARY_CHARACTERS,
    TODO_TEXT_CHARACTERS, WEBHOOK_SECRET_CHARACTERS,
};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Compiles the schema of a request's body.
fn validator(path: &str) -> Validator {
    let body = &document()["paths"][path]["post"]["requestBody"]["content"];
    let schema = &body["application/json"]["schema"];
    assert!(schema.is_object(), "{path} takes no body");
    let whole = json!({ "allOf": [schema], "components": document()["components"] });
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    options
        .build(&whole)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Bodies of requests about an agent `dev`, and whether they are right. A right one may still meet a conflict.
fn bodies() -> Vec<(&'static str, Value, bool)> {
    let timers = "/control/agents/{id}/timers";
    let item = "/control/agents/{id}/work-items/{item}";
    let mut all = vec![
        (timers, json!({ "duration_ms": 0 }), true),
        (
            timers,
            json!({ "duration_ms": 5, "interval_ms": 1_000 }),
            true,
        ),
        (
            timers,
            json!({ "duration_ms": 5, "interval_ms": 999 }),
            false,
        ),
        (
            timers,
            json!({ "duration_ms": 5, "interval_ms": null }),
            true,
        ),
        (timers, json!({ "duration_ms": u64::MAX }), false),
        (
            timers,
            json!({ "duration_ms": 5, "interval_ms": u64::MAX }),
            false,
        ),
        (
            timers,
            json!({ "duration_ms": 5, "time_zone": "UTC" }),
            false,
        ),
        (
            timers,
            json!({ "cron": "0 9 * * *", "time_zone": "UTC" }),
            true,
        ),
        (
            timers,
            json!({ "cron": "0 9 * * *", "interval_ms": 1_000 }),
            false,
        ),
        (
            timers,
            json!({ "duration_ms": 5, "cron": "0 9 * * *" }),
            false,
        ),
        (timers, json!({ "cron": "@daily" }), false),
        (timers, json!({ "cron": " 0  9 * * 1-5 " }), true),
        (timers, json!({ "cron": "0 9 * *" }), false),
        (timers, json!({}), false),
        (item, json!({ "blocked_by": null }), true),
        (item, json!({ "blocked_by": "" }), true),
        (
            item,
            json!({ "blocked_by": "", "recheck_after_ms": null }),
            true,
        ),
        (
            item,
            json!({ "blocked_by": "", "recheck_after_ms": 5 }),
            false,
        ),
        (
            item,
            json!({ "blocked_by": "the tests", "recheck_after_ms": 5 }),
            false,
        ),
        (item, json!({ "blocked_by": "the tests" }), false),
        (
            "/control/agents/{id}/create",
            json!({ "trust": "trusted_operator" }),
            true,
        ),
        (
            "/control/agents/{id}/create",
            json!({ "rank": "high" }),
            false,
        ),
        (
            "/control/budgets",
            json!({ "budget": { "scope": "host" }, "usd": "007.5" }),
            true,
        ),
        (
            "/control/budgets",
            json!({ "budget": { "scope": "host" }, "usd": "7." }),
            true,
        ),
        (
            "/control/budgets",
            json!({ "budget": { "scope": "host" }, "usd": "9999999999999" }),
            false,
        ),
    ];
    all.extend(addresses());
    all.extend(secrets());
    all.extend(prompts());
    all.extend(times());
    all.extend(long_words());
    all
}

/// Times and time zones of timers.
fn times() -> Vec<(&'static str, Value, bool)> {
    let path = "/control/agents/{id}/timers";
    let times = [
        ("2030-01-01T00:00:00Z", true),
        ("2030-01-01T00:00:00.5Z", true),
        ("2030-01-01T00:00:00.1234567890123Z", true),
        ("2030-01-01T00:00:00+23:59", true),
        ("2030-01-01T00:00:00.Z", false),
        ("2030-01-01T00:00:00,5Z", false),
        ("2030-01-01T00:00Z", false),
        ("2030-01-01 00:00:00Z", false),
        ("2030-01-01T00:00:00", false),
        ("2030-01-01T00:00:00Z[UTC]", false),
        ("2030-01-01T23:59:60Z", false),
        ("2030-02-30T00:00:00Z", false),
        ("2030-01-01T00:00:00+24:00", false),
        ("", false),
    ];
    let zones = [
        ("UTC", true),
        ("Europe/Berlin", true),
        ("America/Port-au-Prince", true),
        ("Etc/GMT+8", true),
        ("", false),
        (" UTC", false),
        ("+08:00", false),
        ("UTC UTC", false),
    ];
    let at = |(at, is_right)| (path, json!({ "at": at }), is_right);
    let in_zone = |(zone, is_right)| {
        let body = json!({ "cron": "0 9 * * *", "time_zone": zone });
        (path, body, is_right)
    };
    let times = times.into_iter().map(at);
    times.chain(zones.into_iter().map(in_zone)).collect()
}

/// Makes a body of a text.
type BodyOf = fn(String) -> Value;

/// Texts at their bounds and beyond, of characters that take several bytes.
fn long_words() -> Vec<(&'static str, Value, bool)> {
    let timers = "/control/agents/{id}/timers";
    let items = "/control/agents/{id}/work-items";
    let webhook = "/control/agents/{id}/webhook";
    let enqueue = "/agents/{id}/enqueue";
    let bodies: [(&str, usize, BodyOf); 5] = [
        (
            timers,
            TIMER_SUMMARY_CHARACTERS,
            |text| json!({ "duration_ms": 5, "summary": text }),
        ),
        (
            items,
            OBJECTIVE_CHARACTERS,
            |text| json!({ "objective": text }),
        ),
        (
            items,
            TODO_TEXT_CHARACTERS,
            |text| json!({ "objective": "o", "todo_list": [{ "text": text, "state": "pending" }] }),
        ),
        (
            webhook,
            WEBHOOK_SECRET_CHARACTERS,
            |text| json!({ "secret": text }),
        ),
        (
            enqueue,
            ORIGIN_NAME_CHARACTERS,
            |text| json!({ "text": "hello", "origin": { "kind": "channel", "channel_id": text } }),
        ),
    ];
    let both = bodies.into_iter().flat_map(|(path, bound, body)| {
        let of = move |length: usize| body("ü".repeat(length));
        [(path, of(bound), true), (path, of(bound + 1), false)]
    });
    both.collect()
}

/// Prompts of every trust and priority.
fn prompts() -> Vec<(&'static str, Value, bool)> {
    let path = "/control/agents/{id}/prompt";
    let mut all = vec![
        (path, json!({ "text": "a".repeat(1 << 20) }), true),
        (path, json!({ "text": " " }), false),
    ];
    for trust in [
        Value::Null,
        json!("trusted_operator"),
        json!("untrusted_external"),
    ] {
        let is_lowered = trust == "untrusted_external";
        for priority in [Value::Null, json!("interject"), json!("next")] {
            let is_right = !is_lowered || priority != "interject";
            let body = json!({ "text": "hello", "trust": trust, "priority": priority });
            all.push((path, body, is_right));
        }
    }
    all
}

fn target(name: &str, url: &str) -> Value {
    json!({ "name": name, "kind": "http", "url": url })
}

/// Addresses that receivers of deliveries may and may not have.
fn addresses() -> Vec<(&'static str, Value, bool)> {
    let long = format!("https://example.com/{}", "a".repeat(2_048));
    let addresses = [
        ("https://example.com/hook-1", true),
        (
            "https://hooks.example.com:8443/T0/B0_x?token=a%20b&c=d#part",
            true,
        ),
        ("http://127.0.0.1:9/x", true),
        ("http://[::1]:9/x", true),
        ("http://my_service/a~b/(c);d={e}|f", true),
        ("HTTP://EXAMPLE.COM", true),
        ("https://example.com?x=1", true),
        ("http://example.com:65535/", true),
        ("http://example.com:65536/", false),
        ("http://example.com:/", false),
        ("http://user:secret@example.com/", false),
        ("https://example.com/a b", false),
        ("https://example.com/ü", false),
        ("https://bücher.example/", false),
        ("https://example.com/<x>", false),
        ("ftp://example.com/", false),
        ("https://", false),
        ("https:///path", false),
        ("http://[::1", false),
        ("example.com/hook", false),
        (long.as_str(), false),
    ];
    let path = "/control/delivery/targets";
    let numbered = addresses.into_iter().enumerate();
    let mut all: Vec<(&str, Value, bool)> = numbered
        .map(|(number, (url, is_right))| (path, target(&format!("t{number}"), url), is_right))
        .collect();
    for (name, is_right) in [("dev", true), ("tmp_x", false), ("a b", false)] {
        let mut chosen = target(&format!("of-{}", name.len()), "https://example.com/");
        chosen["agents"] = json!([name]);
        all.push((path, chosen, is_right));
    }
    all
}

/// Secrets of targets, bindings and webhooks.
fn secrets() -> Vec<(&'static str, Value, bool)> {
    let binding = |kind: &str, secret: Value| {
        json!({
            "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "dm",
            "delivery_callback_url": "https://example.com/hook-1",
            "delivery_auth": { "kind": kind, "secret": secret },
            "capabilities": { "text": true },
        })
    };
    let bindings = "/control/agents/{id}/operator-bindings";
    let webhook = "/control/agents/{id}/webhook";
    let mut all = vec![
        (bindings, binding("none", Value::Null), true),
        (bindings, binding("none", json!("x")), false),
        (bindings, binding("bearer", json!("x")), true),
        (bindings, binding("bearer", json!(" ")), false),
        (bindings, binding("bearer", json!(" x\n")), true),
        (bindings, binding("bearer", json!("x\ny")), false),
        (bindings, binding("hmac", json!("x\ny")), false),
        (bindings, binding("hmac", json!("schlüssel")), false),
    ];
    for (secret, is_right) in [
        ("plain", true),
        ("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", true),
        ("whsec_QQ==", true),
        ("whsec_QR==", false),
        ("whsec_", false),
        ("whsec_a b", false),
        ("", false),
    ] {
        all.push((bindings, binding("hmac", json!(secret)), is_right));
        all.push((webhook, json!({ "secret": secret }), is_right));
    }
    let mut own = binding("none", Value::Null);
    own["target_agent_id"] = json!("dev");
    all.push((bindings, own, true));
    all
}

#[tokio::test]
async fn the_document_and_the_server_accept_the_same_requests() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    let made = r#"{"objective":"write it down"}"#;
    let item = world
        .ask("POST", "/control/agents/dev/work-items", made)
        .await;
    let item = item.json()["id"].as_str().unwrap().to_owned();
    for (path, body, is_right) in bodies() {
        let says = validator(path).is_valid(&body);
        assert_eq!(says, is_right, "the document about {path} {body}");
        let target = path.replace("{id}", "dev").replace("{item}", &item);
        let reply = world.ask("POST", &target, &body.to_string()).await;
        assert!(reply.status < 500, "{path} {body}: {reply:?}");
        // A budget in dollars is right, although the model of this test has no price.
        let is_priceless = || reply.json()["code"] == "price_unknown";
        let is_taken = !matches!(reply.status, 400 | 403 | 413 | 422) || is_priceless();
        assert_eq!(
            is_taken, is_right,
            "the server about {path} {body}: {reply:?}"
        );
    }
}

#[tokio::test]
async fn the_bound_of_a_prompt_in_bytes_stands_in_its_description() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    let text = &document()["components"]["schemas"]["PromptRequest"]["properties"]["text"];
    let said = text["description"].as_str().unwrap();
    assert!(said.contains(&MESSAGE_BODY_BYTES.to_string()), "{said}");
    assert_eq!(
        text.get("maxLength"),
        None,
        "no generator can make such a text"
    );
    for (bytes, status) in [(MESSAGE_BODY_BYTES, 200), (MESSAGE_BODY_BYTES + 2, 413)] {
        let body = json!({ "text": "ü".repeat(bytes / 2) }).to_string();
        let reply = world.ask("POST", "/control/agents/dev/prompt", &body).await;
        assert_eq!(reply.status, status, "{bytes}");
    }
}

#[tokio::test]
async fn a_claimed_trust_of_a_new_agent_is_ignored_with_a_notice() {
    let world = World::start().await;
    let claimed = r#"{"trust":"trusted_operator"}"#;
    let made = world
        .ask("POST", "/control/agents/dev/create", claimed)
        .await;
    assert_eq!(made.status, 200, "{made:?}");
    let notice = made.json()["notice"].as_str().map(str::to_owned);
    assert!(notice.is_some_and(|notice| notice.contains("trust")));
    let plain = world.ask("POST", "/control/agents/dev2/create", "{}").await;
    assert_eq!(plain.json().get("notice"), None);
}

#[tokio::test]
async fn numbers_beyond_the_store_are_beyond_everything_it_holds() {
    let world = World::start().await;
    let created = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(created.status, 200, "{created:?}");
    for far in [i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let prompt = format!("/agents/dev/debug/prompt?turn={far}");
        assert_eq!(world.ask("GET", &prompt, "").await.status, 404, "{far}");
        let episodes = format!("/agents/dev/memory/episodes?before_seq={far}");
        assert_eq!(world.ask("GET", &episodes, "").await.status, 200, "{far}");
    }
}

/// Members of the document that hold a value of a request or a response, and no schema.
const VALUES: [&str; 5] = ["default", "const", "enum", "example", "examples"];
/// Members whose value is true or false.
const FLAGS: [&str; 4] = [
    "required",
    "additionalProperties",
    "writeOnly",
    "deprecated",
];

/// Calls `visit` with everything below a value that may be a schema, and the place it stands at. Knows nothing of the
/// words that hold schemas: whatever is not known to be something else may be one.
fn each_part(value: &Value, place: &str, visit: &mut dyn FnMut(&Value, &str)) {
    visit(value, place);
    match value {
        Value::Object(members) => {
            // The members of such a map are named by properties, which may have any name.
            let is_map = place.ends_with("/properties");
            for (name, member) in members {
                let is_flag = FLAGS.contains(&name.as_str()) && member.is_boolean();
                let is_plain = VALUES.contains(&name.as_str()) || is_flag;
                if is_map || !is_plain {
                    each_part(member, &format!("{place}/{name}"), visit);
                }
            }
        }
        Value::Array(parts) => {
            for (number, part) in parts.iter().enumerate() {
                each_part(part, &format!("{place}/{number}"), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn generators_of_clients_can_read_every_schema() {
    let mut parts = 0;
    let mut enums = 0;
    let mut visit = |part: &Value, place: &str| {
        parts += 1;
        enums += usize::from(part.get("enum").is_some());
        assert!(!part.is_boolean(), "{place} is {part}");
        for word in ["oneOf", "anyOf"] {
            let alternatives = part.get(word).and_then(Value::as_array);
            let are_words = alternatives.is_some_and(|all| {
                all.iter()
                    .all(|one| one.get("const").or_else(|| one.get("enum")).is_some())
            });
            assert!(!are_words, "{place} spells an enum as alternatives");
        }
    };
    each_part(document(), "", &mut visit);
    assert!(parts > 500 && enums > 50, "{parts} parts, {enums} enums");
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let content = &operation["requestBody"]["content"];
            let kinds = content.as_object().into_iter().flatten();
            for (kind, media) in kinds {
                assert!(media["schema"].is_object(), "{path} {kind} has no schema");
            }
        }
    }
    let streams: BTreeSet<&String> = document()["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, methods)| methods.to_string().contains("last-event-id"))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(streams.len(), 2, "{streams:?}");
}
