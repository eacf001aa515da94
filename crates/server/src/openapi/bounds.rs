//! Bounds of requests that their types do not say: lengths, patterns, ranges and fields that go together. The numbers are
//! those that the server checks with.
//!
//! A schema cannot say everything: a path must exist, a cron expression must have a slot, a model must be known. Those
//! requests are refused with a reason.

use super::alternatives::{
    budget_limits, budget_name, control, delivery_auth, delivery_target, enqueue_parts,
    enqueue_request, one_of, prompt_priority, skill_source, task_input, timer_slots,
};
use crate::route::budget::LARGEST;
use crate::route::delivery::{ADDRESS_BYTES, HTTP_ADDRESS};
use crate::route::operator_binding::{FIELD_CHARACTERS, REPLY_ROUTES};
use holon_domain::AgentId;
use holon_domain::limits::{
    FALLBACKS, IMAGES_PER_MESSAGE, MESSAGE_BODY_BYTES, MIN_THINKING_TOKENS, MODEL_REF_CHARACTERS,
    OBJECTIVE_CHARACTERS, TARGET_ARGUMENT_BYTES, TARGET_ARGUMENTS, THREAD_TOKENS_LEAST,
    THREAD_TOKENS_MOST, TIMER_INTERVAL_MIN_MS, TIMER_MAX_MS, TIMER_SUMMARY_CHARACTERS, TODO_ITEMS,
    TODO_TEXT_CHARACTERS, WEBHOOK_SECRET_CHARACTERS,
};
use holon_domain::time::rfc3339::RFC3339_PATTERN;
use serde_json::{Map, Value, json};

/// Text that is not empty and not only white space.
pub(super) const WORDS: &str = r"\S";
const MODEL_REF: &str = r"^[^\s/]+/\S+$";
pub(super) const ABSOLUTE_PATH: &str = "^/";
/// Name of a token.
const TOKEN_NAME: &str = r"^[A-Za-z0-9._-]{1,64}$";

/// Form of the names of time zones. The host knows which of them exist.
const ZONE: &str = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$";
/// The five fields of a cron expression.
const CRON: &str = r"^\s*\S+(\s+\S+){4}\s*$";
/// Name of a delivery target or a binding.
const TARGET_NAME: &str = r"^[A-Za-z0-9._-]{1,48}$";
/// Name of a key, which stands in a header.
const KEY_ID: &str = "^[!-~]+$";
/// Dollars with at most six decimal places.
const DOLLARS: &str = r"^0*[0-9]{1,12}(\.[0-9]{0,6})?$";
/// Secret of signatures: any text, or `whsec_` with base64 of a key.
const SIGNING_SECRET: &str = concat!(
    "^(?!whsec_)|^whsec_([A-Za-z0-9+/]{4})*",
    "([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$",
);

