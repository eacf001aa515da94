//! The commands this process holds: one slot for each command that is being started, looked up or followed.
//!
//! The slot is locked to start its command and to look it up, so the two never overlap. A slot is removed when its
//! last user is gone and it holds no task.

use holon_domain::command::CommandKey;
use holon_process::ShimmedCommand;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The running task of a key; `None` while no task is known.
pub(crate) type Slot = Option<Arc<ShimmedCommand>>;

/// The slots in use, by command key.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<CommandKey, Arc<tokio::sync::Mutex<Slot>>>>,
}

impl Registry {
    /// Returns the slot of a key and creates it if needed.
    pub(crate) fn entry<'a>(&'a self, key: &'a CommandKey) -> Entry<'a> {
        let slot = Arc::clone(self.slots().entry(key.clone()).or_default());
        Entry {
            registry: self,
            key,
            slot,
        }
    }

    /// Releases a command that has ended. Later lookups read its end from its directory.
    pub(crate) async fn release(&self, key: &CommandKey, task: &Arc<ShimmedCommand>) {
        let entry = self.entry(key);
        let mut slot = entry.lock().await;
        if slot.as_ref().is_some_and(|held| Arc::ptr_eq(held, task)) {
            *slot = None;
        }
    }

    /// Returns true if the slot of this name in this home is in use.
    pub(crate) fn is_used(&self, agent_home: &Path, name: &str) -> bool {
        self.slots()
            .keys()
            .any(|key| key.name == name && Path::new(&key.agent_home) == agent_home)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<CommandKey, Arc<tokio::sync::Mutex<Slot>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle to a slot. Dropping the last handle removes an empty slot.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    registry: &'a Registry,
    key: &'a CommandKey,
    slot: Arc<tokio::sync::Mutex<Slot>>,
}

impl Entry<'_> {
    /// Waits until no other caller starts or looks up the command.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, Slot> {
        self.slot.lock().await
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut slots = self.registry.slots();
        // The two references are the map's and this one. No other caller can get one while the map is locked.
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
