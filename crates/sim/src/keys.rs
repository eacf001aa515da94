//! Paths of agents' homes, and the keys by which the commands of tasks are found.

use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, CallId};
use holon_engine::ports::CommandKey;

/// Returns the path of an agent's home.
pub(crate) fn home_of(id: &AgentId) -> String {
    format!("/agents/{id}")
}

/// Returns the key of a task's command.
pub(crate) fn key_of(home: &str, task: &TaskRecord) -> CommandKey {
    match task.command() {
        Some(spec) => CommandKey::of_call(home, &spec.call_id),
        None => CommandKey {
            agent_home: home.to_owned(),
            name: task.id.to_string(),
            call: CallId::from_stored("none"),
        },
    }
}

/// Returns the keys of all commands of a task: one, or those of a batch.
pub(crate) fn keys_of(task: &TaskRecord, key: &CommandKey) -> Vec<CommandKey> {
    match task.command().and_then(|spec| spec.batch_items) {
        None => vec![key.clone()],
        Some(items) => (1..=items as usize)
            .map(|number| key.item(number))
            .collect(),
    }
}
