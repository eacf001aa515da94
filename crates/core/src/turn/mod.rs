//! The turn: from the message that opens it to the commit that ends it.
//!
//! States and what moves them (`Phase`): `CallingModel` by an answer or a failure, `BackingOff` by its due entry,
//! `RunningTool` by a result. An input that does not fit the state is stale: it is recorded and dropped.
//! `open` begins, `round` takes answers and `failed` failures, `tries` keeps the account of them, `calls` runs tools, `settled`
//! answers those the kernel can answer itself and `finish` records what each came to, `end` closes with exactly one
//! outcome, which `ending` describes.

mod calls;
mod end;
mod ending;
mod failed;
mod finish;
mod open;
mod round;
mod settled;
mod tries;

pub(crate) use calls::{conclude_call, next_round, take_up_call, takes_up, tool_finished, verdict};
pub(crate) use end::{abort, fail, give_up};
pub(crate) use failed::{backoff_over, end_wait, redirect, round_failed};
pub(crate) use finish::{close_unfinished, failing, take_over};
pub(crate) use open::{open, rounds_left};
pub(crate) use round::round_answered;
pub(crate) use tries::current_try;
