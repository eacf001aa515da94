//! Renders tasks.

use super::{LINE_BYTES, join_lines};
use crate::addressing::hint;
use holon_client::Answer;
use holon_client::view::{ListedTask, TaskView};
use holon_domain::{AgentId, text};

/// Renders a list of tasks, one line each. `all` is true if those that are over were asked for too.
pub(crate) fn tasks(tasks: &[Answer<ListedTask>], all: bool, agent_id: &AgentId) -> String {
    if tasks.is_empty() {
        return match all {
            true => format!("agent {agent_id} has no tasks"),
            false => {
                format!("no task of {agent_id} is running; see those that are over with --all")
            }
        };
    }
    let line = |task: &Answer<ListedTask>| {
        let summary = task.summary.as_deref().unwrap_or(&task.kind);
        let summary = text::preview(summary, LINE_BYTES / 4);
        format!("{}  {}: {summary}", task.id, task.status)
    };
    join_lines(tasks.iter().map(line))
}

/// Renders one task of an agent with its command.
pub(crate) fn task(task: &TaskView, agent_id: &AgentId) -> String {
    let id = &task.task_id;
    let is_over = is_over(&task.status);
    let times = if is_over {
        format!("from {} to {}", task.created_at, task.updated_at)
    } else {
        format!("since: {}", task.created_at)
    };
    let mut lines = vec![format!("{}  {}", task.task_id, task.status), times];
    if let Some(command) = &task.command {
        lines.push(format!("command: {}", command.cmd));
        lines.push(format!("in: {}", command.workdir));
        if command.accepts_input && !is_over {
            lines.push(hint(format!(
                "takes input: holon task input {id} \"...\" --agent {agent_id}"
            )));
        }
        match (&command.result_summary, command.exit_status) {
            (Some(summary), _) => lines.push(summary.clone()),
            (None, Some(status)) => lines.push(format!("exit status: {status}")),
            (None, None) => {}
        }
        if is_over {
            lines.push(hint(format!(
                "output: holon task output {id} --agent {agent_id}"
            )));
        }
    } else {
        lines.extend(task.summary.clone());
    }
    join_lines(lines)
}

/// Returns true if a task of this status has ended. A status that this build does not know goes on.
fn is_over(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "cancelled" | "interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_client::view::TaskCommand;

    fn view(status: &str) -> TaskView {
        TaskView {
            task_id: "task_1".to_owned(),
            kind: "command_task".to_owned(),
            status: status.to_owned(),
            summary: None,
            created_at: "A".to_owned(),
            updated_at: "B".to_owned(),
            command: Some(TaskCommand {
                cmd: "make".to_owned(),
                workdir: "/w".to_owned(),
                result_summary: None,
                exit_status: (status == "failed").then_some(2),
                accepts_input: true,
            }),
        }
    }

    #[test]
    fn a_task_that_is_over_takes_no_input_and_shows_its_end() {
        let scout = AgentId::parse("scout").expect("an id");
        let running = task(&view("running"), &scout);
        assert!(
            running.contains("since: A") && running.contains("takes input"),
            "{running}"
        );
        let over = task(&view("failed"), &scout);
        assert!(!over.contains("takes input"), "{over}");
        for words in [
            "from A to B",
            "exit status: 2",
            "holon task output task_1 --agent scout",
        ] {
            assert!(over.contains(words), "{over}");
        }
    }

    #[test]
    fn an_empty_list_says_what_was_looked_for() {
        let scout = AgentId::parse("scout").expect("an id");
        assert_eq!(
            tasks(&[], false, &scout),
            "no task of scout is running; see those that are over with --all"
        );
        assert_eq!(tasks(&[], true, &scout), "agent scout has no tasks");
    }
}
