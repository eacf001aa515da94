//! Paths of somebody's machine may not stand in any text: they work nowhere else.
//!
//! The paths are spelt in pieces here, so that this file passes its own check.

use crate::finding::Finding;
use crate::repo::Source;

/// Roots of places that exist on one machine only.
const ROOTS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
];

/// Refuses absolute paths under those roots.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for root in ROOTS.iter().filter(|root| begins_path(line, root)) {
            let message = format!(
                "a path under {root} is this machine's own; use a relative path or a temporary directory"
            );
            findings.push(Finding::refusal(&source.path, index + 1, message));
        }
    }
    findings
}

/// Returns true if `root` stands in `line` as the beginning of a path, not in the middle of one.
fn begins_path(line: &str, root: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "._-~}>)/$*".contains(c);
    line.match_indices(root).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(continues)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_own_paths_are_refused_and_relative_ones_pass() {
        let root = ROOTS[2];
        for (line, expected) in [
            (format!("cd {root}main"), true),
            (format!("\"{root}x\""), true),
            (format!("agents/main{root}notes"), false),
            (format!("<home>{root}notes"), false),
            (format!("~{root}"), false),
        ] {
            assert_eq!(begins_path(&line, root), expected, "{line}");
        }
    }
}
