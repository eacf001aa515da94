//! Commands of an operator about the thread of an agent's earlier turns: fold it, clear it, keep a turn whole, bound it.
//!
//! A command changes only what the agent's record says about the thread, or the bound in its settings. The first request of a later turn does what was
//! asked, and the commit of its answer records that. Invariant: no command changes what the requests of a turn under way
//! show.

use crate::draft::Draft;
use crate::input::{ContextCommand, MeasuredTurn, Reply};
use crate::rejection::Rejection;
use holon_domain::agent::Lifecycle;
use holon_domain::event::{Event, ThreadChange, ThreadChangeRequested};
use holon_domain::limits::THREAD_PINS;
use holon_domain::thread::{PinnedTurn, ThreadCommand};

/// Handles a command of an operator.
pub(crate) fn handle(draft: &mut Draft<'_>, command: ContextCommand) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Deleting => return Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {}
    }
    match command {
        ContextCommand::Ask(command) => Ok(ask(draft, command)),
        ContextCommand::Pin {
            turn_index,
            measured,
            room,
        } => pin(draft, turn_index, measured, room),
        ContextCommand::Unpin { turn_index } => unpin(draft, turn_index),
        ContextCommand::Limit { thread_tokens } => limit(draft, thread_tokens),
    }
}

/// Asks the next turn for a change of the thread. What was asked before and is not done yet is replaced.
fn ask(draft: &mut Draft<'_>, command: ThreadCommand) -> Reply {
    let newest_turn = draft.agent.counters.turns;
    let thread = &mut draft.agent.thread;
    if thread.asked == Some(command) {
        return Reply::Unchanged;
    }
    thread.asked = Some(command);
    thread.asked_in = newest_turn;
    let change = match command {
        ThreadCommand::Fold => ThreadChange::Fold,
        ThreadCommand::Clear => ThreadChange::Clear,
    };
    record(draft, change, None);
    Reply::Done
}

fn pin(
    draft: &mut Draft<'_>,
    turn_index: u64,
    measured: Option<MeasuredTurn>,
    room: u64,
) -> Result<Reply, Rejection> {
    let newest_turn = draft.agent.counters.turns;
    let agent_id = || draft.agent.identity.agent_id.clone();
    let open = draft.agent.open_turn.as_ref();
    if open.is_some_and(|open| open.turn_index == turn_index) {
        return Err(Rejection::TurnStillOpen {
            agent_id: agent_id(),
            turn_index,
        });
    }
    let thread = &draft.agent.thread;
    let known = thread.pins.iter().find(|pin| pin.turn_index == turn_index);
    let known = known.copied();
    if known.is_some_and(|pin| pin.released_in.is_none()) {
        return Ok(Reply::Unchanged);
    }
    let Some(measured) = measured else {
        return Err(Rejection::NoSuchTurn {
            agent_id: agent_id(),
        });
    };
    // A fold may have taken the turn since it was measured.
    let is_shown = known.is_some() || measured.first_entry >= thread.from_entry;
    let Some(tokens) = measured.tokens.filter(|_| is_shown) else {
        return Err(Rejection::TurnNotInThread {
            agent_id: agent_id(),
            turn_index,
        });
    };
    let active = thread.pins.iter().filter(|pin| pin.released_in.is_none());
    let pinned: u64 = active.map(|pin| pin.tokens).sum();
    if pinned.saturating_add(tokens) > room {
        return Err(Rejection::PinTooLarge {
            agent_id: agent_id(),
            turn_index,
            tokens,
            pinned,
            room,
        });
    }
    if known.is_none() && thread.pins.len() >= THREAD_PINS {
        return Err(Rejection::TooManyPins {
            agent_id: agent_id(),
        });
    }
    // A pin that was taken back since the newest turn began was never without effect.
    let since = known.filter(|pin| pin.released_in == Some(newest_turn));
    let pins = &mut draft.agent.thread.pins;
    pins.retain(|pin| pin.turn_index != turn_index);
    pins.push(PinnedTurn {
        turn_index,
        first_entry: measured.first_entry,
        tokens,
        pinned_in: since.map_or(newest_turn, |pin| pin.pinned_in),
        released_in: None,
    });
    pins.sort_by_key(|pin| pin.turn_index);
    record(draft, ThreadChange::Pin, Some(turn_index));
    Ok(Reply::Done)
}

fn unpin(draft: &mut Draft<'_>, turn_index: u64) -> Result<Reply, Rejection> {
    let newest_turn = draft.agent.counters.turns;
    if turn_index == 0 || turn_index > newest_turn {
        return Err(Rejection::NoSuchTurn {
            agent_id: draft.agent.identity.agent_id.clone(),
        });
    }
    let pins = &mut draft.agent.thread.pins;
    let pin = pins.iter_mut().find(|pin| pin.turn_index == turn_index);
    let Some(pin) = pin.filter(|pin| pin.released_in.is_none()) else {
        return Ok(Reply::Unchanged);
    };
    pin.released_in = Some(newest_turn);
    record(draft, ThreadChange::Unpin, Some(turn_index));
    Ok(Reply::Done)
}

/// Bounds the thread from the next turn on.
fn limit(draft: &mut Draft<'_>, thread_tokens: Option<u32>) -> Result<Reply, Rejection> {
    if draft.agent.thread_tokens == thread_tokens {
        return Ok(Reply::Unchanged);
    }
    draft.change_settings_within(|settings| settings.thread_tokens = thread_tokens)?;
    draft.event(Event::ThreadChangeRequested(ThreadChangeRequested {
        change: ThreadChange::Limit,
        pinned_turn: None,
        thread_tokens,
    }));
    Ok(Reply::Done)
}

fn record(draft: &mut Draft<'_>, change: ThreadChange, pinned_turn: Option<u64>) {
    draft.event(Event::ThreadChangeRequested(ThreadChangeRequested {
        change,
        pinned_turn,
        thread_tokens: None,
    }));
}
