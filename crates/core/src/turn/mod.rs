//! The turn: from the message that opens it to the commit that ends it.
//!
//! States and what moves them (`Phase`): `CallingModel` by an answer or a failure, `BackingOff` by its due entry,
//! `Suspended` by its due entry or an operator, `RunningTool` by a result. An input that does not fit the state is
//! stale: it is recorded and dropped.
//! `open` begins, `asking` asks a model, `round` takes answers and `failed` failures, `tries` keeps the account of them,
//! `suspended` waits for better conditions and `notice` tells the operator of that, `calls` runs tools and `request` tells of
//! the commands among them, `settled` answers those the kernel can answer itself and `finish` records what each came to, `end` closes with exactly one
//! outcome, which `ending` describes.

mod asking;
mod calls;
mod end;
mod ending;
mod failed;
mod finish;
pub(crate) mod notice;
mod open;
mod request;
mod round;
mod settled;
mod suspended;
mod tries;
mod work_calls;

pub(crate) use calls::{conclude_call, next_round, take_up_call, takes_up, tool_finished, verdict};
pub(crate) use end::{abort, fail, give_up};
pub(crate) use failed::{FailedRound, round_failed};
pub(crate) use finish::{close_unfinished, failing, take_over};
pub(crate) use open::{caller_left, open, rounds_left};
pub(crate) use round::round_answered;
pub(crate) use suspended::{end_wait, host_started, model_chosen, pause_over};
pub(crate) use tries::current_try;
