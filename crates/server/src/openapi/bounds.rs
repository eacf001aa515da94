//! Bounds of requests that their types do not say: lengths, patterns, ranges and fields that go together. The numbers are
//! those that the server checks with.
//!
//! A schema cannot say everything: a path must exist, a cron expression must have a slot, a model must be known. Those
//! requests are refused with a reason.

use crate::route::budget::LARGEST;
use crate::route::operator_binding::{FIELD_BYTES, REPLY_ROUTES};
use holon_domain::AgentId;
use holon_domain::limits::{
    FALLBACKS, MIN_THINKING_TOKENS, OBJECTIVE_BYTES, ORIGIN_NAME_BYTES, TIMER_SUMMARY_BYTES,
    TODO_ITEMS, TODO_TEXT_BYTES, WEBHOOK_SECRET_BYTES,
};
use serde_json::{Map, Value, json};

/// Text that is not empty and not only white space.
const WORDS: &str = r"\S";
const MODEL_REF: &str = r"^[^\s/]+/\S+$";
const ABSOLUTE_PATH: &str = "^/";
/// Name of a token.
const TOKEN_NAME: &str = r"^[A-Za-z0-9._-]{1,64}$";

/// Name of a delivery target or a binding.
const TARGET_NAME: &str = r"^[A-Za-z0-9._-]{1,48}$";
/// Address without a user name or password in it.
const HTTP_ADDRESS: &str = r"^https?://[a-z0-9]{1,40}(/[a-z0-9]{0,40})?$";
/// Name of a key, which stands in a header.
const KEY_ID: &str = "^[!-~]+$";
/// Dollars with at most six decimal places.
const DOLLARS: &str = r"^[0-9]{1,12}(\.[0-9]{1,6})?$";
/// Secret that is no base64 of a key.
const PLAIN_SECRET: &str = "^(?!whsec_)";

/// Returns the schema of an agent's name.
pub(super) fn agent_id() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": AgentId::MAX_LEN,
        "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
    })
}

/// Returns the schema of a new agent's name, which has no reserved prefix.
pub(super) fn new_agent_id() -> Value {
    let mut schema = agent_id();
    schema["pattern"] = json!("^(?!tmp_)[A-Za-z0-9_-][A-Za-z0-9._-]*$");
    schema
}

/// Adds the bounds to the schemas of requests.
pub(super) fn add_bounds(schemas: &mut Map<String, Value>) {
    schemas.values_mut().for_each(bound_integers);
    schemas.values_mut().for_each(allow_null);
    for (schema, field, bounds) in fields() {
        let pointer = format!("/properties/{field}");
        let known = schemas
            .get_mut(schema)
            .and_then(|schema| schema.pointer_mut(&pointer));
        match (known, bounds) {
            (Some(Value::Object(known)), Value::Object(bounds))
                if bounds.get("type") != Some(&json!("null")) =>
            {
                known.extend(bounds);
            }
            // A type that says nothing, and a field that has no value, are described by their bounds alone.
            (Some(known), bounds) => *known = bounds,
            (None, _) => {}
        }
    }
    for (schema, alternatives) in [
        ("CreateTimerRequest", one_of(&["duration_ms", "at", "cron"])),
        ("CreateDeliveryTargetRequest", delivery_target()),
        ("DeliveryAuthRequest", delivery_auth()),
        ("UseWorkspaceRequest", one_of(&["path", "workspace_id"])),
        ("TaskInputRequest", task_input()),
        ("ControlRequest", control()),
        ("BudgetName", budget_name()),
        ("SetBudgetRequest", budget_limits()),
    ] {
        if let Some(Value::Object(known)) = schemas.get_mut(schema) {
            known.insert("anyOf".to_owned(), alternatives);
        }
    }
    if let Some(Value::Object(update)) = schemas.get_mut("UpdateWorkItemRequest") {
        let named = ["objective", "plan_status", "todo_list", "blocked_by"];
        let named = named.map(|field| json!({ "required": [field] }));
        update.insert("anyOf".to_owned(), json!(named));
    }
    if let Some(enqueue) = schemas.get_mut("EnqueueRequest") {
        *enqueue = enqueue_request(enqueue);
    }
}

