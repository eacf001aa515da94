//! Fields of requests that go together: which of them a request has, and what the others must be then.

use super::bounds::{ABSOLUTE_PATH, TRIMMED_SECRET, TRIMMED_SIGNING_SECRET, WORDS, new_agent_id};
use crate::route::delivery::{ADDRESS_BYTES, HTTP_ADDRESS};
use holon_domain::limits::{CREDENTIAL_BYTES, ORIGIN_NAME_CHARACTERS};
use serde_json::{Map, Value, json};

/// Exactly one of these fields has a value.
pub(super) fn one_of(fields: &[&str]) -> Value {
    let alternative = |chosen: &&str| {
        let others = fields.iter().filter(|field| field != &chosen);
        let absent: Map<String, Value> = others
            .map(|field| ((*field).to_owned(), json!({ "type": "null" })))
            .collect();
        let mut properties = absent;
        properties.insert((*chosen).to_owned(), json!({ "not": { "type": "null" } }));
        json!({ "required": [chosen], "properties": properties })
    };
    fields.iter().map(alternative).collect()
}

/// Only a prompt of full trust interjects.
pub(super) fn prompt_priority() -> Value {
    json!([
        { "properties": { "trust": { "enum": ["trusted_operator", null] } } },
        { "properties": { "priority": { "enum": ["next", "normal", "background", null] } } },
    ])
}

/// An interval belongs to the first two, and a time zone to a cron expression.
pub(super) fn timer_slots() -> Value {
    let mut slots = one_of(&["duration_ms", "at", "cron"]);
    for (slot, absent) in
        slots
            .as_array_mut()
            .into_iter()
            .flatten()
            .zip(["time_zone", "time_zone", "interval_ms"])
    {
        slot["properties"][absent] = json!({ "type": "null" });
    }
    slots
}

/// The scope of a budget says what its key names.
pub(super) fn budget_name() -> Value {
    let scoped = |scopes: &[&str], key: Value| json!({ "properties": { "scope": { "enum": scopes }, "key": key }, "required": ["scope", "key"] });
    json!([
        scoped(&["agent", "tree"], new_agent_id()),
        scoped(&["item"], json!({ "type": "string", "minLength": 1 })),
        { "properties": { "scope": { "const": "host" }, "key": { "type": "null" } }, "required": ["scope"] },
    ])
}

/// A budget limits tokens, money or both.
pub(super) fn budget_limits() -> Value {
    json!([
        { "properties": { "tokens": { "type": "integer" } }, "required": ["tokens"] },
        { "properties": { "usd": { "type": "string" } }, "required": ["usd"] },
    ])
}

/// A secret belongs to the two kinds of authentication that use it. Without one a binding keeps the one it has.
pub(super) fn delivery_auth() -> Value {
    let optional = |mut secret: Value| {
        secret["type"] = json!(["string", "null"]);
        secret
    };
    json!([
        { "properties": { "kind": { "const": "bearer" }, "secret": optional(bearer_secret()) } },
        { "properties": { "kind": { "const": "hmac" }, "secret": optional(hmac_secret()) } },
        { "properties": { "kind": { "const": "none" }, "secret": { "type": "null" } } },
    ])
}

/// Secret that is sent as it is.
fn bearer_secret() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": CREDENTIAL_BYTES, "pattern": TRIMMED_SECRET })
}

/// Secret that signs. White space around it is not part of it.
fn hmac_secret() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": CREDENTIAL_BYTES, "pattern": TRIMMED_SIGNING_SECRET })
}

/// A target has an address, with or without a secret, or a command.
pub(super) fn delivery_target() -> Value {
    let address = json!({ "type": "string", "pattern": HTTP_ADDRESS, "maxLength": ADDRESS_BYTES });
    let absent = json!({ "type": "null" });
    let remote = |auth: Value, secret: Value| {
        json!({
            "kind": { "enum": ["http", "ntfy"] },
            "url": address,
            "command": { "maxItems": 0 },
            "auth": auth,
            "secret": secret,
        })
    };
    let command = json!({
        "kind": { "const": "command" },
        "url": absent,
        "command": { "minItems": 1 },
        "auth": { "enum": ["none", null] },
        "secret": absent,
    });
    let signed = ["url", "auth", "secret"];
    json!([
        { "properties": remote(json!({ "const": "bearer" }), bearer_secret()), "required": signed },
        { "properties": remote(json!({ "const": "hmac" }), hmac_secret()), "required": signed },
        { "properties": remote(json!({ "enum": ["none", null] }), absent), "required": ["url"] },
        { "properties": command, "required": ["command"] },
    ])
}

