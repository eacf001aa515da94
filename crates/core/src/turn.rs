//! A turn, from the message that opens it to the commit that ends it.
//!
//! States (`Phase`) and the inputs that move them: `CallingModel` by an answer or a failure, `BackingOff` by its due
//! entry, `Suspended` by its due entry or an operator, `RunningTool` by a result. An input that does not fit the state
//! is stale: it is recorded and dropped.
//!
//! `open` begins a turn and `ask` asks a model. `round` handles answers, `first_shown` records what their requests showed, `failure` handles failures and `tries` records
//! them. `notification` answers `NotifyOperator`. `suspension` waits out an outage and `notice` tells the operator about
//! it. `calls` runs tools and `command_events` records their commands; `immediate_calls`, `trigger_calls` and `work_calls`
//! answer the calls that the kernel decides, and
//! `call_results` records results. `budget_limit` suspends a turn whose budget is used up. `invalid_rounds` stops a model that repeats invalid calls. `end` closes the turn with exactly one outcome, which `ending` describes.

mod ask;
mod before_rest;
mod budget_limit;
mod call_results;
mod calls;
mod command_events;
mod end;
mod ending;
mod failure;
mod first_shown;
mod immediate_calls;
mod invalid_rounds;
pub(crate) mod notice;
mod notification;
mod open;
mod refusal;
mod round;
mod suspension;
mod tries;
mod trigger_calls;
mod work_calls;

pub(crate) use ask::{ask, handle_measured};
pub(crate) use budget_limit::is_suspended_by_budget;
pub(crate) use call_results::{close_unfinished, error_result, take_over};
pub(crate) use calls::{
    can_repeat_call, conclude_call, handle_tool_end, handle_verdict, next_round, repeat_call,
};
pub(crate) use end::{abort, fail, give_up};
pub(crate) use failure::handle_failure;
pub(crate) use first_shown::handle_history_removal;
pub(crate) use open::{handle_caller_left, open, rounds_left};
pub(crate) use round::handle_answer;
pub(crate) use suspension::{
    end_provider_pause, handle_model_choice, handle_provider_pause_end, handle_recovery,
    has_provider_pause, is_suspended_by_credential,
};
