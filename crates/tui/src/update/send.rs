//! Messages on their way to the host. One without an answer may be stored, so it is sent again under its key, and never
//! as another message.

use super::{ask_of, feed, follow_again, leave};
use crate::model::{Model, Pending, Purpose, Scroll, WhenBack};
use crate::msg::{Cause, Command, Problem, Question, Reply, Sending};
use crate::slash::escape;
use crate::text::with_images;

/// Milliseconds after a request without an answer before the message is sent again.
const PAUSE_MS: u64 = 2_000;

/// Sends a message to the agent of the console.
pub(super) fn begin(model: &mut Model, text: String) -> Command {
    model.scroll = Scroll::Bottom;
    model.notice = None;
    let ticket = model.next_ticket;
    let newest = model.conversation.events().back();
    let pending = Pending {
        ticket,
        key: format!("{}-{ticket}", model.key),
        agent: model.agent.clone(),
        text,
        images: std::mem::take(&mut model.images),
        after_seq: newest.map_or(0, |event| event.event_seq),
        unknown_at: None,
        message_id: None,
    };
    let command = request(model, &pending);
    model.pending.push(pending);
    command
}

fn request(model: &mut Model, pending: &Pending) -> Command {
    let question = Question::Send {
        text: pending.text.clone(),
        images: pending.images.clone(),
    };
    let mut command = ask_of(model, pending.agent.clone(), Purpose::Send, question);
    if let Command::Ask { request, .. } = &mut command {
        request.sending = Some(Sending {
            key: pending.key.clone(),
            is_again: pending.unknown_at.is_some(),
        });
    }
    command
}

/// Sends messages again whose outcome is not known, once the host answers other requests.
pub(super) fn again(model: &mut Model) -> Vec<Command> {
    let mut commands = Vec::new();
    if model.link.host_trouble.is_some() {
        return commands;
    }
    for index in 0..model.pending.len() {
        let Some(mut pending) = model.pending.get(index).cloned() else {
            break;
        };
        let is_due = pending.message_id.is_none()
            && !model.asked.contains_key(&pending.ticket)
            && pending
                .unknown_at
                .is_some_and(|at| model.now.millis_since(at) >= PAUSE_MS);
        if is_due {
            pending.ticket = model.next_ticket;
            commands.push(request(model, &pending));
            if let Some(place) = model.pending.get_mut(index) {
                *place = pending;
            }
        }
    }
    commands
}

/// Notes that a message is stored, keeps one whose outcome is not known, or gives the text of a refused one back.
pub(super) fn take(model: &mut Model, ticket: u64, reply: Result<Reply, Problem>) -> Vec<Command> {
    let place = model.pending.iter().position(|one| one.ticket == ticket);
    let Some(place) = place else {
        // Its row has settled it.
        return Vec::new();
    };
    match reply {
        Ok(Reply::Sent { message_id }) => {
            if let Some(pending) = model.pending.get_mut(place) {
                let shown = with_images(&pending.text, pending.images.len());
                model.conversation.learn_message(&message_id, &shown);
                pending.message_id = Some(message_id);
                let is_here = pending.agent == model.agent;
                feed::settle(model);
                // An agent that takes messages is there again.
                if is_here && model.link.ended.is_some() {
                    return vec![follow_again(model)];
                }
            }
        }
        Err(problem) => {
            let now = model.now;
            let Some(pending) = model.pending.get_mut(place) else {
                return Vec::new();
            };
            let was_unknown = pending.unknown_at.is_some();
            let stays_unknown = problem.cause != Cause::Refused;
            if problem.is_unknown() || (was_unknown && stays_unknown) {
                pending.unknown_at = Some(now);
                let words = format!(
                    "it is not known if your message is stored; it is sent again under the same key, so it is stored once: {}",
                    problem.message
                );
                model.complain_until(words, WhenBack::Goes);
            } else if leave::stay(model) {
                let pending = model.pending.remove(place);
                give_back(model, &pending, &problem);
            }
        }
        Ok(_) => {}
    }
    Vec::new()
}

/// Puts the text of a message that is not stored into the composer of its agent, and its images before those that were
/// named since.
fn give_back(model: &mut Model, pending: &Pending, problem: &Problem) {
    let text = escape(&pending.text);
    let mut images = pending.images.clone();
    images.append(&mut model.images);
    model.images = images;
    if pending.agent == model.agent {
        model.draft.give_back(&text);
        let when_back = if problem.is_link() {
            WhenBack::Becomes("not sent; the host answers again: Enter sends it".to_owned())
        } else {
            WhenBack::Stays
        };
        model.complain_until(format!("not sent: {}", problem.message), when_back);
    } else {
        let id = pending.agent.as_str().to_owned();
        let draft = model.drafts.entry(pending.agent.clone()).or_default();
        draft.give_back(&text);
        model.complain(format!(
            "not sent to {id}, whose composer keeps the text: {}",
            problem.message
        ));
    }
}
