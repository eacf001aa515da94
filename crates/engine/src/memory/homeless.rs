//! Indexes of agents without a home. They are kept in memory between uses, so that a long build comes to an end.

use holon_store::{IndexOwner, MemoryIndex};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Agents without a home whose index is kept. The one that was not used for the longest time is dropped.
const KEPT: usize = 16;

/// The kept indexes, the last used one at the end.
#[derive(Debug, Default)]
pub(super) struct HomelessIndexes(Mutex<VecDeque<(IndexOwner, MemoryIndex)>>);

impl HomelessIndexes {
    /// Takes out the index of an owner. One of an earlier agent of the name is dropped.
    pub(super) fn take(&self, owner: &IndexOwner) -> Option<MemoryIndex> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept
            .iter()
            .position(|(found, _)| found.agent_id == owner.agent_id)?;
        let (found, index) = kept.remove(at)?;
        (found == *owner).then_some(index)
    }

    pub(super) fn put(&self, owner: IndexOwner, index: MemoryIndex) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((owner, index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::AgentId;

    fn owner(name: &str, birth: i64) -> IndexOwner {
        IndexOwner {
            agent_id: AgentId::parse_stored(name).unwrap(),
            birth,
            epoch: "e".to_owned(),
        }
    }

    #[test]
    fn the_last_used_indexes_are_kept_for_their_owners() {
        let kept = HomelessIndexes::default();
        let name = |number: usize| format!("agent-{number}");
        let put = |owner: IndexOwner| {
            let index = MemoryIndex::in_memory(&owner).unwrap();
            kept.put(owner, index);
        };
        for number in 0..=KEPT {
            put(owner(&name(number), 1));
        }
        assert!(kept.take(&owner(&name(0), 1)).is_none(), "it was dropped");
        assert!(kept.take(&owner(&name(1), 1)).is_some());
        assert!(kept.take(&owner(&name(1), 1)).is_none(), "it was taken");
        assert!(kept.take(&owner(&name(2), 2)).is_none(), "another agent");
        assert!(kept.take(&owner(&name(2), 1)).is_none(), "it was dropped");
        assert!(kept.take(&owner(&name(KEPT), 1)).is_some());
    }
}
