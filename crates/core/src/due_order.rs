//! The order in which due entries of several agents are handed over: fair between agents, then by time.

use crate::planted::{Fault, is_planted};
use holon_domain::timer::DueId;
use holon_domain::{AgentId, Timestamp};
use std::collections::BTreeMap;

/// Chooses at most `room` of these entries, and returns their positions in the order in which they are handed over: the
/// first entry of every agent before the second of any, then the earliest. The entries of an agent come earliest first.
pub fn fair_order<'a>(
    entries: impl Iterator<Item = (&'a AgentId, Timestamp, DueId)>,
    room: usize,
) -> Vec<usize> {
    let mut counts: BTreeMap<&AgentId, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for (position, (agent_id, at, id)) in entries.enumerate() {
        let count = counts.entry(agent_id).or_default();
        let rank = if is_planted(Fault::NoisyFirst) {
            0
        } else {
            *count
        };
        *count += 1;
        ranked.push(((rank, at, id), position));
    }
    // Equal ones stay in the order of their agents.
    ranked.sort_by_key(|(key, _)| *key);
    ranked.truncate(room);
    ranked.into_iter().map(|(_, position)| position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_of_every_agent_comes_before_the_second_of_any() {
        let name = |name: &str| AgentId::parse(name).expect("a name");
        let (noisy, quiet) = (name("noisy"), name("quiet"));
        let at = Timestamp::from_millis;
        let entries = [(&noisy, at(1), 1), (&noisy, at(2), 2), (&quiet, at(9), 3)];
        assert_eq!(fair_order(entries.into_iter(), 3), [0, 2, 1]);
        assert_eq!(fair_order(entries.into_iter(), 2), [0, 2]);
        assert!(fair_order(entries.into_iter(), 0).is_empty());
    }
}
