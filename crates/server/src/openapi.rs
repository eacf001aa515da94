//! The OpenAPI 3.1 document of the control plane, made from the types of `api` and the route table.
//!
//! Every route of the table has a row here; a test compares both. Requests are described as they are read and responses
//! as they are written. Fields of responses may grow, and readers must ignore unknown ones.

mod actions;
mod alternatives;
mod bounds;
mod operation;
mod params;
mod reads;
mod shape;

use crate::gate::Access;
use crate::keyed::Keep;
use crate::route::events::LAST_EVENT_ID;
use crate::route_table::act_routes;
use crate::router::route_access;
use actions::ACTIONS;
use holon_api::{ErrorBody, IDEMPOTENCY_KEY_HEADER};
use holon_domain::image::ImageFormat;
use holon_domain::limits::REQUEST_KEY_BYTES;
use operation::{Operation, ParamKind, QueryParam, RequestContent, Response, SchemaOf};
use reads::READS;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

/// Returns the document as text. It is made once.
#[must_use]
pub fn document() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    DOCUMENT.get_or_init(|| build().to_string())
}

fn build() -> Value {
    let (paths, mut schemas) = describe_all();
    let mut definitions = schemas.requests.take_definitions(true);
    bounds::add_bounds(&mut definitions);
    for (name, schema) in schemas.responses.take_definitions(true) {
        definitions.entry(name).or_insert(schema);
    }
    definitions.values_mut().for_each(shape::spell_plainly);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Holon control plane",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every error has the body ErrorBody with a stable code.",
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Describes every route, with the schemas that the descriptions name.
fn describe_all() -> (Map<String, Value>, Schemas) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut schemas = Schemas {
        requests: settings.clone().for_deserialize().into_generator(),
        responses: settings.for_serialize().into_generator(),
    };
    let error = schemas.responses.subschema_for::<ErrorBody>();
    let mut paths = Map::new();
    for (method, path, access) in route_access() {
        let found = READS.iter().chain(ACTIONS).find(|row| row.path == path);
        let Some(operation) = found else { continue };
        let described = describe(operation, access, &json!(error), &mut schemas);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[method.as_str().to_ascii_lowercase()] = described;
    }
    (paths, schemas)
}

/// The schemas of both directions. A type that is sent and received has the same schema in both; a test checks it.
struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

fn describe(operation: &Operation, access: Access, error: &Value, schemas: &mut Schemas) -> Value {
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation_id(operation.path, operation.body.is_some()),
        "parameters": parameters(operation),
        "responses": {
            "200": response(operation, &mut schemas.responses),
            "default": {
                "description": "The request was not carried out.",
                "content": { "application/json": { "schema": error } },
            },
        },
    });
    match access {
        Access::Public => described["security"] = json!([]),
        Access::Scope(scope) => described["x-holon-scope"] = json!(scope),
    }
    if let Some(body) = &operation.body {
        let content = match body.content {
            RequestContent::Json(schema) => {
                json!({ "application/json": { "schema": schema(&mut schemas.requests) } })
            }
            RequestContent::Archive => json!({ holon_api::ARCHIVE_MEDIA_TYPE: binary() }),
            RequestContent::Image => {
                let of = |format: ImageFormat| (format.media_type().to_owned(), binary());
                Value::Object(ImageFormat::ALL.map(of).into_iter().collect())
            }
            // Generators of clients know the second one only.
            RequestContent::Opaque => {
                json!({ "*/*": binary(), "application/octet-stream": binary() })
            }
        };
        described["requestBody"] = json!({ "required": body.required, "content": content });
    }
    described
}

/// Bytes that are not interpreted.
fn binary() -> Value {
    json!({ "schema": { "type": "string", "format": "binary" } })
}

/// Returns a name that is unique among the routes: the words of the path.
fn operation_id(path: &str, is_change: bool) -> String {
    let words = path.split(['/', '{', '}', '.', '-']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let prefix = if is_change { "post" } else { "get" };
    format!("{prefix}_{}", words.join("_"))
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let names = operation.path.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?;
        name.strip_suffix('}')
    });
    let mut all: Vec<Value> = names
        .map(|name| {
            json!({
                "name": name, "in": "path", "required": true,
                "schema": path_schema(operation.path, name),
            })
        })
        .collect();
    all.extend(operation.query.iter().map(query_parameter));
    if operation.path.ends_with("/stream") {
        all.push(json!({
            "name": LAST_EVENT_ID, "in": "header", "required": false,
            "description": "Cursor of a reader that reconnects. It replaces after_seq, unless it is empty.",
            "schema": { "type": "string", "pattern": "^[0-9]*$" },
        }));
    }
    if takes_key(operation.path) {
        all.push(json!({
            "name": IDEMPOTENCY_KEY_HEADER, "in": "header", "required": false,
            "description": key_description(operation.path),
            "schema": {
                "type": "string", "minLength": 1, "maxLength": REQUEST_KEY_BYTES,
                "pattern": "^[!-~]+$",
            },
        }));
    }
    all
}

