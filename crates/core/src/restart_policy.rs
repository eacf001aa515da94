//! Decides how a turn that is resumed after an unclean exit continues, and bounds crash loops.
//!
//! A resumption counts only if no log entry was committed since the last one: a new entry is progress. It is counted by
//! what the new process found of the running call, and each kind has its own end at the third:
//!
//! | found | at the third resumption | because |
//! |---|---|---|
//! | nothing | the message, or the call, is given up | the request itself seems to kill the host |
//! | alive | the command continues as a task | it is healthy, and the call's result is progress; it is never stopped |
//! | ended, three times in a row | the message is set aside, and the output is not read again | the command has ended, so reading its result seems to kill the host |
//!
//! A command that was found alive twice and then lost does not count as found missing three times: its call is
//! performed once more, and the model is told that the command is lost. A batch that is alive is taken up without a
//! bound, because each of its commands has a timeout. Invariant: every loop of unclean exits without a new entry is
//! bounded, and none of them stops a command that was found alive.

use crate::input::ProbeResult;
use holon_domain::consequence::Consequence;
use holon_domain::limits::RESUMES_WITHOUT_PROGRESS;
use holon_domain::turn::{LogSeq, ResumeMark};

/// The way in which a resumed turn continues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resumption<'a> {
    /// The effect that the turn waits for is opened again.
    GoesOn,
    /// The command of the call continues as a task, and this is the call's result.
    AsTask(&'a Consequence),
    /// The call has ended, but its result must not be read again.
    Unreadable,
    /// Nothing was found three times.
    GivenUp,
}

/// Counts a resumption after an unclean exit and decides how the turn continues.
pub(crate) fn judge<'a>(
    mark: &mut ResumeMark,
    log_end: LogSeq,
    found: &'a ProbeResult,
) -> Resumption<'a> {
    if mark.log_end != log_end {
        *mark = ResumeMark {
            log_end,
            ..ResumeMark::default()
        };
    }
    match found {
        ProbeResult::Nothing => {
            mark.ended = 0;
            mark.count += 1;
            if mark.count < RESUMES_WITHOUT_PROGRESS {
                Resumption::GoesOn
            } else {
                Resumption::GivenUp
            }
        }
        ProbeResult::Alive { as_task } => {
            mark.ended = 0;
            mark.alive += 1;
            match as_task {
                Some(consequence) if mark.alive >= RESUMES_WITHOUT_PROGRESS => {
                    Resumption::AsTask(consequence)
                }
                Some(_) | None => Resumption::GoesOn,
            }
        }
        ProbeResult::Ended => {
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

    fn alive() -> ProbeResult {
        let result = ToolEnvelope::success("ExecCommand", "goes on", serde_json::json!({}));
        ProbeResult::Alive {
            as_task: Some(Box::new(Consequence::Result(result))),
        }
    }

    const BATCH: ProbeResult = ProbeResult::Alive { as_task: None };

    /// Returns the verdicts of these resumptions, without a new log entry between them.
    fn story(found: &[ProbeResult]) -> String {
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
        use ProbeResult::{Ended, Nothing};
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
        for found in [ProbeResult::Nothing, alive(), ProbeResult::Ended] {
            let mut mark = ResumeMark::default();
            for log_end in 1..9 {
                for _ in 1..RESUMES_WITHOUT_PROGRESS {
                    assert_eq!(judge(&mut mark, log_end, &found), Resumption::GoesOn);
                }
            }
        }
    }
}
