//! News of the feed: history, events, deltas, and trouble with the connection.

use super::{ask_status, texts};
use crate::conversation::{Conversation, Needs};
use crate::model::{Model, Purpose, Scroll, WhenBack};
use crate::msg::{Command, News};

pub(super) fn take(model: &mut Model, news: News) -> Vec<Command> {
    match news {
        News::History { events, has_older } => {
            let needs = model.conversation.restart(events, has_older);
            model.scroll = Scroll::Bottom;
            model.link.is_open = true;
            model.link.feed_trouble = None;
            model.host_is_back();
            settle(model);
            ask_for(model, needs)
        }
        News::Event(event) => {
            model.link.feed_trouble = None;
            let needs = model.conversation.push(*event);
            settle(model);
            ask_for(model, needs)
        }
        News::Delta(delta) => {
            model.conversation.push_delta(&delta);
            Vec::new()
        }
        News::Lost(reason) => {
            model.link.feed_trouble = Some(reason);
            Vec::new()
        }
        News::Back => {
            model.link.feed_trouble = None;
            model.host_is_back();
            Vec::new()
        }
        News::Ended(reason) => {
            let words = format!("{reason}; choose another agent with /agents");
            model.complain_until(words, WhenBack::Goes);
            end(model, reason);
            Vec::new()
        }
        News::Unauthorized(reason) => {
            let words = model.token_advice.clone().unwrap_or(reason);
            model.complain_until(words, WhenBack::Goes);
            end(model, "the host does not accept the token".to_owned());
            Vec::new()
        }
    }
}

/// Notes that nothing more comes for now, and closes the pages about the agent.
fn end(model: &mut Model, reason: String) {
    model.link.ended = Some(reason);
    model.link.is_missing = false;
    model.overlays.retain(|overlay| !overlay.page.is_of_agent());
}

/// Forgets the messages that have a row now. The row of a message whose outcome is not known is found by its text.
pub(super) fn settle(model: &mut Model) {
    let conversation: &Conversation = &model.conversation;
    let agent = &model.agent;
    model.pending.retain(|message| match &message.message_id {
        Some(id) => !conversation.has_message(id),
        None => {
            let is_here = message.unknown_at.is_some() && message.agent == *agent;
            !(is_here && conversation.has_text_after(message.after_seq, &message.text))
        }
    });
}

/// Asks for the texts that events do not carry, and for the state that they may have changed.
pub(super) fn ask_for(model: &mut Model, needs: Needs) -> Vec<Command> {
    let mut commands = Vec::new();
    if needs.texts {
        commands.extend(texts::ask_for(model));
    }
    if needs.status {
        if model.is_asked(&Purpose::Status) {
            model.status_is_old = true;
        } else if model.now.millis_since(model.status_asked_at) >= 250 {
            commands.push(ask_status(model));
        } else {
            model.status_is_old = true;
        }
    }
    commands
}
