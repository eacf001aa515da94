//! The stored result of an applied patch, and its receipt.
//!
//! Invariant: every stored result can be rendered, including those of earlier versions, which used other names and
//! stored remarks as plain lines.

use super::NAME;
use holon_domain::file_change::{
    ChangedFile, FileAction, IgnoredMetadata, PatchDiagnostic, PatchResult,
};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolOutcome};
use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// Largest number of remarks of one kind in a receipt; a patch with one wrong hint often has many.
const SHOWN: usize = 8;
/// Member of the result that lists the paths.
const CHANGED_PATHS: &str = "changed_paths";

/// Builds the envelope of an applied or refused patch.
#[must_use]
pub fn envelope(came_to: Result<PatchResult, ToolError>) -> ToolEnvelope {
    match came_to {
        Ok(applied) => ToolEnvelope::success(NAME, summary(&applied), result(&applied)),
        Err(error) => ToolEnvelope::failure(NAME, error),
    }
}

/// Returns the paths that a call changed, in the order of its patch; empty for a call of another tool or one that
/// failed. A moved file is listed under its new path.
#[must_use]
pub fn changed_paths(envelope: &ToolEnvelope) -> Vec<String> {
    let result = match &envelope.outcome {
        ToolOutcome::Success { result } if envelope.tool_name == NAME => result,
        ToolOutcome::Success { .. } | ToolOutcome::Error { .. } => return Vec::new(),
    };
    let paths = result.get(CHANGED_PATHS).and_then(Value::as_array);
    let paths = paths.into_iter().flatten().filter_map(Value::as_str);
    paths.map(str::to_owned).collect()
}

fn summary(applied: &PatchResult) -> String {
    match applied.changed_files.as_slice() {
        [only] => line(only),
        many => format!("{} files changed", many.len()),
    }
}

fn result(applied: &PatchResult) -> Value {
    let files = applied.changed_files.iter();
    let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    json!({
        "changed_files": applied.changed_files,
        CHANGED_PATHS: paths,
        "changed_file_count": paths.len(),
        "ignored_metadata": applied.ignored_metadata,
        "diagnostics": applied.diagnostics,
    })
}

/// Stored result of an applied patch.
#[derive(Deserialize)]
pub(crate) struct AppliedRecord {
    #[serde(alias = "files")]
    changed_files: Vec<ChangedFile>,
    #[serde(default)]
    ignored_metadata: Vec<Remark<IgnoredMetadata>>,
    #[serde(default)]
    diagnostics: Vec<Remark<PatchDiagnostic>>,
}

/// A remark about the patch.
#[derive(Deserialize)]
#[serde(untagged)]
enum Remark<T> {
    /// In the current form.
    Fields(T),
    /// As one line, the form of earlier versions.
    Line(String),
}

impl<T> Remark<T> {
    fn line(&self, of_fields: fn(&T) -> String) -> String {
        match self {
            Self::Fields(fields) => of_fields(fields),
            Self::Line(line) => line.clone(),
        }
    }
}

/// Renders an applied patch: a line for each file, then the remarks.
pub(crate) fn text(record: &AppliedRecord) -> String {
    let mut lines: Vec<String> = record.changed_files.iter().map(line).collect();
    // Counts are not used to find a place, so a wrong one says nothing about the change.
    let is_of_use = |remark: &&Remark<PatchDiagnostic>| match remark {
        Remark::Fields(fields) => fields.kind != "count_mismatch",
        Remark::Line(_) => true,
    };
    let notes: Vec<&Remark<PatchDiagnostic>> =
        record.diagnostics.iter().filter(is_of_use).collect();
    lines.extend(remarks("note", &notes, |remark| {
        format!("{}: {}", remark.path, remark.message)
    }));
    lines.extend(remarks(
        "ignored",
        &record.ignored_metadata.iter().collect::<Vec<_>>(),
        |ignored| format!("{}: {} {}", ignored.path, ignored.kind, ignored.value),
    ));
    lines.join("\n")
}

/// Renders the first remarks of a kind, and the number of the others.
fn remarks<T>(label: &str, remarks: &[&Remark<T>], of_fields: fn(&T) -> String) -> Vec<String> {
    let shown = remarks.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|remark| format!("{label}: {}", remark.line(of_fields)))
        .collect();
    if let Some(more @ 1..) = remarks.len().checked_sub(SHOWN) {
        lines.push(format!("{label}: {more} more of this sort"));
    }
    lines
}

/// Renders a changed file in one line, with the letters that version control uses.
fn line(file: &ChangedFile) -> String {
    let path = &file.path;
    match &file.action {
        FileAction::Add => format!("A {path}"),
        FileAction::Modify => format!("M {path}"),
        FileAction::Delete => format!("D {path}"),
        FileAction::Move { from_path } => format!("R {from_path} -> {path}"),
    }
}
