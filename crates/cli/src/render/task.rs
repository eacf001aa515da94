//! Renders tasks.

use super::{LINE_BYTES, join_lines};
use holon_client::Answer;
use holon_client::view::{ListedTask, TaskView};
use holon_domain::text;

/// Renders a list of tasks, one line each.
pub(crate) fn tasks(tasks: &[Answer<ListedTask>]) -> String {
    if tasks.is_empty() {
        return "no such tasks".to_owned();
    }
    let line = |task: &Answer<ListedTask>| {
        let summary = task.summary.as_deref().unwrap_or(&task.kind);
        let summary = text::preview(summary, LINE_BYTES / 4);
        format!("{}  {}: {summary}", task.id, task.status)
    };
    join_lines(tasks.iter().map(line))
}

/// Renders one task with its command.
pub(crate) fn task(task: &TaskView) -> String {
    let mut lines = vec![
        format!("{}  {}", task.task_id, task.status),
        format!("since: {}", task.created_at),
    ];
    if let Some(command) = &task.command {
        lines.push(format!("command: {}", command.cmd));
        lines.push(format!("in: {}", command.workdir));
        if command.accepts_input {
            lines.push("takes input: holon task input".to_owned());
        }
        lines.extend(command.result_summary.clone());
    } else {
        lines.extend(task.summary.clone());
    }
    join_lines(lines)
}
