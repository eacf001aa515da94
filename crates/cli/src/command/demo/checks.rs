//! Checks at the end of the demo. Pure: each check gets the observed facts as arguments.

use super::stage::COMMANDS;
use holon_domain::MessageId;
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::event::Event;
use holon_domain::task::TaskStatus;
use serde::Serialize;

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// Condition that must hold.
    pub(super) what: &'static str,
    pub(super) ok: bool,
    /// Observed facts, for people.
    pub(super) found: String,
}

/// Events that the stream delivered, before and after the crash.
#[derive(Debug)]
pub(super) struct StreamRecord {
    last: Option<u64>,
    events: u64,
    holes: u64,
    resumed: u64,
    unknown: usize,
    ends: Vec<TaskStatus>,
}

impl StreamRecord {
    /// Creates an empty record that begins after this cursor.
    pub(super) const fn after(cursor: Option<u64>) -> Self {
        Self {
            last: cursor,
            events: 0,
            holes: 0,
            resumed: 0,
            unknown: 0,
            ends: Vec::new(),
        }
    }

    /// Adds one event to the record.
    pub(super) fn note(&mut self, seq: u64, event: &Event) {
        let expected = self.last.map_or(seq, |last| last + 1);
        self.holes += u64::from(seq != expected);
        match event {
            Event::TurnResumed(resumed) => {
                self.resumed += 1;
                self.unknown += resumed.unknown_calls.len();
            }
            Event::TaskStatusUpdated(task) if task.status.is_terminal() => {
                self.ends.push(task.status);
            }
            _ => {}
        }
        self.events += 1;
        self.last = Some(seq);
    }
}

/// Checks that the message has exactly one result, and the task too.
pub(super) fn one_outcome(briefs: &[BriefRecord], message: &MessageId) -> Check {
    let results = briefs
        .iter()
        .filter(|brief| brief.kind == BriefKind::Result);
    let settles = |brief: &&BriefRecord| brief.settles.contains(message);
    let answers = briefs.iter().filter(settles).count();
    Check {
        what: "one brief for the one message, one for the task's end",
        ok: answers == 1 && results.count() == 2 && briefs.len() == 2,
        found: format!(
            "{answers} brief(s) for the message, {} in all",
            briefs.len()
        ),
    }
}

/// Checks that every command ran once and in order.
pub(super) fn each_command_once(ran: &[String]) -> Check {
    let ok = ran
        .iter()
        .map(String::as_str)
        .eq(COMMANDS.map(|command| command.name));
    Check {
        what: "each command ran exactly once",
        ok,
        found: ran.join(", "),
    }
}

/// Checks that the turn was resumed once and has no unknown outcome.
pub(super) fn resumed_once(record: &StreamRecord) -> Check {
    Check {
        what: "the turn was resumed after the crash",
        ok: record.resumed == 1 && record.unknown == 0,
        found: format!(
            "{} time(s), {} unknown outcome(s)",
            record.resumed, record.unknown
        ),
    }
}

/// Checks that the task that ran through the crash ended exactly once.
pub(super) fn task_ended_once(record: &StreamRecord) -> Check {
    Check {
        what: "the tests ran through the crash to their end",
        ok: record.ends == [TaskStatus::Completed],
        found: match record.ends.as_slice() {
            [end] => format!("{end:?}").to_lowercase(),
            ends => format!("{} ends", ends.len()),
        },
    }
}

/// Checks that the event stream has no gap.
pub(super) fn no_event_lost(record: &StreamRecord) -> Check {
    Check {
        what: "no event is missing across the crash",
        ok: record.holes == 0 && record.events > 0,
        found: format!("{} events, {} holes", record.events, record.holes),
    }
}

/// Checks that the agent fixed the test.
pub(super) fn test_passes(outcome: Result<String, String>) -> Check {
    let (ok, found) = match outcome {
        Ok(said) => (true, said),
        Err(said) => (false, said),
    };
    Check {
        what: "the test of the repository passes",
        ok,
        found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::event::MaxOutputTokensRecovery;

    fn event() -> Event {
        Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
            turn_index: 1,
            attempt: 1,
            run_id: None,
            message_seq: None,
        })
    }

    #[test]
    fn a_hole_in_the_stream_is_noticed() {
        let mut record = StreamRecord::after(Some(4));
        record.note(5, &event());
        assert!(no_event_lost(&record).ok);
        record.note(7, &event());
        assert!(!no_event_lost(&record).ok);
    }

    #[test]
    fn a_command_that_ran_twice_is_noticed() {
        let once: Vec<String> = COMMANDS.map(|command| command.name.to_owned()).to_vec();
        assert!(each_command_once(&once).ok);
        let mut twice = once;
        twice.insert(3, "edit".to_owned());
        assert!(!each_command_once(&twice).ok);
    }
}
