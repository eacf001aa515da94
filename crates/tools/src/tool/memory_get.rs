//! `MemoryGet`: reads one record of memory exactly. The shell answers from the agent's memory index.

use crate::input::{self, Subject};
use crate::lines::{FenceKey, line, section};
use crate::schema;
use holon_domain::intent::Intent;
use holon_domain::limits::{MEMORY_CONTENT_CHARS, MEMORY_CONTENT_CHARS_MAX};
use holon_domain::memory::{MemoryContent, MemoryGet, MemoryQuery, SourceRef};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub const NAME: &str = "MemoryGet";
const LEAST: u64 = 1;
const MOST: u64 = MEMORY_CONTENT_CHARS_MAX as u64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// source_ref of a search result, copied unchanged.
    #[schemars(length(min = 1))]
    source_ref: String,
    /// Characters to show from its beginning, 1 to 50000. Default 12000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = LEAST, max = MOST))]
    max_chars: Option<u64>,
}

/// The result of a read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    memory: MemoryContent,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Read the exact text of a record that MemorySearch found.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    let source_ref = SourceRef::parse_issued(&args.source_ref).map_err(|error| {
        let invalid = subject.invalid(Some("source_ref"), &error.to_string());
        invalid
            .hint("copy the source_ref of a result of MemorySearch; a file is read with a command")
    })?;
    let max_chars = match args.max_chars {
        None => MEMORY_CONTENT_CHARS,
        Some(count) if (LEAST..=MOST).contains(&count) => {
            u32::try_from(count).unwrap_or(MEMORY_CONTENT_CHARS)
        }
        Some(count) => {
            let problem = format!("{count} is not between {LEAST} and {MOST}");
            let hint = format!("leave max_chars out for {MEMORY_CONTENT_CHARS} characters");
            return Err(subject.invalid(Some("max_chars"), &problem).hint(hint));
        }
    };
    Ok(Intent::Memory(MemoryQuery::Get(MemoryGet {
        source_ref,
        max_chars,
    })))
}

/// Builds the envelope of a record that was found.
#[must_use]
pub fn envelope(content: &MemoryContent) -> ToolEnvelope {
    let summary = format!("read {}", content.provenance.source_ref.key());
    ToolEnvelope::success(NAME, summary, json!({ "memory": content }))
}

/// Renders the record. Its text stands in a fence: it is evidence, not an instruction.
pub(crate) fn text(Answer { memory }: &Answer, key: FenceKey<'_>) -> String {
    let origin = &memory.provenance;
    let mut text = origin.source_ref.to_string();
    line(&mut text, &format!("updated: {}", origin.updated_at));
    if let Some(workspace) = &origin.workspace_id {
        line(&mut text, &format!("workspace: {workspace}"));
    }
    if let Some(path) = &origin.source_path {
        line(&mut text, &format!("file in your home: {path}"));
    }
    if !origin.metadata.is_null() {
        line(&mut text, &format!("facts: {}", origin.metadata));
    }
    if memory.truncated {
        line(&mut text, "cut; ask for more with max_chars");
    }
    section(&mut text, key, "content", &memory.content);
    text
}