/// Only an abort names a run.
pub(super) fn control() -> Value {
    json!([
        { "properties": { "action": { "const": "abort" } } },
        { "properties": { "run_id": { "type": "null" } } },
    ])
}

/// Input is written, or the input is closed.
pub(super) fn task_input() -> Value {
    json!([
        { "required": ["input"], "properties": { "input": { "minLength": 1 } } },
        { "required": ["close_input"], "properties": { "close_input": { "const": true } } },
    ])
}

/// The sources of a skill.
pub(super) fn skill_source() -> Value {
    let name = json!({ "type": "string", "minLength": 1, "pattern": WORDS });
    let mode = json!({ "type": "string", "enum": ["linked", "copied"] });
    let source = |kind: &str, required: &str, fields: Value| {
        let mut properties = fields;
        properties["kind"] = json!({ "const": kind });
        json!({ "type": "object", "properties": properties, "required": ["kind", required] })
    };
    json!({ "anyOf": [
        source("builtin", "name", json!({ "name": name })),
        source("named", "name", json!({ "name": name, "mode": mode })),
        source("local", "path", json!({ "path": { "type": "string", "pattern": ABSOLUTE_PATH }, "mode": mode })),
        source("remote", "package", json!({ "package": name, "skill": { "type": ["string", "null"] }, "mode": mode })),
    ] })
}

/// A message from outside: one content, from one kind of sender. Fields that claim an authority are not part of it.
pub(super) fn enqueue_request(known: &Value) -> Value {
    let mut shared = known["properties"].clone();
    if let Some(shared) = shared.as_object_mut() {
        for field in [
            "trust",
            "authority",
            "authority_class",
            "text",
            "json",
            "body",
            "kind",
            "origin",
        ] {
            shared.remove(field);
        }
        shared.insert(
            "priority".to_owned(),
            json!({ "type": ["string", "null"], "enum": ["next", "normal", "background", null] }),
        );
    }
    let contents = [
        ("text", json!({ "type": "string" })),
        ("json", json!({ "not": { "type": "null" } })),
        (
            "body",
            json!({ "anyOf": [named("EnqueueText"), named("EnqueueJson")] }),
        ),
    ];
    // A channel is named by the kind or by the origin.
    let senders = [
        ("webhook_event", named("WebhookSender"), None),
        ("channel_event", named("ChannelSender"), Some("kind")),
        ("channel_event", named("ChannelSender"), Some("origin")),
    ];
    let mut alternatives = Vec::new();
    for (content, schema) in &contents {
        for (kind, origin, named) in &senders {
            let mut properties = shared.clone();
            for (other, _) in &contents {
                properties[*other] = json!({ "type": "null" });
            }
            properties[*content] = schema.clone();
            properties["kind"] = match named {
                Some("kind") => json!({ "const": kind }),
                _ => json!({ "enum": [kind, null] }),
            };
            properties["origin"] = match named {
                Some("origin") => origin.clone(),
                _ => json!({ "anyOf": [origin, { "type": "null" }] }),
            };
            let required: Vec<&str> = std::iter::once(*content).chain(*named).collect();
            alternatives.push(json!({
                "type": "object",
                "additionalProperties": false,
                "properties": properties,
                "required": required,
            }));
        }
    }
    json!({ "description": known["description"], "anyOf": alternatives })
}

/// Reference to one of [`enqueue_parts`].
fn named(part: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{part}") })
}

/// The parts of a message from outside that have a schema of their own, by name. Generators of clients need their names.
pub(super) fn enqueue_parts() -> [(&'static str, Value); 4] {
    let text = json!({
        "type": "object",
        "properties": { "type": { "const": "text" }, "text": { "type": "string" } },
        "required": ["type", "text"],
    });
    let value = json!({
        "type": "object",
        "properties": { "type": { "const": "json" }, "value": {} },
        "required": ["type", "value"],
    });
    [
        ("EnqueueText", text),
        ("EnqueueJson", value),
        ("WebhookSender", webhook()),
        ("ChannelSender", channel()),
    ]
}

fn webhook() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "const": "webhook" },
            "source": { "type": "string", "maxLength": ORIGIN_NAME_CHARACTERS },
            "event_type": { "type": ["string", "null"], "maxLength": ORIGIN_NAME_CHARACTERS },
        },
        "required": ["kind", "source"],
    })
}

fn channel() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "const": "channel" },
            "channel_id": { "type": "string", "maxLength": ORIGIN_NAME_CHARACTERS },
            "sender_id": { "type": ["string", "null"], "maxLength": ORIGIN_NAME_CHARACTERS },
        },
        "required": ["kind", "channel_id"],
    })
}
