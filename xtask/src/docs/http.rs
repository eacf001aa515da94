//! The page of HTTP routes: method, path, scope, query, body and answer of each, from the OpenAPI document.
//!
//! The document takes a build of the server, so it is checked with the other pages that need one and not by `tidy`.

mod schema;

use super::{cell, page};
use crate::Failure;
use crate::build::{Build, printed};
use crate::repo::Generated;
use schema::{Schemas, describe_type};
use serde_json::Value;

const HEAD: &str = "# HTTP

The control plane of a host, which the commands and the console use too.
`GET /openapi.json` returns the same as an OpenAPI 3.1 document, with every field of the answers.

```sh
curl --unix-socket ~/.holon/run/holon.sock http://localhost/agents/list
curl --header \"Authorization: Bearer $(cat ~/.holon/run/control.token)\" http://127.0.0.1:7878/agents/list
```

The socket belongs to the user of the host and needs no token.
Over TCP every route with a scope needs one: the control token has every scope, a named token (`holon token create`) the one that it was made with.
`control` includes `prompt`, and `prompt` includes `read`.
A route without a scope proves its caller otherwise, or tells nothing that needs a proof.

Bodies and answers are JSON, unless a route says otherwise.
Unknown fields of a body are refused, and an optional field may also be `null`.
Answers may get more fields; ignore those that you do not know.
A route with an idempotency key takes the header `idempotency-key`: within a day the same key gets the same answer and has no second effect.

";

/// Refusals by the part of a request that leads to them; each must be one that the server lists.
const REFUSALS: &[(&str, &[&str])] = &[
    (
        "any",
        &[
            "host_not_allowed",
            "origin_not_allowed",
            "route_not_found",
            "method_not_allowed",
            "not_ready",
            "shutting_down",
            "internal",
            "storage_failed",
        ],
    ),
    (
        "a scope",
        &["unauthorized", "scope_not_sufficient", "agent_command"],
    ),
    ("a query", &["invalid_query", "invalid_limit"]),
    (
        "a body",
        &[
            "missing_body",
            "unsupported_media_type",
            "invalid_json",
            "invalid_request",
            "too_large",
            "body_timeout",
            "body_unreadable",
        ],
    ),
    (
        "an idempotency key",
        &["invalid_idempotency_key", "idempotency_key_reused"],
    ),
    (
        "an agent in its path",
        &["invalid_agent_id", "agent_not_found"],
    ),
    (
        "a change of an agent",
        &[
            "agent_stopped",
            "agent_archived",
            "agent_deleting",
            "agent_aside",
            "overloaded",
            "disk_full",
            "commit_unknown",
        ],
    ),
    (
        "a message to an agent",
        &["queue_full", "queue_full_for_others"],
    ),
    ("an event stream", &["too_many_streams", "invalid_cursor"]),
];

/// Builds the page from the document that the server's example prints.
pub(crate) fn generate(build: &Build, refusals: &Generated) -> Result<Generated, Failure> {
    let text = printed(&build.example("openapi"), &[], &[])?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| format!("the OpenAPI document is not JSON: {error}"))?;
    check_codes(&refusals.content)?;
    Ok(page("http", &render(&document)))
}

fn check_codes(listed: &str) -> Result<(), Failure> {
    let mut codes = REFUSALS.iter().flat_map(|(_, codes)| codes.iter());
    match codes.find(|code| !listed.contains(&format!("| `{code}` |"))) {
        Some(code) => Err(format!(
            "the page of routes names `{code}`, which is no refusal; correct xtask/src/docs/http.rs"
        )),
        None => Ok(()),
    }
}

/// One route of the document.
struct Route<'a> {
    method: String,
    path: &'a str,
    operation: &'a Value,
}

fn render(document: &Value) -> String {
    let schemas = Schemas::of(document);
    let routes = routes(document);
    let list: String = routes.iter().map(row).collect();
    let sections: String = routes
        .iter()
        .map(|route| section(route, &schemas))
        .collect();
    format!(
        "{HEAD}{}## Routes\n\n| route | scope | |\n|---|---|---|\n{list}{sections}",
        refusals()
    )
}

