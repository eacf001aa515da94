//! Optional parts of a request that some servers refuse, and the memory of who refused which.
//!
//! A refusal that names an optional part is answered by the same request without it, and the part is left out from then
//! on for this provider, endpoint and model. Nothing else is ever left out: `store`, the tools and the limits decide
//! what a request means. The memory lives as long as the router, so reloading the settings clears it.

use super::error_body::ErrorBody;
use crate::codec::{Body, Item, Member};
use holon_domain::model::ModelRef;
use holon_domain::provider::{ProviderSpec, RequestOption};
use reqwest::{StatusCode, Url};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock};

/// Most endpoints and models whose refusals are remembered. Beyond it nothing more is remembered; the cost is one refused
/// request per round.
const MOST: usize = 1_000;

/// Parts that servers have refused, by endpoint and model.
#[derive(Debug, Default)]
pub(super) struct UnsupportedOptions(RwLock<HashMap<(Url, ModelRef), BTreeSet<RequestOption>>>);

impl UnsupportedOptions {
    /// Returns the parts to leave out: those the settings name and those that were refused.
    pub(super) fn omitted(
        &self,
        provider: &ProviderSpec,
        url: &Url,
        model: &ModelRef,
    ) -> BTreeSet<RequestOption> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let refused = known.get(&(url.clone(), model.clone()));
        let refused = refused.into_iter().flatten();
        refused.chain(&provider.omit).copied().collect()
    }

    /// Remembers a refusal. Returns false if it was known, or there is no room for it.
    pub(super) fn learn(&self, url: &Url, model: &ModelRef, option: RequestOption) -> bool {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let key = (url.clone(), model.clone());
        if known.len() >= MOST && !known.contains_key(&key) {
            return false;
        }
        known.entry(key).or_default().insert(option)
    }
}

/// Returns the optional part of `body` that a refusal names as unsupported.
pub(super) fn named(status: StatusCode, refusal: &ErrorBody, body: &Body) -> Option<RequestOption> {
    if !matches!(status.as_u16(), 400 | 404 | 422 | 501) {
        return None;
    }
    if !says_unsupported(refusal.words()) {
        return None;
    }
    let parameter = refusal.parameter();
    let words = refusal.message.to_ascii_lowercase();
    let is_about = |option: RequestOption| match parameter.as_deref() {
        Some(parameter) => members(option).contains(&parameter),
        None => names(&words, option),
    };
    RequestOption::ALL
        .iter()
        .copied()
        .find(|option| is_in(*option, body) && is_about(*option))
}

/// Returns the body without these parts. It is copied only if there are any.
pub(super) fn without<'a>(body: &'a Body, omitted: &BTreeSet<RequestOption>) -> Cow<'a, Body> {
    let mut body = Cow::Borrowed(body);
    for option in omitted {
        remove(*option, body.to_mut());
    }
    body
}

/// Members of the body that a part consists of.
const fn members(option: RequestOption) -> &'static [&'static str] {
    match option {
        RequestOption::StreamUsage => &["stream_options"],
        RequestOption::Streaming => &["stream", "stream_options"],
        RequestOption::PromptCacheKey => &["prompt_cache_key"],
        RequestOption::Reasoning => &[
            "reasoning",
            "reasoning_effort",
            "include",
            "output_config",
            "thinking",
        ],
        RequestOption::CacheLife => &["prompt_cache_retention", "ttl"],
        RequestOption::CacheMarks => &["cache_control"],
        RequestOption::ParallelToolCalls => &["parallel_tool_calls"],
        RequestOption::ToolChoice => &["tool_choice"],
        RequestOption::Truncation => &["truncation"],
        RequestOption::ContextManagement => &["context_management"],
    }
}

/// Returns true if a server's message is about this part: it repeats the name of a member as a word. A name that is
/// also an English word has to stand where a parameter would.
fn names(words: &str, option: RequestOption) -> bool {
    let activity = match option {
        RequestOption::Streaming => Some("streaming"),
        RequestOption::StreamUsage
        | RequestOption::PromptCacheKey
        | RequestOption::Reasoning
        | RequestOption::CacheLife
        | RequestOption::CacheMarks
        | RequestOption::ParallelToolCalls
        | RequestOption::ToolChoice
        | RequestOption::Truncation
        | RequestOption::ContextManagement => None,
    };
    let mut members = members(option).iter().copied().chain(activity);
    members.any(|member| {
        words.match_indices(member).any(|(at, found)| {
            let (before, rest) = words.split_at(at);
            let after = rest.get(found.len()..).unwrap_or_default();
            let is_word_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let is_part = before.bytes().next_back().is_some_and(is_word_byte)
                || after.bytes().next().is_some_and(is_word_byte);
            !is_part && (!ENGLISH.contains(&member) || is_parameter(before, after))
        })
    })
}

/// Names of members that occur in ordinary sentences.
const ENGLISH: [&str; 6] = [
    "stream",
    "streaming",
    "include",
    "reasoning",
    "thinking",
    "truncation",
];

