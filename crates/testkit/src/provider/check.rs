//! Checks a request by the rules of its protocol only, without the habits of one provider.

mod chat;
mod messages;
mod responses;

use super::mint::Mint;
use super::protocol::{Protocol, RequestKind};
use super::recorded_request::{RecordedRequest, items};
use serde_json::Value;
use std::collections::HashSet;

/// Largest number of tools that every provider accepts.
const TOOLS: usize = 128;
/// Longest name or id that every protocol accepts.
const NAME_CHARS: usize = 64;

/// Describes all violations of a request.
pub(super) fn violations(request: &RecordedRequest, mint: &Mint, key: Option<&str>) -> Vec<String> {
    let mut wrong = Violations::default();
    match RequestKind::of(&request.path, &request.body) {
        None => wrong.add("nothing is served at this path"),
        Some(RequestKind::Models) => {
            wrong.unless(request.method == "GET", "the models are read by GET")
        }
        Some(RequestKind::Description) => {}
        Some(RequestKind::Answer(protocol)) => answer_request(protocol, request, mint, &mut wrong),
    }
    if let Some(key) = key {
        auth(request, key, &mut wrong);
    }
    wrong.unless(
        request.header("user-agent").is_some(),
        "it does not say who asks (user-agent)",
    );
    wrong.0
}

/// Collects the violations of a request.
#[derive(Debug, Default)]
struct Violations(Vec<String>);

impl Violations {
    fn add(&mut self, words: impl Into<String>) {
        self.0.push(words.into());
    }

    fn unless(&mut self, right: bool, words: &str) {
        if !right {
            self.add(words);
        }
    }
}

fn answer_request(
    protocol: Protocol,
    request: &RecordedRequest,
    mint: &Mint,
    wrong: &mut Violations,
) {
    wrong.unless(request.method == "POST", "a model is asked by POST");
    let content_type = request.header("content-type").unwrap_or_default();
    wrong.unless(
        content_type.starts_with("application/json"),
        "its content type is not JSON",
    );
    if !request.body.is_object() {
        return wrong.add("its body is no JSON object");
    }
    wrong.unless(!request.model().is_empty(), "it names no model");
    match protocol {
        Protocol::Responses => responses::plain(request, mint, wrong),
        Protocol::Codex => responses::codex(request, mint, wrong),
        Protocol::Messages => messages::check(request, mint, wrong),
        Protocol::Chat => chat::check(request, mint, wrong),
    }
}

/// Checks that the key is in the header of its protocol, once.
fn auth(request: &RecordedRequest, key: &str, wrong: &mut Violations) {
    let bearer = format!("Bearer {key}");
    let anthropic = request.header("anthropic-version").is_some();
    let sent = [request.header("authorization"), request.header("x-api-key")];
    let right = match sent {
        [Some(sent), None] => sent == bearer,
        [None, Some(sent)] => anthropic && sent == key,
        [Some(_), Some(_)] | [None, None] => false,
    };
    wrong.unless(right, "it does not bring the key as its protocol wants it");
}

/// Checks the tools: the name of each and the schema of its arguments.
fn tools<'a>(offered: impl Iterator<Item = (&'a Value, &'a Value)>, wrong: &mut Violations) {
    let (names, schemas): (Vec<&Value>, Vec<&Value>) = offered.unzip();
    tool_names(names.into_iter(), wrong);
    for schema in schemas {
        tool_schema(schema, wrong);
    }
}

fn tool_names<'a>(offered: impl Iterator<Item = &'a Value>, wrong: &mut Violations) {
    let mut names = HashSet::new();
    for name in offered {
        match name.as_str() {
            Some(name) if is_plain(name) => {
                if !names.insert(name) {
                    wrong.add(format!("two tools are called {name}"));
                }
            }
            Some(_) | None => wrong.add(format!("a tool cannot be called {name}")),
        }
    }
    wrong.unless(names.len() <= TOOLS, "too many tools are offered");
}

fn tool_schema(schema: &Value, wrong: &mut Violations) {
    wrong.unless(
        schema["type"] == "object" && schema["properties"].is_object(),
        "the schema of a tool's arguments is not that of an object",
    );
}

/// Calls and their results: each call is answered once, at the place its protocol requires.
#[derive(Debug, Default)]
struct Calls {
    seen: HashSet<String>,
    open: HashSet<String>,
}

impl Calls {
    fn made(&mut self, id: &Value, mint: &Mint, wrong: &mut Violations) {
        let Some(id) = id.as_str().filter(|id| is_plain(id)) else {
            return wrong.add(format!("a call cannot have the id {id}"));
        };
        if !mint.may_see(id) {
            wrong.add(format!("the id {id} is another provider's"));
        }
        if !self.seen.insert(id.to_owned()) {
            wrong.add(format!("two calls have the id {id}"));
        }
        self.open.insert(id.to_owned());
    }

    fn answered(&mut self, id: &Value, wrong: &mut Violations) {
        let known = id.as_str().is_some_and(|id| self.open.remove(id));
        if !known {
            wrong.add(format!("{id} is answered where no call of that id is open"));
        }
    }

    /// Checks that no call is open at this place.
    fn settled(&mut self, place: &str, wrong: &mut Violations) {
        let mut open: Vec<String> = self.open.drain().collect();
        open.sort();
        if !open.is_empty() {
            wrong.add(format!("{open:?} have no answer {place}"));
        }
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=NAME_CHARS).contains(&name.len()) && name.chars().all(plain)
}

/// Returns true for a text that is not empty.
fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Returns true for an image of a type in base64, as the protocols of OpenAI take it.
fn is_image_url(value: &Value) -> bool {
    let url = value
        .as_str()
        .and_then(|url| url.strip_prefix("data:image/"));
    url.is_some_and(|rest| rest.contains(";base64,"))
}

/// Returns true if the number is absent or at least this large.
fn at_least(value: &Value, least: u64) -> bool {
    value.is_null() || value.as_u64().is_some_and(|number| number >= least)
}