/// A secret that is sent, with white space around it that is not part of it.
pub(super) const TRIMMED_SECRET: &str = r"^\s*[!-~]+\s*$";
/// The same for a secret that signs.
pub(super) const TRIMMED_SIGNING_SECRET: &str = concat!(
    r"^(?!\s*whsec_)\s*[!-~]+\s*$|^\s*whsec_([A-Za-z0-9+/]{4})*",
    r"([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)\s*$",
);

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
        ("PromptRequest", prompt_priority()),
        ("CreateTimerRequest", timer_slots()),
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
        let parts = enqueue_parts().into_iter();
        schemas.extend(parts.map(|(name, schema)| (name.to_owned(), schema)));
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
    let model = || json!({ "maxLength": MODEL_REF_CHARACTERS, "pattern": MODEL_REF });
    let todos = json!({
        "maxItems": TODO_ITEMS,
        "items": {
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": TODO_TEXT_CHARACTERS, "pattern": WORDS },
                "state": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
            },
            "required": ["text", "state"],
        },
    });
    let objective = json!({ "minLength": 1, "maxLength": OBJECTIVE_CHARACTERS, "pattern": WORDS });
    vec![
        ("PromptRequest", "text", prompt_text()),
        ("PromptRequest", "images", image_digests()),
        ("PromptRequest", "max_turns", at_least_one()),
        ("RunRequest", "text", prompt_text()),
        ("RunRequest", "images", image_digests()),
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
                "maxItems": FALLBACKS,
                "items": { "type": "string", "maxLength": MODEL_REF_CHARACTERS, "pattern": MODEL_REF },
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
            "LimitThreadRequest",
            "thread_tokens",
            json!({ "minimum": THREAD_TOKENS_LEAST, "maximum": THREAD_TOKENS_MOST }),
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
        (
            "CreateTimerRequest",
            "duration_ms",
            json!({ "minimum": 0, "maximum": TIMER_MAX_MS }),
        ),
        (
            "CreateTimerRequest",
            "interval_ms",
            json!({ "minimum": TIMER_INTERVAL_MIN_MS, "maximum": TIMER_MAX_MS }),
        ),
        ("CreateTimerRequest", "at", time()),
        ("CreateTimerRequest", "time_zone", json!({ "pattern": ZONE })),
        ("CreateTimerRequest", "cron", json!({ "pattern": CRON })),
        (
            "CreateTimerRequest",
            "summary",
            json!({
                "minLength": 1, "maxLength": TIMER_SUMMARY_CHARACTERS, "pattern": WORDS,
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
    let named = || json!({ "minLength": 1, "maxLength": FIELD_CHARACTERS, "pattern": WORDS });
    let binding = "OperatorTransportBindingRequest";
    vec![
        (
            "SetWebhookRequest",
            "secret",
            json!({ "minLength": 1, "maxLength": WEBHOOK_SECRET_CHARACTERS, "pattern": SIGNING_SECRET }),
        ),
        (
            "UpdateWorkItemRequest",
            "recheck_after_ms",
            json!({
                "type": "null",
                "description": "Always null: a reminder belongs to a blocker, and only the agent names one.",
            }),
        ),
        (
            "CreateDeliveryTargetRequest",
            "name",
            json!({ "pattern": TARGET_NAME }),
        ),
        (
            "CreateDeliveryTargetRequest",
            "agents",
            json!({ "items": new_agent_id() }),
        ),
        (
            "CreateDeliveryTargetRequest",
            "command",
            json!({
                "maxItems": TARGET_ARGUMENTS,
                "items": argument(),
            }),
        ),
        (binding, "transport", named()),
        (binding, "operator_actor_id", named()),
        (binding, "default_route_id", named()),
        (binding, "binding_id", json!({ "pattern": TARGET_NAME })),
        (binding, "target_agent_id", nullable(agent_id())),
        (
            binding,
            "reply_route_ids",
            json!({
                "maxItems": REPLY_ROUTES,
                "items": { "type": "string", "minLength": 1, "maxLength": FIELD_CHARACTERS, "pattern": WORDS },
            }),
        ),
        (
            binding,
            "delivery_callback_url",
            json!({ "pattern": HTTP_ADDRESS, "maxLength": ADDRESS_BYTES }),
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
        (binding, "expires_at", time()),
        (
            "DeliveryAuthRequest",
            "key_id",
            json!({ "minLength": 1, "maxLength": FIELD_CHARACTERS, "pattern": KEY_ID }),
        ),
        ("OperatorIngressRequest", "text", prompt_text()),
        (
            "OperatorIngressRequest",
            "metadata",
            json!({ "type": ["object", "null"] }),
        ),
    ]
}

/// Text of a prompt. A schema counts characters and the host counts bytes, so the description names the bound.
fn prompt_text() -> Value {
    let bound = format!(
        "Text of the message. Above {MESSAGE_BODY_BYTES} bytes of UTF-8 the answer is 413 and nothing is stored."
    );
    json!({ "minLength": 1, "pattern": WORDS, "description": bound })
}

/// Digests of images that were uploaded before.
fn image_digests() -> Value {
    json!({
        "maxItems": IMAGES_PER_MESSAGE,
        "items": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" },
    })
}

/// A time with an offset.
fn time() -> Value {
    json!({ "format": "date-time", "pattern": RFC3339_PATTERN })
}

/// An argument of a command. The description names the bound for the reason of [`prompt_text`].
fn argument() -> Value {
    let bound = format!("At most {TARGET_ARGUMENT_BYTES} bytes of UTF-8.");
    json!({ "type": "string", "maxLength": TARGET_ARGUMENT_BYTES, "description": bound })
}

/// Lets a field also be null.
fn nullable(mut schema: Value) -> Value {
    schema["type"] = json!(["string", "null"]);
    schema
}
