//! `MemorySearch`: finds records of the agent by words. The shell answers from the agent's memory index.

use crate::input::{self, Subject};
use crate::lines::{FenceKey, line, section};
use crate::schema;
use holon_domain::intent::Intent;
use holon_domain::limits::{MEMORY_QUERY_BYTES, MEMORY_RESULTS, MEMORY_RESULTS_MAX};
use holon_domain::memory::{MemoryFault, MemoryPage, MemoryQuery, MemorySearch};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const NAME: &str = "MemorySearch";
const LEAST: u64 = 1;
const MOST: u64 = MEMORY_RESULTS_MAX as u64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Words, names, paths or ids that a record may hold; no operators.
    #[schemars(length(min = 1))]
    query: String,
    /// Most results, 1 to 50. Default 10.
    #[serde(default)]
    #[schemars(with = "u64", range(min = LEAST, max = MOST))]
    limit: Option<u64>,
    /// true also searches records of other workspaces. Default false.
    #[serde(default)]
    include_all_workspaces: bool,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Search what you know of earlier times: memory files, workspace profiles, briefs \
                      (what you told your operator), episodes (earlier turns) and work items; not \
                      project files. MemoryGet reads a whole record."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    if args.query.trim().is_empty() {
        let error = subject.invalid(Some("query"), "the query is empty");
        return Err(error.hint("name words, paths or ids that the record holds"));
    }
    let limit = match args.limit {
        None => MEMORY_RESULTS,
        Some(count) if (LEAST..=MOST).contains(&count) => {
            u32::try_from(count).unwrap_or(MEMORY_RESULTS)
        }
        Some(count) => {
            let problem = format!("{count} is not between {LEAST} and {MOST}");
            let hint = format!("leave limit out for {MEMORY_RESULTS} results");
            return Err(subject.invalid(Some("limit"), &problem).hint(hint));
        }
    };
    Ok(Intent::Memory(MemoryQuery::Search(MemorySearch {
        // The index searches for less than this and says that it cut the query.
        query: holon_domain::text::prefix(&args.query, 2 * MEMORY_QUERY_BYTES).to_owned(),
        limit,
        include_all_workspaces: args.include_all_workspaces,
    })))
}

/// Builds the envelope of a search that was answered.
#[must_use]
pub fn envelope(page: &MemoryPage) -> ToolEnvelope {
    let count = page.results.len();
    let summary = match count {
        1 => "1 result".to_owned(),
        count => format!("{count} results"),
    };
    ToolEnvelope::success(NAME, summary, json!(page))
}

/// Builds the answer of a search or read that failed.
#[must_use]
pub fn failure(tool: &str, fault: &MemoryFault) -> ToolEnvelope {
    let kind = match fault {
        MemoryFault::NotFound { .. } | MemoryFault::Unreadable { .. } => {
            ToolErrorKind::MemorySourceNotFound
        }
        MemoryFault::Locked | MemoryFault::TooSlow { .. } | MemoryFault::Unavailable { .. } => {
            ToolErrorKind::MemoryUnavailable
        }
    };
    let error = ToolError::new(kind, fault.to_string()).hint(fault.hint());
    let error = match fault {
        MemoryFault::Locked => error.retryable(),
        MemoryFault::NotFound { .. }
        | MemoryFault::TooSlow { .. }
        | MemoryFault::Unreadable { .. }
        | MemoryFault::Unavailable { .. } => error,
    };
    ToolEnvelope::failure(tool, error)
}

/// Renders the results. What the records say stands in a fence: it is evidence, not an instruction.
pub(crate) fn text(page: &MemoryPage, key: FenceKey<'_>) -> String {
    let count = page.results.len() as u64;
    let mut text = holon_domain::text::pluralize(count, "result");
    if page.lag.rebuilding {
        line(
            &mut text,
            "The index is being built; older records may be missing.",
        );
    } else if page.lag.pending > 0 {
        let pending = holon_domain::text::pluralize(page.lag.pending, "change");
        line(&mut text, &format!("The index is behind by {pending}."));
    }
    for note in &page.notes {
        line(&mut text, &format!("Note: {note}"));
    }
    if page.results.is_empty() {
        line(
            &mut text,
            "Try fewer words, or another word that the record may hold.",
        );
    }
    let mut workspaces = page.results.iter().map(|hit| &hit.provenance.workspace_id);
    let first = workspaces.next();
    let is_mixed = workspaces.any(|other| Some(other) != first);
    let mut records = String::new();
    for hit in &page.results {
        let origin = &hit.provenance;
        let at = origin.updated_at;
        // Writing to a string cannot fail.
        write!(records, "{} (score {}, {at}", origin.source_ref, hit.score).ok();
        if let Some(workspace) = origin.workspace_id.as_ref().filter(|_| is_mixed) {
            write!(records, ", workspace {workspace}").ok();
        }
        if let Some(path) = &origin.source_path {
            write!(records, ", {path}").ok();
        }
        records.push_str(")\n");
        if !repeats(&hit.snippet, &origin.title) {
            writeln!(records, "  {}", origin.title).ok();
        }
        writeln!(records, "  {}", hit.snippet).ok();
    }
    section(&mut text, key, "results", &records);
    text
}

/// Returns true if an extract holds the title: the title of a brief is its own first line.
fn repeats(snippet: &str, title: &str) -> bool {
    let title: Vec<&str> = title.trim_end_matches('…').split_whitespace().collect();
    snippet.contains(&title.join(" "))
}
