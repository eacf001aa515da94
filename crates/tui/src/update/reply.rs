//! Replies of the host.

use super::{ask_status, feed, load_page, page};
use crate::draft::Draft;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Problem, Reply};
use crate::overlay::{Entry, Load, Page};
use crate::pages;
use holon_client::Answer;
use holon_client::view::{TaskOutput, TranscriptEntry};
use serde_json::Value;

pub(super) fn take(model: &mut Model, ticket: u64, reply: Result<Reply, Problem>) -> Vec<Command> {
    // A reply about an agent that is not shown any more has no purpose.
    let Some(purpose) = model.asked.remove(&ticket) else {
        return Vec::new();
    };
    match (purpose, reply) {
        (Purpose::Send, reply) => {
            sent(model, ticket, reply);
            Vec::new()
        }
        (Purpose::Page, Err(problem)) => {
            if let Some(top) = page_of(model, ticket) {
                top.ticket = None;
                top.load = Load::Failed(problem.message);
            }
            Vec::new()
        }
        (Purpose::Page, Ok(reply)) => {
            fill(model, ticket, &reply);
            Vec::new()
        }
        (Purpose::Status, reply) => {
            status(model, reply);
            refresh(model)
        }
        (Purpose::Action, Ok(Reply::Done(sentence))) => {
            model.say(sentence);
            let mut commands = load_page(model);
            commands.push(ask_status(model));
            commands
        }
        (Purpose::Output, reply) => output(model, reply),
        (Purpose::Action | Purpose::WorkItem | Purpose::Older, Err(problem)) => {
            model.complain(problem.message);
            Vec::new()
        }
        // Texts are asked for again with the next event that lacks one.
        (Purpose::Briefs | Purpose::Messages, Err(_)) => Vec::new(),
        (_, Ok(reply)) => learn(model, reply),
    }
}

fn page_of(model: &mut Model, ticket: u64) -> Option<&mut crate::overlay::Overlay> {
    model
        .overlays
        .iter_mut()
        .find(|overlay| overlay.ticket == Some(ticket))
}

/// Notes that a message is stored, or gives its text back.
fn sent(model: &mut Model, ticket: u64, reply: Result<Reply, Problem>) {
    let place = model.pending.iter().position(|one| one.ticket == ticket);
    match (reply, place) {
        (Ok(Reply::Sent { message_id }), Some(place)) => {
            if let Some(pending) = model.pending.get_mut(place) {
                model.conversation.learn_message(&message_id, &pending.text);
                pending.message_id = Some(message_id);
            }
            feed::settle(model);
        }
        (Err(problem), Some(place)) => {
            let pending = model.pending.remove(place);
            if model.draft.is_empty() && pending.agent == model.agent {
                model.draft = Draft::default();
                // A long text comes back as one token.
                model.draft.paste(&pending.text);
            }
            model.complain(format!("not sent: {}", problem.message));
        }
        (Err(problem), None) => model.complain(problem.message),
        (Ok(_), _) => {}
    }
}

fn status(model: &mut Model, reply: Result<Reply, Problem>) {
    match reply {
        Ok(Reply::Status(agent)) => {
            model.link.host_trouble = None;
            model.status = Some(agent);
        }
        Err(problem) if problem.is_link => model.link.host_trouble = Some(problem.message),
        Err(problem) => {
            // The host answers, but not about this agent.
            model.link.host_trouble = None;
            if model.link.ended.is_none() {
                model.complain(problem.message);
            }
        }
        Ok(_) => {}
    }
}

/// Reads the top page again if it lists what changes with the agent.
fn refresh(model: &mut Model) -> Vec<Command> {
    let is_due = model.overlays.last().is_some_and(|top| {
        let is_list = matches!(top.page, Page::Agents | Page::Tasks | Page::Timers);
        is_list && top.ticket.is_none() && top.ask.is_none()
    });
    if is_due && model.link.host_trouble.is_none() {
        load_page(model)
    } else {
        Vec::new()
    }
}

