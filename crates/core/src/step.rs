//! The one door: an input about one agent becomes a decision.
//!
//! Branches here, computes in the machines. After an input the agent is run to rest: what follows from it by itself
//! is decided in the same step, until something outside is needed.

use crate::draft::Draft;
use crate::input::{AgentView, HostFacts, Input, Reply};
use crate::rejection::Rejection;
use crate::{admission, home, lifecycle, recovery, rest, schedule, task, turn};
use holon_domain::decision::Decision;
use holon_domain::{Entropy, Timestamp};

/// A decision and what the sender of its input is told.
#[derive(Debug, Clone)]
pub struct Step {
    /// The facts.
    pub decision: Decision,
    /// The answer.
    pub reply: Reply,
}

/// Decides what one input means for one agent.
///
/// # Errors
/// When the input is refused; then nothing follows from it.
pub fn step(
    view: AgentView,
    input: Input,
    host: &HostFacts,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Result<Step, Rejection> {
    let mut draft = Draft::new(view, host, now, entropy);
    let reply = apply(&mut draft, input)?;
    schedule::run_to_rest(&mut draft);
    Ok(Step {
        decision: draft.finish(),
        reply,
    })
}

fn apply(draft: &mut Draft<'_>, input: Input) -> Result<Reply, Rejection> {
    match input {
        Input::Admit(ingress) => {
            let entry = admission::admit(draft, *ingress)?;
            if entry.envelope.owes_outcome() {
                turn::end_wait(draft);
            }
            Ok(Reply::Admitted {
                message_id: entry.envelope.id,
                message_seq: entry.seq,
            })
        }
        Input::Configure { workspace, model } => lifecycle::configure(draft, workspace, model),
        Input::HomePrepared { stamp, result } => Ok(home::prepared(draft, stamp, result)),
        Input::HomeRemoved { stamp, result } => Ok(home::removed(draft, stamp, result)),
        Input::RoundAnswered { stamp, answer } => Ok(turn::round_answered(draft, stamp, *answer)),
        Input::RoundFailed {
            stamp,
            failure,
            timing,
        } => Ok(turn::round_failed(draft, stamp, &failure, timing)),
        Input::ToolFinished {
            stamp,
            envelope,
            duration_ms,
            goes_on,
        } => {
            let finished = turn::Finished {
                envelope,
                duration_ms,
                goes_on: goes_on.map(|spec| *spec),
            };
            Ok(turn::tool_finished(draft, stamp, finished))
        }
        Input::TaskEnded {
            stamp,
            task_id,
            report,
        } => Ok(task::ended(draft, stamp, &task_id, &report)),
        Input::DueCame {
            id,
            planned_at,
            due,
        } => Ok(rest::due_came(draft, id, planned_at, due)),
        Input::Start => lifecycle::start(draft),
        Input::Stop => lifecycle::stop(draft),
        Input::Delete => Ok(lifecycle::delete(draft)),
        Input::Recover { clean_exit, proven } => Ok(recovery::recover(
            draft,
            clean_exit,
            proven.map(|proof| *proof),
        )),
        Input::TakeUp => Ok(recovery::take_up(draft)),
        Input::GiveUp { message } => Ok(turn::give_up(draft, &message)),
        Input::Continue => Ok(Reply::Unchanged),
    }
}
