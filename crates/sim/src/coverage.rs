//! Counts what a run reached, because a rule that was never exercised proves nothing.

use crate::envelope::{bool_field, text_field};
use holon_domain::agent::AgentRecord;
use holon_domain::event::Event;
use holon_domain::tool::ToolEnvelope;
use std::collections::BTreeMap;

/// Number of occurrences by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    seen: BTreeMap<String, u64>,
}

impl Coverage {
    /// Counts one occurrence of a name.
    pub fn count(&mut self, name: impl Into<String>) {
        *self.seen.entry(name.into()).or_default() += 1;
    }

    /// Counts an event by kind, and by detail where the kind is not enough.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::TurnTerminal(end) => self.count(format!("turn_ended:{:?}", end.reason)),
            Event::ToolExecutionFailed(failed) => {
                self.count(format!("tool_failed:{}", failed.tool_error.kind));
            }
            Event::OperatorInterjectionAdmitted(entered) => {
                self.count(format!("interjected:{:?}", entered.boundary));
            }
            Event::TurnResumed(resumed) => {
                self.count("turn_resumed");
                let unstarted = !resumed.unstarted_calls.is_empty();
                self.count(if unstarted {
                    "resumed:unstarted_calls"
                } else {
                    "resumed"
                });
            }
            Event::EpisodeMemoryFinalized(ended) => {
                self.count(format!("episode:{}", ended.boundary_reason.as_str()));
            }
            other => self.count(other.kind()),
        }
    }

    /// Counts a call's result by tool, and by detail where the tool is not enough.
    pub fn result(&mut self, envelope: &ToolEnvelope) {
        if envelope.error().is_none() {
            self.count(format!("tool:{}", envelope.tool_name));
        }
        if let Some(disposition) = text_field(envelope, "disposition") {
            self.count(format!("command:{disposition}"));
        }
        if bool_field(envelope, "force_stop_requested") {
            self.count("task:stop_forced");
        } else if bool_field(envelope, "stop_requested") {
            self.count("task:stop_asked");
        }
    }

    /// Counts notable states of an agent.
    pub fn agent(&mut self, agent: &AgentRecord) {
        if agent.pace.is_some_and(|pace| pace.due.is_some()) {
            self.count("paced");
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (name, times) in &other.seen {
            *self.seen.entry(name.clone()).or_default() += times;
        }
    }

    /// Returns the number of occurrences of a name.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.seen.get(name).copied().unwrap_or(0)
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, times) in &self.seen {
            writeln!(f, "  {times:>8}  {name}")?;
        }
        Ok(())
    }
}
