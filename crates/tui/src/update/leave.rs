//! The end of a console. What was sent and has no answer yet is waited for, for a short time and in sight.

use super::quit_now;
use crate::model::{Departure, Model, Purpose};
use crate::msg::Command;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Milliseconds that a console waits at most before it ends. The words on the screen name them.
const PATIENCE_MS: u64 = 3_000;

/// Returns true while the host may still answer something that was sent.
fn is_awaiting(model: &Model) -> bool {
    let is_repeated = |pending: &crate::model::Pending| {
        pending.message_id.is_none() && pending.unknown_at.is_some()
    };
    model.is_asked(&Purpose::Send)
        || model.is_asked(&Purpose::Action)
        || model.pending.iter().any(is_repeated)
}

/// Begins to end, for a key or a command. The second time nothing is waited for.
pub(super) fn by_operator(model: &mut Model) -> Vec<Command> {
    if model.leaving.is_some() || !is_awaiting(model) {
        return quit_now(model);
    }
    model.leaving = Some(Departure {
        since: model.now,
        must: false,
    });
    Vec::new()
}

/// Begins to end, because a signal or the loss of the terminal asks for it.
pub(super) fn by_force(model: &mut Model) {
    let since = model.leaving.map_or(model.now, |leaving| leaving.since);
    model.leaving = Some(Departure { since, must: true });
}

/// Ends once everything is answered, or the time is over.
pub(super) fn check(model: &mut Model) -> Vec<Command> {
    match model.leaving {
        Some(leaving)
            if !model.has_quit
                && (!is_awaiting(model)
                    || model.now.millis_since(leaving.since) >= PATIENCE_MS) =>
        {
            quit_now(model)
        }
        Some(_) | None => Vec::new(),
    }
}

/// Stays, so that the operator sees what the host refused. Returns false if the console has to end.
pub(super) fn stay(model: &mut Model) -> bool {
    model.leaving.take_if(|leaving| !leaving.must);
    model.leaving.is_none()
}

/// Takes a key while the console ends.
pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if ctrl => return quit_now(model),
        KeyCode::Esc => {
            stay(model);
        }
        _ => {}
    }
    Vec::new()
}

/// Says what is waited for.
pub(crate) fn waiting_words(model: &Model) -> Option<String> {
    let leaving = model.leaving.filter(|leaving| !leaving.must)?;
    let waited = model.now.millis_since(leaving.since);
    let left = PATIENCE_MS.saturating_sub(waited).div_ceil(1_000);
    let is_message = model.pending.iter().any(|one| one.message_id.is_none());
    let what = if is_message { "message" } else { "command" };
    Some(format!(
        "waiting up to {left} s for a {what} that was not acknowledged; Ctrl+C or Ctrl+D again leaves at once, Esc stays"
    ))
}