/// Returns true if a route knows repetitions by their key. Public routes count it as the id of a delivery.
fn takes_key(path: &str) -> bool {
    let mut acts = act_routes().into_iter();
    let route = acts.find(|route| route.path == path);
    route.is_some_and(|route| route.keep != Keep::Nothing || route.access == Access::Public)
}

fn key_description(path: &str) -> &'static str {
    match path {
        "/control/tokens" => {
            "Key of a request that may be repeated: within a day the same key makes no other token. The secret is not \
             kept, so a repetition gets 409 and the code `token_already_made` instead of the first answer."
        }
        "/control/run" => {
            "Key of a request that may be repeated: within a day the same key joins the first run and gets its \
             outcome. A run without an agent that was cut off gets 409 and the code `run_not_repeated`, and one whose \
             answer retention has removed gets 410 and the code `outcome_removed`."
        }
        _ => {
            "Key of a request that may be repeated: within a day the same key gets the same answer."
        }
    }
}

/// Returns the schema of a name in a path.
fn path_schema(path: &str, name: &str) -> Value {
    match name {
        "id" if path.ends_with("/create") || path.ends_with("/import") => bounds::new_agent_id(),
        "id" => bounds::agent_id(),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

fn query_parameter(param: &QueryParam) -> Value {
    let schema = match param.kind {
        ParamKind::Number { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        ParamKind::Words(words) => json!({ "type": "string", "enum": words }),
        ParamKind::Truth => json!({ "type": "boolean" }),
        ParamKind::Text(None) => json!({ "type": "string" }),
        ParamKind::Text(Some(pattern)) => json!({ "type": "string", "pattern": pattern }),
    };
    json!({ "name": param.name, "in": "query", "required": param.required, "schema": schema })
}

fn response(operation: &Operation, schemas: &mut SchemaGenerator) -> Value {
    // The schema would be that of each frame, and frames differ by their event.
    let stream = || (holon_sse::MEDIA_TYPE, json!({}));
    let mut typed = |schema: SchemaOf| ("application/json", json!(schema(schemas)));
    let content = match operation.response {
        Response::Typed(schema) => vec![typed(schema)],
        Response::TypedOrStream(schema) => vec![typed(schema), stream()],
        Response::TypedOrArchive(schema) => {
            vec![typed(schema), (holon_api::ARCHIVE_MEDIA_TYPE, json!({}))]
        }
        Response::Stream => vec![stream()],
        Response::Text => vec![("text/plain", json!({ "type": "string" }))],
        Response::File => vec![("application/octet-stream", json!({}))],
        Response::Document => vec![("application/json", json!({ "type": "object" }))],
    };
    let content: Map<String, Value> = content
        .into_iter()
        .map(|(media, schema)| (media.to_owned(), json!({ "schema": schema })))
        .collect();
    json!({ "description": operation.summary, "content": content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::routes;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_of_the_table_is_described_once_and_nothing_else() {
        let document = build();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                described.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
        let routes: BTreeSet<(String, String)> = routes()
            .into_iter()
            .map(|(method, path)| (method.to_string(), path.to_owned()))
            .collect();
        assert_eq!(described, routes);
        assert_eq!(
            READS.len() + ACTIONS.len(),
            routes.len(),
            "no row is left over"
        );
    }

    #[test]
    fn every_reference_leads_to_a_schema_and_every_operation_has_its_own_name() {
        let document = build();
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let references = text.split("\"$ref\":\"").skip(1);
        let mut count = 0;
        for reference in references {
            let target = reference.split('"').next().unwrap();
            let name = target
                .strip_prefix("#/components/schemas/")
                .unwrap_or(target);
            assert!(schemas.contains_key(name), "{target}");
            count += 1;
        }
        assert!(count > 40, "{count} references");
        let mut names = BTreeSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                assert!(
                    names.insert(operation["operationId"].to_string()),
                    "{operation}"
                );
            }
        }
    }

    #[test]
    fn a_type_of_both_directions_has_one_schema() {
        let (_, mut schemas) = describe_all();
        let requests = schemas.requests.take_definitions(true);
        let mut shared = 0;
        for (name, schema) in schemas.responses.take_definitions(true) {
            if let Some(other) = requests.get(&name) {
                assert_eq!(*other, schema, "{name}");
                shared += 1;
            }
        }
        assert!(shared > 0);
    }

    #[test]
    fn the_key_of_a_request_is_described_where_it_is_known() {
        let document = build();
        let key_of = |path: &str| {
            let parameters = document["paths"][path]["post"]["parameters"].as_array();
            let mut parameters = parameters.unwrap_or_else(|| panic!("{path}")).iter();
            let key = parameters.find(|it| it["name"] == IDEMPOTENCY_KEY_HEADER);
            key.map(|key| key["description"].to_string())
        };
        for path in [
            "/control/agents/{id}/export",
            "/control/agents/{id}/external-triggers/{trigger}/reveal",
            "/control/agents/{id}/debug-prompt",
        ] {
            assert_eq!(key_of(path), None, "{path}");
        }
        for (path, words) in [
            ("/control/agents/{id}/operator-bindings", "the same answer"),
            ("/callbacks/wake/{token}", "the same answer"),
            ("/control/tokens", "token_already_made"),
            ("/control/run", "run_not_repeated"),
            ("/control/run", "outcome_removed"),
        ] {
            let found = key_of(path).unwrap_or_else(|| panic!("{path}"));
            assert!(found.contains(words), "{path}: {found}");
        }
    }

    #[test]
    fn bounds_of_requests_are_those_that_the_server_checks() {
        let document = build();
        let at = |pointer: &str| document.pointer(pointer).cloned().unwrap_or_default();
        let id = at("/paths/~1agents~1{id}~1status/get/parameters/0/schema");
        assert_eq!(id["maxLength"], json!(holon_domain::AgentId::MAX_LEN));
        assert_eq!(id["pattern"], "^[A-Za-z0-9_-][A-Za-z0-9._-]*$");
        let field = |schema: &str, field: &str| {
            at(&format!("/components/schemas/{schema}/properties/{field}"))
        };
        assert_eq!(field("PromptRequest", "text")["minLength"], 1);
        let turns = field("PromptRequest", "max_turns");
        assert_eq!(
            (&turns["minimum"], &turns["maximum"]),
            (&json!(1), &json!(u32::MAX))
        );
        for (schema, name, bounds) in bounds::fields() {
            let found = field(schema, name);
            for (key, value) in bounds.as_object().unwrap() {
                assert_eq!(found.get(key), Some(value), "{schema}.{name}.{key}");
            }
        }
    }

    #[test]
    fn the_words_of_a_schema_are_the_words_that_a_request_takes() {
        let document = build();
        let words = |schema: &str, field: &str| -> Vec<String> {
            let field = &document["components"]["schemas"][schema]["properties"][field];
            let words = field["enum"]
                .as_array()
                .unwrap_or_else(|| panic!("{field}"));
            words
                .iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect()
        };
        for word in words("PromptRequest", "priority") {
            let body = json!({ "text": "x", "priority": word });
            assert!(
                serde_json::from_value::<holon_api::PromptRequest>(body).is_ok(),
                "{word}"
            );
        }
        let enqueue = &document["components"]["schemas"]["EnqueueRequest"]["anyOf"];
        for alternative in enqueue.as_array().unwrap() {
            let kind = &alternative["properties"]["kind"];
            let word = kind.get("const").unwrap_or_else(|| &kind["enum"][0]);
            let body = json!({ "text": "x", "kind": word });
            assert!(
                serde_json::from_value::<holon_api::EnqueueRequest>(body).is_ok(),
                "{word}"
            );
            assert_eq!(
                alternative["properties"].get("trust"),
                None,
                "it is refused"
            );
        }
        for word in words("CreateTimerRequest", "missed") {
            let body = json!({ "missed": word });
            assert!(
                serde_json::from_value::<holon_api::CreateTimerRequest>(body).is_ok(),
                "{word}"
            );
        }
        for word in words("CreateTokenRequest", "scope") {
            let body = json!({ "name": "x", "scope": word });
            assert!(
                serde_json::from_value::<holon_api::CreateTokenRequest>(body).is_ok(),
                "{word}"
            );
        }
        for word in words("SetModelRequest", "reasoning_effort") {
            let body = json!({ "model": "a/b", "reasoning_effort": word });
            assert!(
                serde_json::from_value::<holon_api::SetModelRequest>(body).is_ok(),
                "{word}"
            );
        }
        for word in words("UseWorkspaceRequest", "mode") {
            let body = json!({ "mode": word });
            assert!(
                serde_json::from_value::<holon_api::UseWorkspaceRequest>(body).is_ok(),
                "{word}"
            );
        }
        for word in words("CreateWorkItemRequest", "plan_status") {
            let body = json!({ "objective": "x", "plan_status": word });
            assert!(
                serde_json::from_value::<holon_api::CreateWorkItemRequest>(body).is_ok(),
                "{word}"
            );
        }
    }
}
