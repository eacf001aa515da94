//! Where an agent's home is, and the keys by which the commands of its tasks are found.

use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, CallId};
use holon_engine::ports::CommandKey;

/// Where an agent's home is.
pub(crate) fn home_of(id: &AgentId) -> String {
    format!("/agents/{id}")
}

/// By what the command of a task is found.
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

/// By what the commands of a task are found: one, or several.
pub(crate) fn keys_of(task: &TaskRecord, key: &CommandKey) -> Vec<CommandKey> {
    match task.command().and_then(|spec| spec.batch_items) {
        None => vec![key.clone()],
        Some(items) => (1..=items as usize)
            .map(|number| key.item(number))
            .collect(),
    }
}
