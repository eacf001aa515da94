//! Renders the results of `holon backup` and `holon restore` as text for people.

use super::join_lines;
use crate::addressing::hint;
use holon_daemon::backup::{BackupReport, RestoreReport};

/// Files that are left out and named.
const NAMED: usize = 10;

/// Renders a backup that was made.
pub(crate) fn made(report: &BackupReport) -> String {
    let summary = format!(
        "backed up {} in {} bytes: agents {}, files {}",
        report.path.display(),
        report.bytes,
        report.agents,
        report.files
    );
    let left_out = report
        .left_out
        .iter()
        .take(NAMED)
        .map(|file| format!("left out {}: {}", file.path, file.reason));
    let more = report.left_out.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more were left out"));
    join_lines(
        [summary]
            .into_iter()
            .chain(left_out)
            .chain(more)
            .chain(["credentials, tokens and worktrees are not in it".to_owned()]),
    )
}

/// Renders a home that was restored.
pub(crate) fn restored(report: &RestoreReport) -> String {
    join_lines([
        format!(
            "restored {} as of {}: agents {}, files {}",
            report.home_dir.display(),
            report.backed_up_at,
            report.agents,
            report.files
        ),
        hint(
            "next: give it credentials with holon init or holon config credentials set, then: holon daemon start",
        ),
    ])
}
