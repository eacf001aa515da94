//! Replies of the host.

use super::{
    ask_status, feed, follow, follow_again, image, leave, load_page, send, switch_agent, texts,
};
use crate::model::{Model, Purpose};
use crate::msg::{Cause, Command, Problem, Reply};
use crate::overlay::{Entry, Load, Page};
use crate::pages;
use crate::text::{images_in, with_images};
use holon_client::Answer;
use holon_client::view::TranscriptEntry;
use serde_json::Value;

pub(super) fn take(model: &mut Model, ticket: u64, reply: Result<Reply, Problem>) -> Vec<Command> {
    // A reply about an agent that is not shown any more has no purpose.
    let Some(purpose) = model.asked.remove(&ticket) else {
        return Vec::new();
    };
    let reply = reply.map_err(|problem| explain(model, problem));
    match (purpose, reply) {
        (Purpose::Send, reply) => send::take(model, ticket, reply),
        (Purpose::Switch(agent), Ok(Reply::Status(status))) => {
            let commands = switch_agent(model, agent);
            model.status = Some(status);
            model.notice = None;
            commands
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
            let mut commands: Vec<Command> = status(model, reply).into_iter().collect();
            commands.extend(refresh(model));
            commands
        }
        (Purpose::Action, Ok(Reply::Done(sentence))) => {
            model.say(sentence);
            let mut commands = load_page(model);
            commands.push(ask_status(model));
            commands
        }
        (Purpose::Image, Ok(Reply::ImageKept(image))) => {
            image::attach(model, image);
            Vec::new()
        }
        (Purpose::Output, reply) => follow::take(model, ticket, reply),
        (Purpose::Choices, Ok(reply)) => {
            model.known.learn(&reply);
            Vec::new()
        }
        (
            purpose @ (Purpose::Action
            | Purpose::Image
            | Purpose::WorkItem
            | Purpose::TriggerUrl
            | Purpose::Older
            | Purpose::Switch(_)),
            Err(problem),
        ) => {
            if purpose == Purpose::Action {
                leave::stay(model);
            }
            model.complain_of(problem);
            Vec::new()
        }
        (Purpose::Briefs(_) | Purpose::Messages(_), Err(_)) => {
            model.texts_failed_at = Some(model.now);
            Vec::new()
        }
        (Purpose::Briefs(id) | Purpose::Messages(id), Ok(reply)) => {
            learn(model, reply);
            feed::settle(model);
            texts::were_read(model, &id)
        }
        // Choices are asked for again with the next draft.
        (Purpose::Choices, Err(_)) => Vec::new(),
        (_, Ok(reply)) => learn(model, reply),
    }
}

/// Says what to do about a token that the host does not accept.
fn explain(model: &Model, problem: Problem) -> Problem {
    match &model.token_advice {
        Some(advice) if problem.cause == Cause::Unauthorized => Problem {
            message: advice.clone(),
            ..problem
        },
        Some(_) | None => problem,
    }
}

fn page_of(model: &mut Model, ticket: u64) -> Option<&mut crate::overlay::Overlay> {
    model
        .overlays
        .iter_mut()
        .find(|overlay| overlay.ticket == Some(ticket))
}

/// Takes the status. Follows the agent again if the host did not know it before.
fn status(model: &mut Model, reply: Result<Reply, Problem>) -> Option<Command> {
    match reply {
        Ok(Reply::Status(agent)) => {
            model.link.host_trouble = None;
            model.status = Some(agent);
            if model.link.is_missing {
                return Some(follow_again(model));
            }
            if model.link.ended.is_none() {
                model.host_is_back();
            }
        }
        Err(problem) if problem.is_link() => model.link.host_trouble = Some(problem.message),
        Err(problem) => {
            // The host answers, but not about this agent.
            model.link.host_trouble = None;
            if model.link.ended.is_some() {
                model.link.is_missing = true;
            } else {
                model.complain(problem.message);
            }
        }
        Ok(_) => {}
    }
    None
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
    model.known.learn(reply);
    let agent = model.status.as_deref();
    let in_use = model_in_use(model);
    let entries: Vec<Entry> = match reply {
        Reply::Agents(list) => {
            let private = agent.map_or(&[] as &[_], |agent| &agent.active_children);
            pages::agents(list, model.agent.as_str(), private)
        }
        Reply::Explained(explained) => pages::status(explained, agent),
        Reply::Transcript(entries) => {
            learn_messages(model, entries);
            pages::transcript(entries)
        }
        Reply::Tasks(list) => pages::tasks(list),
        Reply::WorkItems(list) => pages::work_items(list),
        Reply::Timers { timers, waits } => pages::timers(timers, waits),
        Reply::Triggers(list) => pages::triggers(list),
        Reply::Models(models) => pages::models(models, agent),
        Reply::Skills(listed) => pages::skills(listed),
        Reply::Context(view) => pages::context(view),
        Reply::Usage(answers) => pages::usage(answers),
        Reply::Budgets(all) => pages::budgets(all),
        Reply::DebugPrompt(prompt) => pages::prompt(prompt),
        Reply::Status(agent) => pages::workspaces(agent),
        Reply::Briefs(_)
        | Reply::Older { .. }
        | Reply::TaskOutput(_)
        | Reply::WorkItem(_)
        | Reply::TriggerUrl { .. }
        | Reply::ImageKept(_)
        | Reply::Sent { .. }
        | Reply::Done(_) => return,
    };
    let Some(top) = page_of(model, ticket) else {
        return;
    };
    top.ticket = None;
    if top.page == Page::Models && top.load == Load::Loading {
        top.wanted = in_use;
    }
    let was_pressed = top.pressed.is_some();
    let wanted = top.wanted.clone().filter(|_| top.page == Page::Work);
    let absent = wanted.filter(|id| entries.iter().all(|entry| entry.id != *id));
    top.fill(entries);
    if was_pressed && top.pressed.is_none() {
        // What the notice asks about is gone.
        model.notice = None;
    }
    if let Some(id) = absent {
        model.complain(format!("{id} is not in this list"));
    }
}

/// Returns the id of the entry of models that the agent uses: its own model, or the default of the host.
fn model_in_use(model: &Model) -> Option<String> {
    let agent = model.status.as_deref()?;
    if pages::follows_default(agent) {
        return Some(String::new());
    }
    agent.model.effective_model.clone()
}

/// Takes texts and events that were asked for beside the pages.
fn learn(model: &mut Model, reply: Reply) -> Vec<Command> {
    match reply {
        Reply::Briefs(briefs) => {
            for brief in &briefs {
                let note = brief.note.as_deref().map(|note| format!("\n\n*{note}*"));
                let asked = brief
                    .next_step()
                    .map(|step| format!("\n\n**Next:** {step}"));
                let text = [Some(brief.text.clone()), note, asked];
                let text: String = text.into_iter().flatten().collect();
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
        Reply::TriggerUrl { id, url } => {
            if let Some(top) = model.overlay().filter(|top| top.page == Page::Triggers)
                && let Some(entry) = top.entries.iter_mut().find(|one| one.id == id)
            {
                entry.detail = pages::revealed(&entry.detail, &url);
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
            let shown = with_images(text, images_in(&entry.data));
            model.conversation.learn_message(id, &shown);
        }
    }
}
