//! The choice of the due entries that are handed over together: fair between agents, and bounded, so that an entry that
//! comes due meanwhile does not wait long.
//!
//! Invariant: while a round lasts, no agent is served twice before every other one with a due entry was served. A round
//! ends when all were served, or after [`ROUND`] agents; the next one begins with the entries that wait longest.

use holon_core::due_order::fair_order;
use holon_domain::limits::DUE_PASS;
use holon_domain::timer::DueId;
use holon_domain::{AgentId, Timestamp};
use holon_store::{DueCursor, DueRow};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Agents that one round serves before it starts over, because each read names them.
const ROUND: usize = 1_024;

/// Passes after which a stretch without entries of other agents is read again.
const CLEAR_PASSES: u32 = 16;

/// One planned entry. A time that is planned anew is another entry.
type EntryKey = (AgentId, DueId, Timestamp);

fn key_of(row: &DueRow) -> EntryKey {
    (row.agent_id.clone(), row.id, row.time.at())
}

/// The entries that were handed over and are still in the queue: they could not be written, or no state waits for them.
/// They wait until all other entries were handed over.
#[derive(Debug, Default)]
pub(super) struct StayingEntries {
    last_pass: HashSet<EntryKey>,
    staying: HashSet<EntryKey>,
}

impl StayingEntries {
    /// Returns true if a due entry waits for a later attempt.
    pub(super) fn holds_back(&mut self, row: &DueRow) -> bool {
        let key = key_of(row);
        if self.last_pass.contains(&key) {
            self.staying.insert(key);
            return true;
        }
        self.staying.contains(&key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.staying.is_empty()
    }

    pub(super) fn note_pass(&mut self, pass: &[DueRow]) {
        self.last_pass = pass.iter().map(key_of).collect();
    }

    /// Lets the entries be tried again.
    pub(super) fn release(&mut self) {
        *self = Self::default();
    }
}

/// The agents that were served since every agent had its share. They are passed over while others have due entries.
#[derive(Debug, Default)]
pub(super) struct FairRound {
    served: BTreeSet<AgentId>,
    clear: Option<ClearStretch>,
}

/// A part of the due queue in which only passed over agents had entries, so that it is not read in every pass. An entry
/// that is set later is planned for a later time; one for an earlier time is found after some passes.
#[derive(Debug)]
struct ClearStretch {
    /// Agents whose entries were passed over when it was read.
    but: BTreeSet<AgentId>,
    until: Timestamp,
    passes_left: u32,
}

impl FairRound {
    pub(super) fn served(&self) -> &BTreeSet<AgentId> {
        &self.served
    }

    /// Returns the position from which the queue is read on behind a page, without the entries of some agents: behind
    /// what is known to hold nothing else.
    pub(super) fn read_on(
        &mut self,
        after: DueCursor,
        skipped: &BTreeSet<AgentId>,
        now: Timestamp,
    ) -> DueCursor {
        let holds = |clear: &mut ClearStretch| {
            // A clock that was set back plans entries anew, for earlier times too.
            let holds = clear.passes_left > 0 && clear.until < now && clear.but.is_subset(skipped);
            clear.passes_left = clear.passes_left.saturating_sub(1);
            holds
        };
        match self.clear.as_mut().is_some_and(holds) {
            true => {
                let until = self.clear.as_ref().map_or(now, |clear| clear.until);
                after.max(DueCursor::later_than(until))
            }
            false => after,
        }
    }

    /// Notes that up to `now` only these agents have due entries behind the first page.
    pub(super) fn note_clear(&mut self, but: BTreeSet<AgentId>, now: Timestamp) {
        let until = now.minus_millis(1);
        let is_known = self.clear.as_ref().is_some_and(|clear| {
            clear.passes_left > 0 && clear.until < now && clear.but.is_subset(&but)
        });
        let passes_left = match (&self.clear, is_known) {
            (Some(clear), true) => clear.passes_left,
            (Some(_) | None, _) => CLEAR_PASSES,
        };
        self.clear = Some(ClearStretch {
            but,
            until,
            passes_left,
        });
    }

    /// Chooses the entries of the next pass: the first entry of every agent before the second of any, then the earliest.
    /// Without room for all candidates the round goes on, otherwise every agent had its share.
    pub(super) fn choose(&mut self, candidates: PassCandidates) -> Vec<DueRow> {
        let room = candidates.room;
        let is_full = candidates.is_full();
        let mut rows: Vec<Option<DueRow>> = Vec::new();
        for of_agent in candidates.of_agent.into_values() {
            rows.extend(of_agent.into_iter().map(Some));
        }
        let entries = rows.iter().flatten();
        let entries = entries.map(|row| (&row.agent_id, row.time.at(), row.id));
        let order = fair_order(entries, room);
        let chosen = order.into_iter().filter_map(|at| rows.get_mut(at)?.take());
        let pass: Vec<DueRow> = chosen.collect();
        if is_full && self.served.len() < ROUND {
            self.served
                .extend(pass.iter().map(|row| row.agent_id.clone()));
        } else {
            self.served.clear();
        }
        pass
    }
}

/// The entries of which a pass is chosen.
#[derive(Debug)]
pub(super) struct PassCandidates {
    room: usize,
    of_agent: BTreeMap<AgentId, Vec<DueRow>>,
}

impl PassCandidates {
    /// `room` is the number of entries that may be handed over.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room: room.min(DUE_PASS),
            of_agent: BTreeMap::new(),
        }
    }

    /// Adds an entry, earliest first. An agent has as many candidates as it could hand over alone.
    pub(super) fn add(&mut self, row: DueRow) {
        let rows = self.of_agent.entry(row.agent_id.clone()).or_default();
        if rows.len() < self.room {
            rows.push(row);
        }
    }

    /// Returns the number of candidates.
    pub(super) fn len(&self) -> usize {
        self.of_agent.values().map(Vec::len).sum()
    }

    /// Returns true if there are as many agents as entries may be handed over.
    pub(super) fn is_full(&self) -> bool {
        self.of_agent.len() >= self.room
    }

    /// Agents of which no more entries are taken.
    pub(super) fn crowded(&self) -> impl Iterator<Item = &AgentId> {
        let agents = self.of_agent.iter();
        agents.filter_map(|(agent_id, rows)| (rows.len() >= self.room).then_some(agent_id))
    }
}

#[cfg(test)]
mod tests;
