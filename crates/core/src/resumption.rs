//! What a turn that was resumed after an unclean exit comes to: the one place that says when a crash loop ends.
//!
//! A resumption counts only if no log entry was committed since the last one: a new entry is progress. What it counts as
//! depends on what the new process found of the call in hand, and each kind has its own end at the third:
//!
//! | found | at the third resumption | because |
//! |---|---|---|
//! | nothing | the message, or the call, is given up | whatever is asked for kills the host before it leaves a trace |
//! | alive | the command goes on as a task | it is healthy, and the call's result is progress; it is never stopped |
//! | ended, three times in a row | the message is set aside, and the output is not read again | the command is over, so what kills the host is reading how it ended |
//!
//! A command found alive twice and then lost has not found nothing three times: its call is taken up once more, and the
//! model is told that it is lost. A batch that is alive is taken up for as long as it takes: each of its commands has a
//! timeout. Invariant: every loop of unclean exits without a new entry is bounded, and none of them stops a command
//! that was found alive.

use crate::input::Found;
use holon_domain::consequence::Consequence;
use holon_domain::limits::RESUMES_WITHOUT_PROGRESS;
use holon_domain::turn::{LogSeq, ResumeMark};

/// What a resumption comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resumption<'a> {
    /// What the turn waits for is asked for again.
    GoesOn,
    /// The command of the call goes on as a task, and the turn goes on with this.
    AsTask(&'a Consequence),
    /// The result of the call must not be read again.
    Unreadable,
    /// Nothing was found too often.
    GivenUp,
}

/// Counts a resumption after an unclean exit and says what it comes to.
pub(crate) fn judge<'a>(
    mark: &mut ResumeMark,
    log_end: LogSeq,
    found: &'a Found,
) -> Resumption<'a> {
    if mark.log_end != log_end {
        *mark = ResumeMark {
            log_end,
            ..ResumeMark::default()
        };
    }
    match found {
        Found::Nothing => {
            mark.ended = 0;
            mark.count += 1;
            if mark.count < RESUMES_WITHOUT_PROGRESS {
                Resumption::GoesOn
            } else {
                Resumption::GivenUp
            }
        }
        Found::Alive { as_task } => {
            mark.ended = 0;
            mark.alive += 1;
            match as_task {
                Some(consequence) if mark.alive >= RESUMES_WITHOUT_PROGRESS => {
                    Resumption::AsTask(consequence)
                }
                Some(_) | None => Resumption::GoesOn,
            }
        }
        Found::Ended => {
            mark.ended += 1;
            if mark.ended < RESUMES_WITHOUT_PROGRESS {
                Resumption::GoesOn
            } else {
                Resumption::Unreadable
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::tool::ToolEnvelope;

    fn alive() -> Found {
        let result = ToolEnvelope::success("ExecCommand", "goes on", serde_json::json!({}));
        Found::Alive {
            as_task: Some(Box::new(Consequence::Result(result))),
        }
    }

    const BATCH: Found = Found::Alive { as_task: None };

    /// What each of these resumptions comes to, without a new entry between them.
    fn story(found: &[Found]) -> String {
        let mut mark = ResumeMark::default();
        let told = found.iter().map(|found| match judge(&mut mark, 7, found) {
            Resumption::GoesOn => "on",
            Resumption::AsTask(_) => "task",
            Resumption::Unreadable => "unreadable",
            Resumption::GivenUp => "given up",
        });
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_is_found_decides_what_the_third_resumption_comes_to() {
        use Found::{Ended, Nothing};
        let rows = [
            (vec![Nothing, Nothing, Nothing], "on, on, given up"),
            (vec![alive(), alive(), alive()], "on, on, task"),
            (vec![Ended, Ended, Ended], "on, on, unreadable"),
            (vec![alive(), alive(), Nothing, alive()], "on, on, on, task"),
            (
                vec![alive(), alive(), Ended, Ended, Ended],
                "on, on, on, on, unreadable",
            ),
            (
                vec![Ended, Ended, BATCH, Ended, Ended],
                "on, on, on, on, on",
            ),
            (vec![BATCH, BATCH, BATCH, BATCH], "on, on, on, on"),
            (
                vec![Nothing, alive(), Nothing, Ended, Nothing],
                "on, on, on, on, given up",
            ),
        ];
        for (found, told) in rows {
            assert_eq!(story(&found), told, "{found:?}");
        }
    }

    #[test]
    fn a_new_entry_is_progress_whatever_was_found() {
        for found in [Found::Nothing, alive(), Found::Ended] {
            let mut mark = ResumeMark::default();
            for log_end in 1..9 {
                for _ in 1..RESUMES_WITHOUT_PROGRESS {
                    assert_eq!(judge(&mut mark, log_end, &found), Resumption::GoesOn);
                }
            }
        }
    }
}
