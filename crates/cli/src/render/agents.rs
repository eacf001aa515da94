//! Renders lists of agents: a table on a terminal, bare lines in a pipe.

use super::{one_line, status_word, table};
use crate::addressing::hint;
use holon_client::Answer;
use holon_client::view::{AgentListEntry, Child};
use serde_json::Value;

/// Narrowest terminal whose table has a column for the model.
const MODEL_COLUMNS: usize = 72;

/// One line of a list or a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentLine {
    /// Name, indented by its depth in a tree.
    pub(crate) name: String,
    pub(crate) state: String,
    /// Empty for a private child, whose status the list does not have.
    pub(crate) model: String,
    /// What the agent does or waits for.
    pub(crate) why: String,
}

impl AgentLine {
    /// Describes an agent of the host's list.
    pub(crate) fn of_agent(agent: &Answer<AgentListEntry>) -> Self {
        let posture = &agent.scheduling_posture;
        let queued = match agent.pending {
            0 => String::new(),
            pending => format!(" ({pending} queued)"),
        };
        let model = agent.raw().pointer("/model/effective_model");
        Self {
            name: agent.identity.agent_id.clone(),
            state: status_word(&agent.status, &posture.posture).to_owned(),
            model: model.and_then(Value::as_str).unwrap_or_default().to_owned(),
            why: format!("{}{queued}", posture.reason),
        }
    }

    /// Describes a private child.
    pub(crate) fn of_child(child: &Child) -> Self {
        let reason = child.reason().map(|reason| format!(" ({reason})"));
        let reason = reason.unwrap_or_default();
        let label = child.summary.as_deref().unwrap_or_default();
        Self {
            name: child.identity.agent_id.clone(),
            state: child.phase.clone(),
            model: String::new(),
            why: format!("{}{reason}  {label}", child.supervision_task_id),
        }
    }

    /// Indents the name for a tree.
    pub(crate) fn indented(self, depth: usize) -> Self {
        Self {
            name: format!("{}{}", "  ".repeat(depth), self.name),
            ..self
        }
    }
}

/// Renders the list of agents. A pipe gets lines that scripts may know: name, state, queue, and reason or directory.
pub(crate) fn list(agents: &[Answer<AgentListEntry>], columns: Option<usize>) -> String {
    if agents.is_empty() {
        return hint("no agents yet; make one with: holon agent create ID");
    }
    if columns.is_some() {
        let lines: Vec<AgentLine> = agents.iter().map(AgentLine::of_agent).collect();
        return lines_of(&lines, columns);
    }
    let rows: Vec<Vec<String>> = agents.iter().map(piped).collect();
    table::render(&["", "", "", ""], &rows, None)
}

fn piped(agent: &Answer<AgentListEntry>) -> Vec<String> {
    // The reason for which an agent was put aside, or the event it waits for, is more useful than its directory.
    let last = match agent.scheduling_posture.posture.as_str() {
        "archived" | "active_turn" | "has_queued_input" | "has_runnable_work"
        | "waiting_for_task" | "blocked" | "idle" => &agent.active_workspace_entry.cwd,
        _ => &agent.scheduling_posture.reason,
    };
    let status = status_word(&agent.status, &agent.scheduling_posture.posture);
    vec![
        agent.identity.agent_id.clone(),
        format!("{:13}", one_line(status)),
        format!("{} queued", agent.pending),
        one_line(last),
    ]
}

/// Renders lines of a list or a tree in columns.
pub(crate) fn lines_of(lines: &[AgentLine], columns: Option<usize>) -> String {
    let has_model = columns.is_some_and(|columns| columns >= MODEL_COLUMNS);
    let row = |line: &AgentLine| {
        let mut cells = vec![line.name.as_str(), &line.state];
        if has_model {
            cells.push(&line.model);
        }
        cells.push(&line.why);
        cells.into_iter().map(one_line).collect()
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    let header: &[&str] = match has_model {
        true => &["NAME", "STATE", "MODEL", "DOES OR WAITS FOR"],
        false => &["NAME", "STATE", "DOES OR WAITS FOR"],
    };
    table::render(header, &rows, columns)
}
