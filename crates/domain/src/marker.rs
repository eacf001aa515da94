//! Marker lines that enclose content of low authority in a prompt, and their removal from text that imitates them.

use std::ops::Range;

/// How marker lines begin, before their name.
pub const OPENINGS: [&str; 4] = ["<<<", ">>>", "=== begin of", "=== end of"];
/// Names on marker lines.
pub const NAMES: [&str; 9] = [
    "user_instructions",
    "agent_instructions",
    "workspace_instructions",
    "task_result",
    "task_status",
    "integration_signal",
    "external_evidence",
    "skill_catalog",
    "agent_notes",
];
/// Replaces a removed code or marker; it shares no part with either, so none can form again across it.
pub const REMOVED: &str = "[marker removed]";

/// Replaces every marker of a text, in upper or lower case.
#[must_use]
pub fn without_markers(text: &str) -> String {
    remove(text, find_markers)
}

/// Finds the markers of a lower-case text, also with blanks before the name.
#[must_use]
pub fn find_markers(lowered: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for name in NAMES {
        for (at, _) in lowered.match_indices(name) {
            let before = lowered.get(..at).unwrap_or_default();
            let before = before.trim_end_matches([' ', '\t']);
            let opening = OPENINGS
                .iter()
                .find_map(|opening| before.strip_suffix(opening));
            found.extend(opening.map(|rest| rest.len()..at + name.len()));
        }
    }
    found.sort_by_key(|marker| marker.start);
    found
}

/// Replaces what `find` finds in the lower-case text, in order of its position.
#[must_use]
pub fn remove(body: &str, find: impl Fn(&str) -> Vec<Range<usize>>) -> String {
    // ASCII lowering keeps every byte position, so positions in one text are valid in the other.
    let lowered = body.to_ascii_lowercase();
    let mut kept = String::with_capacity(body.len());
    let mut from = 0;
    for found in find(&lowered) {
        kept.push_str(body.get(from..found.start).unwrap_or_default());
        kept.push_str(REMOVED);
        from = found.end.max(from);
    }
    kept.push_str(body.get(from..).unwrap_or_default());
    kept
}
