//! The order in which agents are fed. Pure.

use holon_domain::AgentId;
use std::collections::{BTreeSet, VecDeque};

/// Agents that wait for the feed loop. Those with changes are taken in rounds; between two rounds one of those whose
/// index is being built gets a turn, so that neither kind waits for ever.
#[derive(Debug, Default)]
pub(super) struct FeedQueue {
    /// Rest of the current round.
    round: BTreeSet<AgentId>,
    /// Agents of the next round.
    changed: BTreeSet<AgentId>,
    building: VecDeque<AgentId>,
    /// True if a round was taken since the last turn of a build.
    is_turn_of_builds: bool,
}

impl FeedQueue {
    /// Adds an agent with changes. One whose index is being built takes them then.
    pub(super) fn add_changed(&mut self, agent_id: AgentId) {
        if !self.building.contains(&agent_id) {
            self.changed.insert(agent_id);
        }
    }

    /// Adds an agent whose index has to be built further, behind the others of the kind.
    pub(super) fn add_building(&mut self, agent_id: AgentId) {
        self.changed.remove(&agent_id);
        self.round.remove(&agent_id);
        if !self.building.contains(&agent_id) {
            self.building.push_back(agent_id);
        }
    }

    /// Takes the next agent.
    pub(super) fn next(&mut self) -> Option<AgentId> {
        if self.round.is_empty() && self.is_turn_of_builds {
            self.is_turn_of_builds = false;
            if let Some(agent_id) = self.building.pop_front() {
                return Some(agent_id);
            }
        }
        if self.round.is_empty() {
            self.round = std::mem::take(&mut self.changed);
        }
        self.is_turn_of_builds = !self.round.is_empty();
        self.round.pop_first().or_else(|| self.building.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> AgentId {
        AgentId::parse_stored(name).unwrap()
    }

    /// Takes agents until none is left, at most `most`. Builds are never finished, and `busy` always has changes.
    fn taken(changed: &[&str], building: &[&str], busy: Option<&str>, most: usize) -> String {
        let mut queue = FeedQueue::default();
        changed.iter().for_each(|name| queue.add_changed(id(name)));
        building
            .iter()
            .for_each(|name| queue.add_building(id(name)));
        let mut order = Vec::new();
        while let Some(next) = queue.next().filter(|_| order.len() < most) {
            if building.contains(&next.as_str()) {
                queue.add_building(next.clone());
            }
            if let Some(busy) = busy {
                queue.add_changed(id(busy));
            }
            order.push(next.to_string());
        }
        order.join(" ")
    }

    #[test]
    fn agents_with_changes_go_first_and_builds_take_turns() {
        for (changed, building, busy, order) in [
            (&["b", "a"] as &[_], &[] as &[_], None, "a b"),
            (&[], &[], None, ""),
            (&["b", "a"], &["x", "y"], None, "a b x y x y"),
            (&[], &["x"], None, "x x x x x x"),
            // A host that always has changes neither stops the builds nor is stopped by them.
            (&["a", "b"], &["x", "y"], Some("c"), "a b x c y c"),
            // A change of an agent that is being built gives it no more turns.
            (&["a"], &["x", "y"], Some("x"), "a x y x y x"),
            (&["x"], &["x"], None, "x x x x x x"),
        ] {
            assert_eq!(taken(changed, building, busy, 6), order);
        }
    }
}
