//! Names of tasks, for the rows about their later states: an event of a change holds the id alone.

use crate::text::cut_line;
use holon_domain::TaskId;
use holon_domain::event::TaskCreated;
use std::collections::VecDeque;

/// Most tasks whose names are kept. At the bound the oldest is forgotten, and its rows show the id alone.
const TASKS: usize = 64;
/// Bytes of a name: the beginning of a command is enough to know it by.
const NAME_BYTES: usize = 60;
/// Longest id of a task that is kept; the runtime's own are shorter.
const ID_BYTES: usize = 100;

#[derive(Debug, Clone, Default)]
pub(super) struct TaskNames {
    names: VecDeque<(String, String)>,
}

impl TaskNames {
    pub(super) fn add(&mut self, e: &TaskCreated) {
        let id = e.task_id.as_str();
        if id.len() > ID_BYTES {
            return;
        }
        let name = cut_line(e.summary.as_deref().unwrap_or_default(), NAME_BYTES);
        if !name.is_empty() {
            self.names.truncate(TASKS - 1);
            self.names.push_front((id.to_owned(), name));
        }
    }

    pub(super) fn get(&self, id: &TaskId) -> Option<&str> {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| known == id.as_str());
        found.map(|(_, name)| name.as_str())
    }
}
