//! Renders the report of `holon doctor` as text for people.

use super::join_lines;
use crate::addressing::hint;
use crate::command::{Examination, Finding, Level};

/// Renders the findings as a table, each problem with its next step, and a summary.
pub(crate) fn examination(examination: &Examination) -> String {
    let lines = examination.findings.iter().flat_map(finding);
    join_lines(lines.chain([summary(examination)]))
}

fn finding(finding: &Finding) -> Vec<String> {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let mut lines = vec![format!(
        "{level:<8} {:<9} {}",
        finding.check, finding.message
    )];
    let next = finding.next_step.as_deref().map(hint);
    lines.extend(next.map(|next| format!("{:<18} next: {next}", "")));
    lines
}

fn summary(examination: &Examination) -> String {
    match (
        examination.count(Level::Error),
        examination.count(Level::Warning),
    ) {
        (0, 0) => "agents can work here".to_owned(),
        (0, warnings) => format!("agents can work here; warnings: {warnings}"),
        (errors, warnings) => format!("errors: {errors}, warnings: {warnings}"),
    }
}
