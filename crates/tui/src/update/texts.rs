//! Texts that events do not carry: those of the rows that are shown are read, and read again after a failure.

use super::ask;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Question};
use crate::view::{Flow, body_height};

/// Milliseconds after a failure before texts are asked for again.
const PAUSE_MS: u64 = 2_000;

/// Asks for texts that rows near the shown ones lack, one request of each kind at a time.
pub(super) fn ask_for(model: &mut Model) -> Vec<Command> {
    let failed = model.texts_failed_at;
    let is_early = failed.is_some_and(|at| model.now.millis_since(at) < PAUSE_MS);
    if is_early || !model.link.is_open || model.link.ended.is_some() {
        return Vec::new();
    }
    let rows = Flow::of(model).near(model.scroll, body_height(model));
    let is_asked = |wanted: fn(&Purpose) -> bool| model.asked.values().any(wanted);
    let messages = !is_asked(|purpose| matches!(purpose, Purpose::Messages(_)));
    let briefs = !is_asked(|purpose| matches!(purpose, Purpose::Briefs(_)));
    let mut commands = Vec::new();
    if let Some(lack) = model.conversation.message_without_text(rows.clone())
        && messages
    {
        let question = Question::Messages { turn: lack.at };
        commands.push(ask(model, Purpose::Messages(lack.id), question));
    }
    if let Some(lack) = model.conversation.brief_without_text(rows)
        && briefs
    {
        let question = Question::Briefs { up_to: lack.at };
        commands.push(ask(model, Purpose::Briefs(lack.id), question));
    }
    commands
}

/// Notes that the text of this row was read for, and asks for what the other rows lack.
pub(super) fn were_read(model: &mut Model, id: &str) -> Vec<Command> {
    model.texts_failed_at = None;
    model.conversation.mark_gone(id);
    ask_for(model)
}