fn refusals() -> String {
    let rows: String = REFUSALS
        .iter()
        .map(|(part, codes)| {
            let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
            format!("| {part} | {} |\n", codes.join(", "))
        })
        .collect();
    format!(
        "## Refusals\n\nEvery error has a stable code; [refusals](refusals.md) says what each means and what to do, also of \
         those that belong to one route.\n\n| a request with | may get |\n|---|---|\n{rows}\n"
    )
}

/// Every route, by path and then by method.
fn routes(document: &Value) -> Vec<Route<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut routes: Vec<Route<'_>> = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| Route {
                method: method.to_ascii_uppercase(),
                path,
                operation,
            })
        })
        .collect();
    routes.sort_by(|one, other| (one.path, &one.method).cmp(&(other.path, &other.method)));
    routes
}

fn scope(operation: &Value) -> String {
    let scope = operation["x-holon-scope"].as_str();
    scope.map_or_else(|| "none".to_owned(), |scope| format!("`{scope}`"))
}

fn summary(operation: &Value) -> &str {
    operation["summary"].as_str().unwrap_or_default()
}

fn row(route: &Route<'_>) -> String {
    let Route {
        method,
        path,
        operation,
    } = route;
    format!(
        "| `{method} {path}` | {} | {} |\n",
        scope(operation),
        cell(summary(operation))
    )
}

fn section(route: &Route<'_>, schemas: &Schemas<'_>) -> String {
    let Route {
        method,
        path,
        operation,
    } = route;
    let key = match has_key(operation) {
        true => " With an idempotency key.",
        false => "",
    };
    let mut text = format!(
        "\n### `{method} {path}`\n\n{} Scope: {}.{key}\n",
        summary(operation),
        scope(operation)
    );
    text.push_str(&headers(operation));
    text.push_str(&query(operation, schemas));
    text.push_str(&body(operation, schemas));
    text.push_str(&answer(operation, schemas));
    text
}

fn parameters<'a>(operation: &'a Value, place: &'static str) -> impl Iterator<Item = &'a Value> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(move |parameter| parameter["in"] == place)
}

/// Name of the header that `HEAD` describes.
const KEY_HEADER: &str = "idempotency-key";

/// Names of the headers that a route takes.
fn header_names(operation: &Value) -> impl Iterator<Item = &str> {
    parameters(operation, "header").filter_map(|parameter| parameter["name"].as_str())
}

fn has_key(operation: &Value) -> bool {
    header_names(operation).any(|name| name.eq_ignore_ascii_case(KEY_HEADER))
}

/// The headers of a route beside the idempotency key.
fn headers(operation: &Value) -> String {
    let others = header_names(operation).filter(|name| !name.eq_ignore_ascii_case(KEY_HEADER));
    let names: Vec<String> = others.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => format!("\nOptional header: {name}.\n"),
        names => format!("\nOptional headers: {}.\n", names.join(", ")),
    }
}

fn query(operation: &Value, schemas: &Schemas<'_>) -> String {
    let rows: String = parameters(operation, "query")
        .map(|parameter| {
            let name = parameter["name"].as_str().unwrap_or_default();
            let words = describe_type(&parameter["schema"], schemas);
            format!("| `{name}` | {} |\n", cell(&words))
        })
        .collect();
    match rows.is_empty() {
        true => rows,
        false => format!("\n| query | |\n|---|---|\n{rows}"),
    }
}

fn body(operation: &Value, schemas: &Schemas<'_>) -> String {
    let Some(content) = operation["requestBody"]["content"].as_object() else {
        return String::new();
    };
    let Some(json) = content.get("application/json") else {
        let media: Vec<&str> = content.keys().map(String::as_str).collect();
        return match media.as_slice() {
            ["*/*"] => "\nThe body may have any type.\n".to_owned(),
            media => format!("\nThe body is `{}`.\n", media.join("`, `")),
        };
    };
    let fields = schemas.fields(&json["schema"]);
    let rows: String = fields
        .iter()
        .map(|field| {
            let presence = if field.is_required {
                "required"
            } else {
                "optional"
            };
            let words = field.describe_type(schemas);
            let (name, words, doc) = (field.name, cell(&words), cell(field.doc()));
            format!("| `{name}` | {presence} | {words} | {doc} |\n")
        })
        .collect();
    if rows.is_empty() {
        return "\nThe body is an empty object.\n".to_owned();
    }
    let absent = match operation["requestBody"]["required"] == true {
        true => "",
        false => "\nThe body may be absent.\n",
    };
    let doc = match schemas.doc(&json["schema"]) {
        doc if doc.is_empty() => doc,
        doc => format!("\n{doc}\n"),
    };
    format!("{absent}{doc}\n| field | | type | meaning |\n|---|---|---|---|\n{rows}")
}

