//! The commands this process holds: one slot for each that is being started, looked for or followed.
//!
//! A slot is locked to start its command and to look for it, so the two never overlap. It is removed when its last user
//! is gone and it holds no task.

use holon_domain::command::CommandKey;
use holon_process::Task;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known to run under a key.
pub(crate) type Slot = Option<Arc<Task>>;

/// The slots in use.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<CommandKey, Arc<tokio::sync::Mutex<Slot>>>>,
}

impl Registry {
    /// The slot of a key.
    pub(crate) fn entry<'a>(&'a self, key: &'a CommandKey) -> Entry<'a> {
        let slot = Arc::clone(self.slots().entry(key.clone()).or_default());
        Entry {
            registry: self,
            key,
            slot,
        }
    }

    /// Lets go of a command that has ended; later lookups read its end from its directory.
    pub(crate) async fn let_go(&self, key: &CommandKey, task: &Arc<Task>) {
        let entry = self.entry(key);
        let mut slot = entry.lock().await;
        if slot.as_ref().is_some_and(|held| Arc::ptr_eq(held, task)) {
            *slot = None;
        }
    }

    /// Whether the slot of this name in this home is in use.
    pub(crate) fn is_used(&self, agent_home: &Path, name: &str) -> bool {
        self.slots()
            .keys()
            .any(|key| key.name == name && Path::new(&key.agent_home) == agent_home)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<CommandKey, Arc<tokio::sync::Mutex<Slot>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot in use.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    registry: &'a Registry,
    key: &'a CommandKey,
    slot: Arc<tokio::sync::Mutex<Slot>>,
}

impl Entry<'_> {
    /// Waits until no other caller starts or looks for the command.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, Slot> {
        self.slot.lock().await
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut slots = self.registry.slots();
        // The map's and ours: nobody else has it, and nobody gets it while the map is locked.
        let is_last = Arc::strong_count(&self.slot) == 2;
        if is_last && self.slot.try_lock().is_ok_and(|slot| slot.is_none()) {
            slots.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::CallId;

    #[tokio::test]
    async fn a_slot_is_one_for_all_who_use_it_and_goes_with_the_last() {
        let registry = Registry::default();
        let key = CommandKey::of_call("/agents/scout", &CallId::from_stored("call_1"));
        let first = registry.entry(&key);
        let held = first.lock().await;
        let second = registry.entry(&key);
        assert!(second.slot.try_lock().is_err());
        drop(held);
        assert!(second.slot.try_lock().is_ok());
        drop(first);
        assert!(registry.is_used(Path::new("/agents/scout"), "task_1"));
        assert!(!registry.is_used(Path::new("/agents/other"), "task_1"));
        drop(second);
        assert!(!registry.is_used(Path::new("/agents/scout"), "task_1"));
    }
}
