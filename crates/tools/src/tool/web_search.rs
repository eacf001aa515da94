//! `WebSearch`: asks the search providers that the settings name. Titles and snippets are external.

use super::web_fetch::EXTERNAL;
use crate::input::{self, Subject};
use crate::lines::{FenceKey, line, section};
use crate::schema;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::limits::WEB_QUERY_BYTES;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use holon_domain::web::{SearchAnswer, WebSearch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const NAME: &str = "WebSearch";
/// Longest name of a provider, in bytes.
const PROVIDER_BYTES: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Words to search for, at most 1000 bytes.
    #[schemars(length(min = 1, max = WEB_QUERY_BYTES))]
    query: String,
    /// Most results. Default and maximum are the host's.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_results: Option<u64>,
    /// Name of one configured provider. Default: the host's choice.
    #[serde(default)]
    #[schemars(with = "String")]
    provider: Option<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Search the web for titles, addresses and extracts; WebFetch reads a page."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Web,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let query = args.query.trim();
    let invalid = |field, problem: &str| Subject::call(NAME).invalid(Some(field), problem);
    if query.is_empty() || query.len() > WEB_QUERY_BYTES || query.contains('\0') {
        let problem = format!("it must have 1 to {WEB_QUERY_BYTES} bytes and no NUL character");
        return Err(invalid("query", &problem).hint("search for a few words"));
    }
    if args.max_results == Some(0) {
        return Err(
            invalid("max_results", "it must be at least 1").hint("leave it out for the default")
        );
    }
    let provider = args.provider.filter(|name| name != "auto");
    if provider
        .as_ref()
        .is_some_and(|name| name.is_empty() || name.len() > PROVIDER_BYTES)
    {
        let problem = format!("it must have 1 to {PROVIDER_BYTES} bytes");
        return Err(invalid("provider", &problem).hint("leave it out to ask the configured ones"));
    }
    Ok(Intent::Host(HostAction::WebSearch(WebSearch {
        query: query.to_owned(),
        max_results: args
            .max_results
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        provider,
    })))
}

/// Builds the result of a call.
#[must_use]
pub fn envelope(found: Result<SearchAnswer, ToolError>) -> ToolEnvelope {
    match found {
        Ok(answer) => {
            let count = u64::try_from(answer.results.len()).unwrap_or(u64::MAX);
            let summary = text::pluralize(count, "result");
            let mut result = json!(answer);
            let citation = |one: &holon_domain::web::SearchResult| json!({ "title": one.title, "url": one.url });
            result["citations"] = answer.results.iter().map(citation).collect();
            ToolEnvelope::success(NAME, summary, result)
        }
        Err(error) => ToolEnvelope::failure(NAME, error),
    }
}

/// Renders results for a model: what was asked first, then the results inside of a fence.
pub(crate) fn text(answer: &SearchAnswer, key: FenceKey<'_>) -> String {
    let count = u64::try_from(answer.results.len()).unwrap_or(u64::MAX);
    let mut text = text::pluralize(count, "result");
    for attempt in &answer.provider_attempts {
        let outcome = match &attempt.error {
            Some(error) => format!("failed: {error}"),
            None => text::pluralize(attempt.result_count, "result"),
        };
        line(
            &mut text,
            &format!("provider {}: {outcome}", attempt.provider),
        );
    }
    let mut list = String::new();
    for (index, result) in answer.results.iter().enumerate() {
        // Writing to a string cannot fail.
        write!(list, "{}. {}\n   {}\n", index + 1, result.title, result.url).ok();
        if let Some(date) = &result.published_at {
            writeln!(list, "   {date}").ok();
        }
        if let Some(snippet) = &result.snippet {
            let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            writeln!(list, "   {snippet}").ok();
        }
    }
    if !list.is_empty() {
        line(&mut text, EXTERNAL);
    }
    section(&mut text, key, "results", &list);
    text
}