/// The type of the answer, and the names of its fields.
fn answer(operation: &Value, schemas: &Schemas<'_>) -> String {
    let content = operation["responses"]["200"]["content"].as_object();
    let forms: Vec<String> = content
        .into_iter()
        .flatten()
        .map(|(media, content)| {
            let schema = &content["schema"];
            if media != "application/json" {
                return format!("`{media}`");
            }
            let element = schema.get("items").unwrap_or(schema);
            let names: Vec<String> = schemas
                .fields(element)
                .iter()
                .map(|field| format!("`{}`", field.name))
                .collect();
            let words = describe_type(schema, schemas);
            match names.is_empty() {
                true => words,
                false => format!("{words} with {}", names.join(", ")),
            }
        })
        .collect();
    format!("\nAnswer: {}.\n", forms.join("; or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "paths": { "/agents/{id}/prompt": { "post": {
                "summary": "Queues a message.",
                "x-holon-scope": "prompt",
                "parameters": [
                    { "name": "id", "in": "path", "schema": { "type": "string" } },
                    { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 9 } },
                    { "name": "idempotency-key", "in": "header", "schema": { "type": "string" } },
                ],
                "requestBody": {
                    "required": false,
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Body" } } },
                },
                "responses": { "200": { "content": {
                    "application/json": { "schema": { "type": "array", "items": { "$ref": "#/components/schemas/Entry" } } },
                    "text/event-stream": { "schema": {} },
                } } },
            } } },
            "components": { "schemas": {
                "Body": {
                    "type": "object", "required": ["text"],
                    "properties": {
                        "text": { "type": "string", "description": "What to do.\nIn words." },
                        "priority": { "type": ["string", "null"], "enum": ["next", "normal", null] },
                    },
                },
                "Entry": { "type": "object", "properties": { "id": { "type": "string" } } },
            } },
        })
    }

    #[test]
    fn a_route_is_described_with_its_query_body_and_answer() {
        let text = render(&document());
        let (_, section) = text.split_once("\n### ").expect("a section");
        let expected = "\
`POST /agents/{id}/prompt`

Queues a message. Scope: `prompt`. With an idempotency key.

| query | |
|---|---|
| `limit` | integer from 1 to 9 |

The body may be absent.

| field | | type | meaning |
|---|---|---|---|
| `priority` | optional | `next` or `normal` |  |
| `text` | required | string | What to do. In words. |

Answer: list of `Entry` with `id`; or `text/event-stream`.
";
        assert_eq!(section, expected);
        assert!(text.contains("| `POST /agents/{id}/prompt` | `prompt` | Queues a message. |"));
    }

    #[test]
    fn only_the_header_of_that_name_is_an_idempotency_key() {
        let mut document = document();
        let parameters = &mut document["paths"]["/agents/{id}/prompt"]["post"]["parameters"];
        *parameters =
            json!([{ "name": "Last-Event-ID", "in": "header", "schema": { "type": "string" } }]);
        let text = render(&document);
        let (_, section) = text.split_once("\n### ").expect("a section");
        assert!(!section.contains("idempotency"), "{section}");
        assert!(
            section.contains("\nOptional header: `Last-Event-ID`.\n"),
            "{section}"
        );
    }

    #[test]
    fn a_code_that_the_server_does_not_list_is_refused() {
        let listed: String = REFUSALS
            .iter()
            .flat_map(|(_, codes)| codes.iter())
            .map(|code| format!("| `{code}` | 400 |\n"))
            .collect();
        assert_eq!(check_codes(&listed), Ok(()));
        let shorter = listed.replace("| `queue_full` |", "");
        assert!(check_codes(&shorter).is_err_and(|failure| failure.contains("queue_full")));
    }
}
