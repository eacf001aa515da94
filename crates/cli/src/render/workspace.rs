//! Workspaces and worktrees as text.

use holon_client::view::{Execution, Worktree, Worktrees};
use serde_json::Value;

/// Lists the workspaces of an agent, the active one with a mark.
pub(crate) fn list(execution: &Execution) -> String {
    let mut lines: Vec<String> = execution
        .attached_workspaces
        .iter()
        .map(|(id, anchor)| {
            let mark = if *id == execution.workspace_id {
                '*'
            } else {
                ' '
            };
            format!("{mark} {id}  {anchor}")
        })
        .collect();
    lines.push(format!("commands start in {}", execution.cwd));
    lines.join("\n")
}

/// Lists managed worktrees with their fate.
pub(crate) fn worktrees(found: &Worktrees) -> String {
    if found.worktrees.is_empty() && found.unreadable.is_empty() {
        return "there are no worktrees of the runtime".to_owned();
    }
    let mut lines: Vec<String> = found.worktrees.iter().map(worktree).collect();
    let unreadable = found.unreadable.iter();
    lines.extend(unreadable.map(|record| format!("kept  {}\n  {}", record.path, record.detail)));
    if found.left_out > 0 {
        lines.push(format!("{} more were not looked at", found.left_out));
    }
    lines.join("\n")
}

fn worktree(found: &Worktree) -> String {
    let mut line = format!("{}  {}  {}", found.verdict, found.branch, found.path);
    if let Some(rescue) = &found.rescue_ref {
        line.push_str(&format!("\n  its last commit is kept as {rescue}"));
    }
    for reason in &found.reasons {
        line.push_str(&format!("\n  {}", words(reason)));
        if reason.get("reason").and_then(Value::as_str) == Some("ignored_files") {
            let path = super::quote_word(&found.path);
            line.push_str(&format!("; delete them with: git -C {path} clean -fdX"));
        }
    }
    line
}

/// Spells a reason: its name, and what else it says.
fn words(reason: &Value) -> String {
    let Some(members) = reason.as_object() else {
        return reason.to_string();
    };
    let name = members.get("reason").and_then(Value::as_str);
    let name = name.unwrap_or("unknown").replace('_', " ");
    let rest: Vec<String> = members
        .iter()
        .filter(|(member, _)| *member != "reason")
        .map(|(member, value)| match value.as_str() {
            Some(text) => format!("{member} {text}"),
            None => format!("{member} {value}"),
        })
        .collect();
    if rest.is_empty() {
        name
    } else {
        format!("{name}: {}", rest.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ignored_files_come_with_the_command_that_deletes_them() {
        let found = json!({ "worktrees": [{
            "path": "/w/it's here", "branch": "holon/x", "verdict": "kept",
            "reasons": [{ "reason": "ignored_files", "files": 2, "bytes": 9 }, { "reason": "locked" }],
        }] });
        let found: Worktrees = serde_json::from_value(found).expect("worktrees");
        let text = worktrees(&found);
        let command = r"delete them with: git -C '/w/it'\''s here' clean -fdX";
        assert_eq!(text.matches(command).count(), 1, "{text}");
    }
}
