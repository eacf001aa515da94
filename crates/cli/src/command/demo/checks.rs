//! What must be true at the end of the story. Pure: each check is given what was found.

use super::stage::COMMANDS;
use holon_domain::MessageId;
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::event::Event;
use holon_domain::task::TaskStatus;
use serde::Serialize;

/// One thing that must be true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What must be true.
    pub(super) what: &'static str,
    /// Whether it is.
    pub(super) ok: bool,
    /// What was found.
    pub(super) found: String,
}

/// What the stream delivered, across the crash.
#[derive(Debug)]
pub(super) struct Seen {
    last: Option<u64>,
    events: u64,
    holes: u64,
    resumed: u64,
    unknown: usize,
    ends: Vec<TaskStatus>,
}

impl Seen {
    /// Nothing yet, after this position.
    pub(super) const fn from(cursor: Option<u64>) -> Self {
        Self {
            last: cursor,
            events: 0,
            holes: 0,
            resumed: 0,
            unknown: 0,
            ends: Vec::new(),
        }
    }

    /// One more.
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

/// The one message has one result, and so has the task.
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

/// Every command ran, in order, and none twice.
pub(super) fn each_command_once(ran: &[String]) -> Check {
    let ok = ran
        .iter()
        .map(String::as_str)
        .eq(COMMANDS.map(|(name, _)| name));
    Check {
        what: "each command ran exactly once",
        ok,
        found: ran.join(", "),
    }
}

/// The turn was taken up again, once, and nothing in it is in doubt.
pub(super) fn resumed_once(seen: &Seen) -> Check {
    Check {
        what: "the turn was resumed after the crash",
        ok: seen.resumed == 1 && seen.unknown == 0,
        found: format!(
            "{} time(s), {} unknown outcome(s)",
            seen.resumed, seen.unknown
        ),
    }
}

/// What ran through the crash was seen to its end, once.
pub(super) fn task_ended_once(seen: &Seen) -> Check {
    Check {
        what: "the tests ran through the crash to their end",
        ok: seen.ends == [TaskStatus::Completed],
        found: match seen.ends.as_slice() {
            [end] => format!("{end:?}").to_lowercase(),
            ends => format!("{} ends", ends.len()),
        },
    }
}

/// A reader of the event stream missed nothing.
pub(super) fn no_event_lost(seen: &Seen) -> Check {
    Check {
        what: "no event is missing across the crash",
        ok: seen.holes == 0 && seen.events > 0,
        found: format!("{} events, {} holes", seen.events, seen.holes),
    }
}

/// The work is done.
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
        let mut seen = Seen::from(Some(4));
        seen.note(5, &event());
        assert!(no_event_lost(&seen).ok);
        seen.note(7, &event());
        assert!(!no_event_lost(&seen).ok);
    }

    #[test]
    fn a_command_that_ran_twice_is_noticed() {
        let once: Vec<String> = COMMANDS.map(|(name, _)| name.to_owned()).to_vec();
        assert!(each_command_once(&once).ok);
        let mut twice = once;
        twice.insert(3, "edit".to_owned());
        assert!(!each_command_once(&twice).ok);
    }
}
