//! The agents that were decided about last, so that the next decision about one of them need not parse its row again.
//!
//! Invariant: a record is given out only for the text from which it would be parsed. So nothing has to be forgotten when
//! a write is rolled back: the row then has another text.

use crate::row::AgentNo;
use holon_domain::agent::{AgentRecord, AgentRow};
use std::collections::HashMap;

/// Most agents that are kept. Beyond it any one is dropped for another; a busy one comes back by itself.
const KEPT: usize = 512;

/// The records of some agents, each with the text of its row.
#[derive(Debug, Default)]
pub(crate) struct KnownAgents(HashMap<AgentNo, KnownAgent>);

#[derive(Debug)]
struct KnownAgent {
    settings: String,
    state: String,
    /// Absent between a read and the write that follows it.
    record: Option<AgentRecord>,
}

impl KnownAgents {
    /// Returns the record of a row: the one that was noted for the same text, or a parsed one.
    pub(crate) fn read(
        &mut self,
        no: AgentNo,
        row: AgentRow<'_>,
    ) -> Result<AgentRecord, serde_json::Error> {
        let (Some(settings), Some(counters)) = (row.settings, row.counters) else {
            return AgentRecord::from_row(row);
        };
        let known = self.0.get_mut(&no);
        let known = known.filter(|known| known.settings == settings);
        let is_known = known.is_some();
        let current = known.filter(|known| known.state == row.record);
        if let Some(mut record) = current.and_then(|known| known.record.take()) {
            record.counters = counters;
            debug_assert_eq!(AgentRecord::from_row(row).ok().as_ref(), Some(&record));
            return Ok(record);
        }
        let record = AgentRecord::from_row(row)?;
        if !is_known {
            self.add(no, settings);
        }
        Ok(record)
    }

    fn add(&mut self, no: AgentNo, settings: &str) {
        if self.0.len() >= KEPT
            && let Some(any) = self.0.keys().next().copied()
        {
            self.0.remove(&any);
        }
        let known = KnownAgent {
            settings: settings.to_owned(),
            state: String::new(),
            record: None,
        };
        self.0.insert(no, known);
    }

    /// Notes the record that was written with unchanged settings, and the text of its state.
    pub(crate) fn note(&mut self, no: AgentNo, state: String, record: &AgentRecord) {
        if let Some(known) = self.0.get_mut(&no) {
            known.state = state;
            known.record = Some(record.clone());
        }
    }

    /// Drops an agent whose settings were written.
    pub(crate) fn forget(&mut self, no: AgentNo) {
        self.0.remove(&no);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Scribe;

    fn row<'a>(record: &'a str, settings: &'a str, agent: &AgentRecord) -> AgentRow<'a> {
        AgentRow {
            record,
            settings: Some(settings),
            counters: Some(agent.counters),
        }
    }

    #[test]
    fn a_record_is_given_out_once_and_only_for_the_text_it_was_written_as() {
        let mut agent = Scribe::new("a").record;
        let settings = serde_json::to_string(&agent.settings).expect("encodes");
        let before = serde_json::to_string(&agent).expect("encodes");
        let (mut known, no) = (KnownAgents::default(), AgentNo(1));
        let read = known.read(no, row(&before, &settings, &agent));
        assert_eq!(read.expect("parses"), agent);

        agent.generation += 1;
        let after = serde_json::to_string(&agent).expect("encodes");
        known.note(no, after.clone(), &agent);
        let kept = |known: &KnownAgents| known.0.get(&no).is_some_and(|one| one.record.is_some());
        assert!(kept(&known));
        // The write was rolled back, so the row has its old text.
        let read = known.read(no, row(&before, &settings, &agent));
        assert_eq!(read.expect("parses").generation + 1, agent.generation);
        assert!(kept(&known));

        agent.counters.messages += 7;
        let read = known.read(no, row(&after, &settings, &agent));
        assert_eq!(read.expect("is known"), agent);
        assert!(!kept(&known));
    }

    #[test]
    fn an_agent_with_other_settings_is_another_one() {
        let (old, mut new) = (Scribe::new("a").record, Scribe::new("b").record);
        new.generation = old.generation;
        let text = |agent: &AgentRecord| {
            let settings = serde_json::to_string(&agent.settings).expect("encodes");
            (serde_json::to_string(agent).expect("encodes"), settings)
        };
        let ((state, of_old), (_, of_new)) = (text(&old), text(&new));
        let (mut known, no) = (KnownAgents::default(), AgentNo(1));
        known.read(no, row(&state, &of_old, &old)).expect("parses");
        known.note(no, state.clone(), &old);
        let read = known.read(no, row(&state, &of_new, &new));
        assert_eq!(read.expect("parses").identity, new.identity);
    }

    #[test]
    fn the_number_of_kept_agents_is_bounded() {
        let agent = Scribe::new("a").record;
        let settings = serde_json::to_string(&agent.settings).expect("encodes");
        let state = serde_json::to_string(&agent).expect("encodes");
        let mut known = KnownAgents::default();
        for no in 0..3 * KEPT as i64 {
            known
                .read(AgentNo(no), row(&state, &settings, &agent))
                .expect("parses");
            assert!(known.0.len() <= KEPT);
        }
    }
}
