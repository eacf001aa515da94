//! Scrolling of the conversation by lines. The height of rows comes from the same function that draws them.

use super::ask_once;
use crate::conversation::EVENTS_KEPT;
use crate::model::{Model, Purpose, Scroll};
use crate::msg::{Command, Question};
use crate::view::{Flow, body_height};

/// Number of events of a page, which must fit beside those that are kept.
const PAGE: usize = holon_domain::limits::EVENT_PAGE_MAX as usize;

/// Scrolls up. At the top, older events are asked for.
pub(super) fn up(model: &mut Model, lines: usize) -> Vec<Command> {
    let flow = Flow::of(model);
    let (scroll, is_top) = flow.up(model.scroll, lines, body_height(model));
    model.scroll = scroll;
    if is_top { older(model) } else { Vec::new() }
}

pub(super) fn down(model: &mut Model, lines: usize) {
    model.scroll = Flow::of(model).down(model.scroll, lines);
}

/// Shows the oldest row.
pub(super) fn top(model: &mut Model) -> Vec<Command> {
    up(model, usize::MAX)
}

fn older(model: &mut Model) -> Vec<Command> {
    let events = model.conversation.events();
    let Some(before_seq) = events.front().map(|event| event.event_seq) else {
        return Vec::new();
    };
    if !model.conversation.has_older {
        return Vec::new();
    }
    if events.len() + PAGE > EVENTS_KEPT {
        model.say("older rows are not kept here; holon tail and holon events show them");
        return Vec::new();
    }
    let question = Question::Older { before_seq };
    ask_once(model, Purpose::Older, question)
        .into_iter()
        .collect()
}

/// Shows the newest row.
pub(super) fn bottom(model: &mut Model) {
    model.scroll = Scroll::Bottom;
}
