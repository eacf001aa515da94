//! Subjects of commits: `area: imperative summary` in at most 72 characters.
//!
//! Only commits that build on the one that added this check are looked at. A checkout without history passes.

use crate::finding::Finding;
use crate::repo::Repo;
use std::process::Command;

/// The longest subject that every tool shows whole.
const LONGEST: usize = 72;
/// The commit that added this file is where the check begins.
const SINCE: &str = "xtask/src/tidy/subjects.rs";

/// Refuses subjects that are too long or name no area.
pub(crate) fn check(repo: &Repo) -> Vec<Finding> {
    let Some(added) = git(
        repo,
        &["log", "--diff-filter=A", "--format=%H", "--", SINCE],
    ) else {
        return Vec::new();
    };
    let Some(first) = added.lines().last() else {
        return Vec::new();
    };
    let range = format!("{first}..HEAD");
    git(
        repo,
        &[
            "log",
            "--ancestry-path",
            "--no-merges",
            "--format=%s",
            &range,
        ],
    )
    .unwrap_or_default()
    .lines()
    .filter_map(judge)
    .collect()
}

/// The finding about one subject, if there is one.
fn judge(subject: &str) -> Option<Finding> {
    let length = subject.chars().count();
    let area = subject.split_once(": ").map(|(area, _)| area);
    let message = if length > LONGEST {
        format!("\"{subject}\" has {length} characters, and {LONGEST} is the limit")
    } else if !area.is_some_and(|area| !area.is_empty() && !area.contains(' ')) {
        format!("\"{subject}\" does not begin with its area, as in \"core: hold task results\"")
    } else {
        return None;
    };
    Some(Finding::refusal("commit subject", 1, message))
}

/// Runs git and returns its output. None where there is no git or no history.
fn git(repo: &Repo, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(repo.root())
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_its_area_and_fits_a_line() {
        let long = format!("core: {}", "x".repeat(67));
        let fits = format!("core: {}", "x".repeat(66));
        for (subject, refused) in [
            ("core: hold task results over a provider outage", false),
            ("cli,server: rename a field of the status", false),
            (&fits, false),
            (&long, true),
            ("hold task results", true),
            ("two words: hold", true),
            (": hold", true),
        ] {
            assert_eq!(judge(subject).is_some(), refused, "{subject}");
        }
    }
}