/// Adds the upper bound of the integer types that have one. JSON has none.
fn bound_integers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let most = match fields.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint64") => Some(u64::MAX),
                _ => None,
            };
            if let Some(most) = most {
                fields.entry("maximum").or_insert(json!(most));
            }
            fields.values_mut().for_each(bound_integers);
        }
        Value::Array(entries) => entries.iter_mut().for_each(bound_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Lets optional words also be null, as the types of requests do.
fn allow_null(schema: &mut Value) {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.cloned().unwrap_or_default();
    let Some(Value::Object(fields)) = schema.get_mut("properties") else {
        return;
    };
    for (name, field) in fields {
        if let Some(words) = field.get_mut("enum").and_then(Value::as_array_mut)
            && !required.iter().any(|one| one == name)
        {
            words.push(Value::Null);
            field["type"] = json!(["string", "null"]);
        }
    }
}

/// The bounds of single fields: schema, field, bounds.
pub(super) fn fields() -> Vec<(&'static str, &'static str, Value)> {
    let words = || json!({ "minLength": 1, "pattern": WORDS });
    let at_least_one = || json!({ "minimum": 1 });
    let path = || json!({ "pattern": ABSOLUTE_PATH });
    let model = || json!({ "pattern": MODEL_REF });
    let todos = json!({
        "maxItems": TODO_ITEMS,
        "items": {
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": TODO_TEXT_BYTES, "pattern": WORDS },
                "state": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
            },
            "required": ["text", "state"],
        },
    });
    let objective = json!({ "minLength": 1, "maxLength": OBJECTIVE_BYTES, "pattern": WORDS });
    vec![
        ("PromptRequest", "text", words()),
        ("PromptRequest", "max_turns", at_least_one()),
        ("RunRequest", "text", words()),
        ("RunRequest", "max_turns", at_least_one()),
        ("RunRequest", "agent_id", nullable(new_agent_id())),
        ("RunRequest", "model", model()),
        ("RunRequest", "workspace_root", path()),
        ("CreateAgentRequest", "model", model()),
        ("CreateAgentRequest", "workspace_root", path()),
        ("CloneAgentRequest", "name", new_agent_id()),
        ("SetModelRequest", "model", model()),
        (
            "SetModelRequest",
            "fallback_models",
            json!({
                "maxItems": FALLBACKS, "items": { "type": "string", "pattern": MODEL_REF },
            }),
        ),
        (
            "SetModelRequest",
            "thinking_tokens",
            json!({
                "anyOf": [{ "maximum": 0 }, { "minimum": MIN_THINKING_TOKENS }],
            }),
        ),
        (
            "CreateTokenRequest",
            "name",
            json!({ "pattern": TOKEN_NAME }),
        ),
        ("StartTaskRequest", "cmd", words()),
        ("CreateWorkItemRequest", "objective", objective.clone()),
        ("CreateWorkItemRequest", "todo_list", todos.clone()),
        ("UpdateWorkItemRequest", "objective", objective),
        ("UpdateWorkItemRequest", "todo_list", todos),
        (
            "UpdateWorkItemRequest",
            "blocked_by",
            json!({ "maxLength": 0 }),
        ),
        ("CreateTimerRequest", "duration_ms", at_least_one()),
        ("CreateTimerRequest", "interval_ms", at_least_one()),
        ("CreateTimerRequest", "at", json!({ "format": "date-time" })),
        (
            "CreateTimerRequest",
            "summary",
            json!({
                "minLength": 1, "maxLength": TIMER_SUMMARY_BYTES, "pattern": WORDS,
            }),
        ),
        ("WakeRequest", "reason", words()),
        ("AttachWorkspaceRequest", "path", path()),
        ("UseWorkspaceRequest", "path", path()),
        ("UninstallSkillRequest", "name", words()),
        ("InstallSkillRequest", "kind", skill_source()),
        ("SetBudgetRequest", "tokens", json!({ "maximum": LARGEST })),
        ("SetBudgetRequest", "usd", json!({ "pattern": DOLLARS })),
    ]
    .into_iter()
    .chain(delivery_fields())
    .collect()
}

/// The bounds of single fields in requests about webhooks, delivery targets and remote operators.
fn delivery_fields() -> Vec<(&'static str, &'static str, Value)> {
    let named = || json!({ "minLength": 1, "maxLength": FIELD_BYTES, "pattern": WORDS });
    let binding = "OperatorTransportBindingRequest";
    vec![
        (
            "SetWebhookRequest",
            "secret",
            json!({ "minLength": 1, "maxLength": WEBHOOK_SECRET_BYTES, "pattern": PLAIN_SECRET }),
        ),
        (
            "UpdateWorkItemRequest",
            "recheck_after_ms",
            json!({ "type": "null" }),
        ),
        (
            "CreateDeliveryTargetRequest",
            "name",
            json!({ "pattern": TARGET_NAME }),
        ),
        (
            "CreateDeliveryTargetRequest",
            "agents",
            json!({ "items": agent_id() }),
        ),
        (binding, "transport", named()),
        (binding, "operator_actor_id", named()),
        (binding, "default_route_id", named()),
        (binding, "binding_id", json!({ "pattern": TARGET_NAME })),
        // Any other agent than that of the path is refused.
        (binding, "target_agent_id", json!({ "type": "null" })),
        (
            binding,
            "reply_route_ids",
            json!({
                "maxItems": REPLY_ROUTES,
                "items": { "type": "string", "minLength": 1, "maxLength": FIELD_BYTES, "pattern": WORDS },
            }),
        ),
        (
            binding,
            "delivery_callback_url",
            json!({ "pattern": HTTP_ADDRESS }),
        ),
        (
            binding,
            "capabilities",
            json!({
                "type": "object",
                "properties": {
                    "text": { "const": true },
                    "markdown": { "type": "boolean" },
                    "attachments": { "type": "boolean" },
                },
                "required": ["text"],
            }),
        ),
        (binding, "provider", named()),
        (binding, "provider_identity_ref", named()),
        (binding, "expires_at", json!({ "format": "date-time" })),
        (
            "DeliveryAuthRequest",
            "key_id",
            json!({ "minLength": 1, "maxLength": FIELD_BYTES, "pattern": KEY_ID }),
        ),
        (
            "OperatorIngressRequest",
            "text",
            json!({ "minLength": 1, "pattern": WORDS }),
        ),
        (
            "OperatorIngressRequest",
            "metadata",
            json!({ "type": ["object", "null"] }),
        ),
    ]
}

