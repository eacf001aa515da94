//! `update`: the only function that changes the model. It is pure: what it wants done comes back as commands.

mod complete;
mod feed;
mod follow;
mod image;
mod keys;
mod leave;
mod page;
mod reply;
mod scroll;
mod send;
mod submit;
mod texts;

pub(crate) use complete::{Known, Offer, menu};
pub(crate) use leave::waiting_words;

use crate::model::{Model, Purpose};
use crate::msg::{Command, Msg, Question, Request};
use crate::overlay::Page;
use crate::size;
use holon_domain::AgentId;

/// Milliseconds between two requests for the status while the host answers.
const STATUS_EVERY_MS: u64 = 3_000;
/// Milliseconds between two requests for the status while it does not.
const STATUS_EVERY_LOST_MS: u64 = 1_000;

/// Returns the first commands of a console.
pub fn start(model: &mut Model) -> Vec<Command> {
    let agent = model.agent.clone();
    switch_agent(model, agent)
}

/// Takes something that happened, and returns what is to be done.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Command> {
    let before = model.overlays.last().map(|top| top.page.clone());
    let mut commands = take(model, msg);
    commands.extend(leave::check(model));
    // A terminal may draw a rare character wider or narrower than it is counted here, and keep a part of it when other
    // text takes its place.
    if model.overlays.last().map(|top| &top.page) != before.as_ref() {
        commands.push(Command::Redraw);
    }
    commands
}

fn take(model: &mut Model, msg: Msg) -> Vec<Command> {
    match msg {
        Msg::Key(key) => keys::press(model, key),
        Msg::Paste(text) => keys::paste(model, &text),
        Msg::Resize { columns, rows } => {
            (model.columns, model.rows) = size::drawn(columns, rows);
            Vec::new()
        }
        Msg::Tick(now) => {
            model.now = now;
            tick(model)
        }
        Msg::Feed { feed, news } if feed == model.feed => feed::take(model, news),
        Msg::Feed { .. } => Vec::new(),
        Msg::Reply { ticket, reply } => reply::take(model, ticket, reply),
        Msg::NotSuspended => {
            model.say("no shell could continue this console, so it is not suspended");
            Vec::new()
        }
        Msg::Quit => {
            leave::by_force(model);
            Vec::new()
        }
    }
}

fn quit_now(model: &mut Model) -> Vec<Command> {
    model.has_quit = true;
    vec![Command::Quit]
}

/// Forgets everything about the agent that was shown and follows another.
fn switch_agent(model: &mut Model, agent: AgentId) -> Vec<Command> {
    let mode = model.conversation.mode();
    keep_draft(model, &agent);
    model.agent = agent.clone();
    model.known.leave_agent();
    model.feed += 1;
    model.conversation = crate::conversation::Conversation::new(mode);
    model.texts_failed_at = None;
    model.link = crate::model::Link::default();
    model.status = None;
    model.scroll = crate::model::Scroll::Bottom;
    model.overlays.clear();
    // Replies about the agent before are not waited for, apart from those about something that was done.
    let is_kept =
        |purpose: &Purpose| matches!(purpose, Purpose::Send | Purpose::Image | Purpose::Action);
    model.asked.retain(|_, purpose| is_kept(purpose));
    let feed = model.feed;
    vec![Command::Follow { feed, agent }, ask_status(model)]
}

/// Follows the events of the agent anew. What is shown stays until they are read.
fn follow_again(model: &mut Model) -> Command {
    model.feed += 1;
    model.link.ended = None;
    model.link.is_missing = false;
    model.link.feed_trouble = None;
    model.link.is_open = false;
    model.host_is_back();
    Command::Follow {
        feed: model.feed,
        agent: model.agent.clone(),
    }
}

/// Puts the draft aside for the agent that was shown, and takes out that of the other one.
fn keep_draft(model: &mut Model, next: &AgentId) {
    let other = model.drafts.remove(next).unwrap_or_default();
    if *next != model.agent {
        let draft = std::mem::replace(&mut model.draft, other);
        if !draft.is_empty() {
            model.drafts.insert(model.agent.clone(), draft);
        }
    }
}

fn ask_of(model: &mut Model, agent: AgentId, purpose: Purpose, question: Question) -> Command {
    let ticket = model.next_ticket;
    model.next_ticket += 1;
    model.asked.insert(ticket, purpose);
    Command::Ask {
        ticket,
        request: Request {
            agent,
            question,
            sending: None,
        },
    }
}

fn ask(model: &mut Model, purpose: Purpose, question: Question) -> Command {
    let agent = model.agent.clone();
    ask_of(model, agent, purpose, question)
}

/// Asks once for something that needs no second request while one is under way.
fn ask_once(model: &mut Model, purpose: Purpose, question: Question) -> Option<Command> {
    (!model.is_asked(&purpose)).then(|| ask(model, purpose, question))
}

fn ask_status(model: &mut Model) -> Command {
    model.status_asked_at = model.now;
    model.status_is_old = false;
    ask(model, Purpose::Status, Question::Status)
}

/// Opens a page, or reads the top one again if it is of the same subject.
fn open_page(model: &mut Model, page: Page) -> Vec<Command> {
    if model.overlays.last().is_none_or(|top| top.page != page) {
        let mut overlay = crate::overlay::Overlay::new(page);
        overlay.wanted = match &overlay.page {
            Page::Agents => Some(model.agent.as_str().to_owned()),
            Page::Effort { model: chosen } => own_effort(model, chosen),
            _ => None,
        };
        model.overlays.push(overlay);
    }
    load_page(model)
}

/// Returns the reasoning effort that the agent has chosen for this model.
fn own_effort(model: &Model, chosen: &str) -> Option<String> {
    let of_agent = &model.status.as_ref()?.model;
    let is_same = of_agent.effective_model.as_deref() == Some(chosen);
    let effort = of_agent.override_reasoning_effort.clone();
    effort.filter(|_| is_same)
}

/// Fills the top page, by a request where one is needed.
fn load_page(model: &mut Model) -> Vec<Command> {
    let Some(page) = model.overlays.last().map(|top| top.page.clone()) else {
        return Vec::new();
    };
    let entries = match &page {
        Page::Help => crate::pages::help(),
        Page::Events => {
            crate::pages::events(model.conversation.events().iter().rev(), model.zone())
        }
        Page::Effort { .. } => crate::pages::efforts(),
        _ => Vec::new(),
    };
    let command = page
        .question()
        .map(|question| ask(model, Purpose::Page, question));
    if let Some(top) = model.overlay() {
        match &command {
            Some(Command::Ask { ticket, .. }) => top.ticket = Some(*ticket),
            Some(_) | None => top.fill(entries),
        }
    }
    command.into_iter().collect()
}

fn tick(model: &mut Model) -> Vec<Command> {
    let mut commands = Vec::new();
    let pause = if model.link.host_trouble.is_some() {
        STATUS_EVERY_LOST_MS
    } else {
        STATUS_EVERY_MS
    };
    let is_due = model.now.millis_since(model.status_asked_at) >= pause;
    if (is_due || model.status_is_old) && !model.is_asked(&Purpose::Status) {
        commands.push(ask_status(model));
    }
    commands.extend(page::tick(model));
    commands.extend(texts::ask_for(model));
    commands.extend(send::again(model));
    commands
}

#[cfg(test)]
mod tests;