/// Fills the page that asked.
fn fill(model: &mut Model, ticket: u64, reply: &Reply) {
    let agent = model.status.as_deref();
    let entries: Vec<Entry> = match reply {
        Reply::Agents(list) => pages::agents(list, &model.agent),
        Reply::Explained(explained) => pages::status(explained, agent),
        Reply::Transcript(entries) => {
            learn_messages(model, entries);
            pages::transcript(entries)
        }
        Reply::Tasks(list) => pages::tasks(list),
        Reply::WorkItems(list) => pages::work_items(list),
        Reply::Timers { timers, waits } => pages::timers(timers, waits),
        Reply::Models(models) => pages::models(models, agent),
        Reply::Skills(listed) => pages::skills(listed),
        Reply::DebugPrompt(prompt) => pages::prompt(prompt),
        Reply::Status(agent) => pages::workspaces(agent),
        Reply::Briefs(_)
        | Reply::Older { .. }
        | Reply::TaskOutput(_)
        | Reply::WorkItem(_)
        | Reply::Sent { .. }
        | Reply::Done(_) => return,
    };
    if let Some(top) = page_of(model, ticket) {
        top.ticket = None;
        top.fill(entries);
    }
}

/// Takes texts and events that were asked for beside the pages.
fn learn(model: &mut Model, reply: Reply) -> Vec<Command> {
    match reply {
        Reply::Briefs(briefs) => {
            for brief in &briefs {
                let note = brief.note.as_deref().map(|note| format!("\n\n*{note}*"));
                let text = format!("{}{}", brief.text, note.unwrap_or_default());
                model.conversation.learn_brief(&brief.id, &text);
            }
        }
        Reply::Transcript(entries) => learn_messages(model, &entries),
        Reply::Older { events, has_older } => {
            let needs = model.conversation.prepend(events, has_older);
            return feed::ask_for(model, needs);
        }
        Reply::WorkItem(item) => {
            let entry = pages::work_item(&item);
            if let Some(top) = model.overlay().filter(|top| top.page == Page::Work)
                && let Some(place) = top.entries.iter_mut().find(|one| one.id == entry.id)
            {
                *place = entry;
            }
        }
        _ => {}
    }
    Vec::new()
}

fn learn_messages(model: &mut Model, entries: &[Answer<TranscriptEntry>]) {
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == "incoming_message")
    {
        let id = entry
            .raw()
            .get("related_message_id")
            .and_then(Value::as_str);
        let text = entry
            .data
            .pointer("/message/body/text")
            .and_then(Value::as_str);
        if let (Some(id), Some(text)) = (id, text) {
            model.conversation.learn_message(id, text);
        }
    }
}

/// Adds a part of the followed output, and asks for the next at once if there was news.
fn output(model: &mut Model, reply: Result<Reply, Problem>) -> Vec<Command> {
    let Some(follow) = model.overlay().and_then(|top| top.follow.as_mut()) else {
        return Vec::new();
    };
    follow.is_asked = false;
    match reply {
        Ok(Reply::TaskOutput(part)) if part.task.task_id == follow.task => {
            if add_output(follow, &part) {
                return page::ask_output(model).into_iter().collect();
            }
        }
        Err(problem) if !problem.is_link => {
            follow.is_over = true;
            follow.ended = Some(problem.message);
        }
        Ok(_) | Err(_) => {}
    }
    Vec::new()
}

/// Returns true if the output went on.
fn add_output(follow: &mut crate::overlay::Follow, part: &TaskOutput) -> bool {
    let before = (follow.after_byte, follow.stderr_after_byte);
    follow.after_byte = part.task.next_offset.unwrap_or(follow.after_byte);
    follow.stderr_after_byte = part
        .task
        .next_stderr_offset
        .unwrap_or(follow.stderr_after_byte);
    follow.add(&part.task.output_preview);
    follow.add(part.task.stderr_preview.as_deref().unwrap_or_default());
    if let Some(reason) = &part.unreadable {
        follow.ended = Some(format!("the output cannot be read: {reason}"));
    }
    let went_on = before != (follow.after_byte, follow.stderr_after_byte);
    if part.retrieval_status == "success" && !went_on {
        follow.is_over = true;
        follow.ended = part
            .task
            .result_summary
            .clone()
            .or_else(|| Some("the task is over".to_owned()));
    }
    went_on
}