/// Lets a field also be null.
fn nullable(mut schema: Value) -> Value {
    schema["type"] = json!(["string", "null"]);
    schema
}

/// Exactly one of these fields has a value.
fn one_of(fields: &[&str]) -> Value {
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

/// The scope of a budget says what its key names.
fn budget_name() -> Value {
    let scoped = |scopes: &[&str], key: Value| json!({ "properties": { "scope": { "enum": scopes }, "key": key }, "required": ["scope", "key"] });
    json!([
        scoped(&["agent", "tree"], new_agent_id()),
        scoped(&["item"], json!({ "type": "string", "minLength": 1 })),
        { "properties": { "scope": { "const": "host" }, "key": { "type": "null" } }, "required": ["scope"] },
    ])
}

/// A budget limits tokens, money or both.
fn budget_limits() -> Value {
    json!([
        { "properties": { "tokens": { "type": "integer" } }, "required": ["tokens"] },
        { "properties": { "usd": { "type": "string" } }, "required": ["usd"] },
    ])
}

/// A secret belongs to the two kinds of authentication that use it.
fn delivery_auth() -> Value {
    json!([
        { "properties": { "kind": { "enum": ["bearer", "hmac"] }, "secret": { "type": "string", "minLength": 1 } }, "required": ["kind", "secret"] },
        { "properties": { "kind": { "const": "none" }, "secret": { "type": "null" } }, "required": ["kind"] },
    ])
}

/// A target has an address, with or without a secret, or a command.
fn delivery_target() -> Value {
    let address = json!({ "type": "string", "pattern": HTTP_ADDRESS });
    json!([
        {
            "properties": {
                "kind": { "enum": ["http", "ntfy"] },
                "url": address,
                "command": { "maxItems": 0 },
                "auth": { "enum": ["bearer", "hmac"] },
                "secret": { "type": "string", "minLength": 1 },
            },
            "required": ["url", "auth", "secret"],
        },
        {
            "properties": {
                "kind": { "enum": ["http", "ntfy"] },
                "url": address,
                "command": { "maxItems": 0 },
                "auth": { "enum": ["none", null] },
                "secret": { "type": "null" },
            },
            "required": ["url"],
        },
        {
            "properties": {
                "kind": { "const": "command" },
                "url": { "type": "null" },
                "command": { "minItems": 1 },
                "auth": { "enum": ["none", null] },
                "secret": { "type": "null" },
            },
            "required": ["command"],
        },
    ])
}

/// Only an abort names a run.
fn control() -> Value {
    json!([
        { "properties": { "action": { "const": "abort" } } },
        { "properties": { "run_id": { "type": "null" } } },
    ])
}

/// Input is written, or the input is closed.
fn task_input() -> Value {
    json!([
        { "required": ["input"], "properties": { "input": { "minLength": 1 } } },
        { "required": ["close_input"], "properties": { "close_input": { "const": true } } },
    ])
}

/// The sources of a skill.
fn skill_source() -> Value {
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
fn enqueue_request(known: &Value) -> Value {
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
        ("body", body()),
    ];
    // A channel is named by the kind or by the origin.
    let senders = [
        ("webhook_event", webhook(), None),
        ("channel_event", channel(), Some("kind")),
        ("channel_event", channel(), Some("origin")),
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

fn body() -> Value {
    let text = json!({ "type": "string" });
    json!({ "anyOf": [
        { "type": "object", "properties": { "type": { "const": "text" }, "text": text }, "required": ["type", "text"] },
        { "type": "object", "properties": { "type": { "const": "json" }, "value": {} }, "required": ["type", "value"] },
    ] })
}

fn webhook() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "const": "webhook" },
            "source": { "type": "string", "maxLength": ORIGIN_NAME_BYTES },
            "event_type": { "type": ["string", "null"], "maxLength": ORIGIN_NAME_BYTES },
        },
        "required": ["kind", "source"],
    })
}

fn channel() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "const": "channel" },
            "channel_id": { "type": "string", "maxLength": ORIGIN_NAME_BYTES },
            "sender_id": { "type": ["string", "null"], "maxLength": ORIGIN_NAME_BYTES },
        },
        "required": ["kind", "channel_id"],
    })
}
