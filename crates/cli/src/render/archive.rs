//! Renders what an export, an import or a clone holds.

use super::join_lines;
use holon_api::ExportReport;
use holon_domain::archive::{
    ArchiveCounts, ImportReport, ImportedWorkspace, LeftOut, WorkspaceImport,
};
use holon_domain::text::pluralize;

/// Files that are listed. More are counted.
const LISTED: usize = 40;

/// Renders an export: every file with its size for a dry run, and always what was left out.
pub(crate) fn export(report: &ExportReport) -> String {
    let manifest = &report.manifest;
    let (agent, bytes) = (&report.agent_id, report.bytes);
    let head = match &report.out {
        Some(out) => format!("agent {agent} is in {out}: {bytes} bytes"),
        None => format!("agent {agent} would be exported: {bytes} bytes"),
    };
    let mut lines = vec![head, counts(&manifest.counts)];
    if report.dry_run {
        let files = manifest.files.iter();
        lines.extend(listing(
            files.map(|file| (file.path.as_str(), file.digest.bytes)),
        ));
    }
    let redacted = manifest.files.iter().filter(|file| file.redacted);
    lines.extend(redacted.map(|file| format!("a secret was replaced in {}", file.path)));
    lines.extend(manifest.left_out.iter().map(left_out));
    join_lines(lines)
}

/// Renders an import or a clone.
pub(crate) fn import(report: &ImportReport) -> String {
    let (agent, source) = (&report.agent_id, &report.origin.agent_id);
    let head = if report.dry_run {
        format!("agent {agent} would be made from {source}")
    } else {
        format!("agent {agent} is made from {source}")
    };
    let mut lines = vec![head, counts(&report.counts)];
    if report.dry_run {
        let files = report.files.iter();
        lines.extend(listing(files.map(|file| (file.path.as_str(), file.bytes))));
    }
    lines.extend(report.workspaces.iter().map(workspace));
    lines.extend(report.left_out.iter().map(left_out));
    lines.extend(report.notes.iter().map(|note| format!("next: {note}")));
    join_lines(lines)
}

fn counts(counts: &ArchiveCounts) -> String {
    format!(
        "{} with {} bytes, {}, {}, {}",
        pluralize(counts.files, "file"),
        counts.bytes,
        pluralize(counts.work_items, "work item"),
        pluralize(counts.timers, "timer"),
        pluralize(counts.workspaces, "workspace"),
    )
}

fn listing<'a>(files: impl ExactSizeIterator<Item = (&'a str, u64)>) -> Vec<String> {
    let more = files.len().saturating_sub(LISTED);
    let mut lines: Vec<String> = files
        .take(LISTED)
        .map(|(path, bytes)| format!("  {bytes:>10}  {path}"))
        .collect();
    if more > 0 {
        lines.push(format!("  and {more} more; --json lists all of them"));
    }
    lines
}

fn left_out(left: &LeftOut) -> String {
    format!("left out: {}: {}", left.what, left.reason)
}

fn workspace(workspace: &ImportedWorkspace) -> String {
    let path = &workspace.path;
    match workspace.state {
        WorkspaceImport::Attached => format!("workspace {path} is attached"),
        WorkspaceImport::Missing => {
            format!("workspace {path} is missing here: it is attached and works once it is there")
        }
        WorkspaceImport::Refused => format!("workspace {path} is not attached: it is refused here"),
    }
}
