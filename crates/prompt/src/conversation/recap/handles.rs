//! Finds the handles that results name: ids of tasks, work items, waits and timers, and paths of files.
//!
//! Ids of tasks are counted apart from the rest, so that the paths of a large patch do not displace the id of a task
//! that still runs.

use super::{SUMMARY_BYTES, short};
use holon_domain::agent::AgentRecord;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use serde_json::Value;

/// Fields of results that name something later calls can refer to.
const FIELDS: [&str; 6] = [
    "work_item_id",
    "wait_id",
    "timer_id",
    "agent_id",
    "worktree_path",
    "execution_root",
];
/// Records of results whose field `id` is such a name.
const RECORDS: [&str; 4] = ["timer", "wait", "work_item", "current_work_item"];
/// Field that names a task, and the record whose `id` does.
const TASK_FIELD: &str = "task_id";
const TASK_RECORD: &str = "task";
/// Levels of a result that are searched. The output files of a batch are on the last.
const DEPTH: usize = 4;

/// Handles in the order in which they were named.
#[derive(Debug, Default)]
pub(in crate::conversation) struct Handles {
    tasks: Vec<String>,
    others: Vec<String>,
}

impl Handles {
    pub(super) fn extend(&mut self, more: &Self) {
        self.tasks.extend(more.tasks.iter().cloned());
        self.others.extend(more.others.iter().cloned());
    }

    /// Lists the newest handles of each kind, at most `limit` of a kind; empty if there are none.
    pub(in crate::conversation) fn render(&self, limit: usize) -> String {
        let listed: Vec<&str> = newest(&self.tasks, limit)
            .into_iter()
            .chain(newest(&self.others, limit))
            .collect();
        if listed.is_empty() {
            String::new()
        } else {
            format!(" [{}]", listed.join(", "))
        }
    }
}

/// Returns the newest handles, each once and the newest last.
fn newest(all: &[String], limit: usize) -> Vec<&str> {
    let mut newest: Vec<&str> = Vec::new();
    for handle in all.iter().rev() {
        if newest.len() == limit {
            break;
        }
        if !newest.contains(&handle.as_str()) {
            newest.push(handle);
        }
    }
    newest.reverse();
    newest
}

/// Returns the handles that a result names. The agent knows its own id from the prompt, so that is not one.
pub(in crate::conversation) fn collect(envelope: &ToolEnvelope, agent: &AgentRecord) -> Handles {
    let mut found = Handles::default();
    if let ToolOutcome::Success { result } = &envelope.outcome {
        search(result, "", 0, &mut found);
    }
    let own = agent.identity.agent_id.as_str();
    found.others.retain(|handle| handle != own);
    found
}

/// Searches the value of the field `parent`. Members of a list have the name of the list.
fn search(value: &Value, parent: &str, depth: usize, found: &mut Handles) {
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(handle) => note(handle, (parent, name), depth, found),
                    None => search(member, name, depth + 1, found),
                }
            }
        }
        Value::Array(members) => {
            for member in members {
                search(member, parent, depth + 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn note(handle: &str, (parent, name): (&str, &str), depth: usize, found: &mut Handles) {
    let handle = || short(handle, SUMMARY_BYTES);
    let is_id_of = |records: &[&str]| name == "id" && records.contains(&parent);
    // A path at the top of a result is an argument of the call and stands in the line.
    let is_file = name == "path" && depth > 1;
    if name == TASK_FIELD || is_id_of(&[TASK_RECORD]) {
        found.tasks.push(handle());
    } else if is_file || FIELDS.contains(&name) || is_id_of(&RECORDS) {
        found.others.push(handle());
    }
}