/// Returns true if a word between these texts is the name of a parameter: it is quoted, named as one, or what the
/// sentence says is unsupported.
fn is_parameter(before: &str, after: &str) -> bool {
    const BEFORE: [&str; 13] = [
        "'",
        "\"",
        "`",
        ".",
        "parameter ",
        "parameter: ",
        "argument ",
        "argument: ",
        "supplied: ",
        "field ",
        "option ",
        "support ",
        "supports ",
    ];
    const AFTER: [&str; 14] = [
        "'",
        "\"",
        "`",
        ":",
        "=",
        " parameter",
        " argument",
        " field",
        " option",
        " is not",
        " not ",
        " isn't",
        " unsupported",
        " is unsupported",
    ];
    BEFORE.iter().any(|sign| before.ends_with(sign))
        || AFTER.iter().any(|sign| after.starts_with(sign))
}

/// Returns true if a message says that something cannot be taken at all, not that its value is wrong.
fn says_unsupported(words: &str) -> bool {
    [
        "unsupported",
        "not supported",
        "unknown",
        "unrecognized",
        "unrecognised",
        "unexpected",
        "not permitted",
        "not allowed",
        "extra input",
        "extra_forbidden",
        "extra fields",
        "additional propert",
        "does not support",
        "doesn't support",
        "not available",
        "not implemented",
        "no such",
        "invalid parameter",
        "cannot be used",
    ]
    .iter()
    .any(|sign| words.contains(sign))
}

fn is_in(option: RequestOption, body: &Body) -> bool {
    if let Some(part) = MarkPart::of(option) {
        return holds_in_marks(part, body) || has_member(option, body);
    }
    match option {
        RequestOption::Streaming => body.get("stream") == Some(&Value::Bool(true)),
        _ => has_member(option, body),
    }
}

fn has_member(option: RequestOption, body: &Body) -> bool {
    let mut members = members(option).iter();
    members.any(|member| body.get(member).is_some_and(|value| !value.is_null()))
}

fn remove(option: RequestOption, body: &mut Body) {
    if let Some(part) = MarkPart::of(option) {
        body.items_mut()
            .for_each(|item| remove_inner_marks(part, item));
        remove_marks(part, body.members_mut());
    }
    for member in members(option) {
        body.members_mut().remove(*member);
    }
}

/// What is left out of the marks on content blocks.
#[derive(Debug, Clone, Copy)]
enum MarkPart {
    Mark,
    /// Only the life that it asks for.
    Life,
}

/// Member of a content block that is its mark.
const MARK: &str = "cache_control";
/// Member of a mark that asks for a longer life.
const LIFE: &str = "ttl";

impl MarkPart {
    /// Returns what an option means in marks; `None` for an option that is not in them.
    fn of(option: RequestOption) -> Option<Self> {
        match option {
            RequestOption::CacheMarks => Some(Self::Mark),
            RequestOption::CacheLife => Some(Self::Life),
            _ => None,
        }
    }

    fn is_in(self, block: &Map<String, Value>) -> bool {
        let mark = block.get(MARK);
        match self {
            Self::Mark => mark.is_some(),
            Self::Life => mark.is_some_and(|mark| mark.get(LIFE).is_some()),
        }
    }

    fn remove(self, block: &mut Map<String, Value>) {
        match self {
            Self::Mark => drop(block.remove(MARK)),
            Self::Life => {
                if let Some(mark) = block.get_mut(MARK).and_then(Value::as_object_mut) {
                    mark.remove(LIFE);
                }
            }
        }
    }
}

/// Returns true if marks of the body have this part. Codecs mark no tools, and keep an item that they mark as a value.
fn holds_in_marks(part: MarkPart, body: &Body) -> bool {
    body.members().any(|(_, member)| match member {
        Member::Value(value) => has_marks(part, value),
        Member::Tools(_) => false,
        Member::Items(items) => items.iter().any(|item| match item {
            Item::Value(value) => has_marks(part, value),
            Item::Text(_) => false,
        }),
    })
}

/// Member of a call that holds its arguments. They are the model's and stay as they are.
const ARGUMENTS: &str = "input";

fn has_marks(part: MarkPart, value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut inner = members.iter().filter(|(name, _)| *name != ARGUMENTS);
            part.is_in(members) || inner.any(|(_, member)| has_marks(part, member))
        }
        Value::Array(items) => items.iter().any(|item| has_marks(part, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Removes this part from the marks of content blocks.
fn remove_marks(part: MarkPart, members: &mut Map<String, Value>) {
    part.remove(members);
    let inner = |(name, _): &(&String, &mut Value)| name.as_str() != ARGUMENTS;
    for (_, member) in Map::iter_mut(members).filter(inner) {
        remove_inner_marks(part, member);
    }
}

fn remove_inner_marks(part: MarkPart, value: &mut Value) {
    match value {
        Value::Object(members) => remove_marks(part, members),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| remove_inner_marks(part, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
