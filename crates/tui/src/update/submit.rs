//! Messages and slash commands.

use super::{
    ask, ask_of, ask_status, follow, follow_again, image, leave, load_page, open_page, send,
    switch_agent,
};
use crate::model::{Model, Purpose, Scroll};
use crate::msg::{Command, Question};
use crate::overlay::Page;
use crate::slash::{Input, Slash, read};
use holon_domain::AgentId;

/// Longest text that the history keeps.
const REMEMBERED_BYTES: usize = 64 << 10;

/// Adds a text to the history.
pub(super) fn remember(model: &mut Model, text: &str) {
    if text.len() <= REMEMBERED_BYTES {
        model.history.add(text);
    }
}

/// Sends the draft, or runs it as a command. A draft that is neither stays.
pub(super) fn submit(model: &mut Model) -> Vec<Command> {
    let mut whole = model.draft.clone();
    let text = whole.take();
    match read(text.trim_end()) {
        Input::Nothing => Vec::new(),
        Input::Invalid(reason) => {
            model.complain(reason);
            Vec::new()
        }
        Input::Message(message) => {
            let switching = model.asked.values().find_map(|purpose| match purpose {
                Purpose::Switch(agent) => Some(agent.as_str().to_owned()),
                _ => None,
            });
            if let Some(agent) = switching {
                model.complain(format!(
                    "the console is about to show {agent}; send it then"
                ));
                return Vec::new();
            }
            if model.is_asked(&Purpose::Image) {
                model.complain("the image is still on its way; send the message then");
                return Vec::new();
            }
            model.draft.clear();
            let sent = send::begin(model, message);
            keep(model, text, vec![sent])
        }
        Input::Command(slash) => {
            model.draft.clear();
            model.notice = None;
            model.menu.closed = false;
            let commands = run(model, slash);
            keep(model, text.trim_end().to_owned(), commands)
        }
    }
}

/// Adds a text that was entered to the history, also to that of later consoles.
fn keep(model: &mut Model, text: String, mut commands: Vec<Command>) -> Vec<Command> {
    remember(model, &text);
    commands.push(Command::Remember { text });
    commands
}

/// Asks for an action about the agent of the console.
pub(super) fn act(model: &mut Model, question: Question) -> Vec<Command> {
    vec![ask(model, Purpose::Action, question)]
}

/// Asks for an action about another agent.
pub(super) fn act_on(model: &mut Model, id: &str, question: Question) -> Vec<Command> {
    match AgentId::parse_stored(id) {
        Ok(agent) => vec![ask_of(model, agent, Purpose::Action, question)],
        Err(error) => {
            model.complain(error.to_string());
            Vec::new()
        }
    }
}

pub(super) fn switch_to(model: &mut Model, id: &str) -> Vec<Command> {
    match AgentId::parse_stored(id) {
        Ok(agent) if agent == model.agent => switch_agent(model, agent),
        // The host says first if there is such an agent. The last switch that was asked for holds.
        Ok(agent) => {
            let is_other = |purpose: &Purpose| !matches!(purpose, Purpose::Switch(_));
            model.asked.retain(|_, purpose| is_other(purpose));
            let purpose = Purpose::Switch(agent.clone());
            vec![ask_of(model, agent, purpose, Question::Status)]
        }
        Err(error) => {
            model.complain(error.to_string());
            Vec::new()
        }
    }
}

/// Opens a list at one of its entries. The output of a task is followed at once.
pub(super) fn open_at(model: &mut Model, page: Page, id: &str) -> Vec<Command> {
    let is_task = page == Page::Tasks;
    let mut commands = open_page(model, page);
    if let Some(top) = model.overlay() {
        top.wanted = Some(id.to_owned());
    }
    if is_task {
        commands.extend(follow::begin(model, id));
    }
    commands
}

fn run(model: &mut Model, slash: Slash) -> Vec<Command> {
    let here = model.agent.as_str().to_owned();
    match slash {
        Slash::Help => open_page(model, Page::Help),
        Slash::Status => open_page(model, Page::Status),
        Slash::Agents => open_page(model, Page::Agents),
        Slash::Events => open_page(model, Page::Events),
        Slash::Transcript => open_page(model, Page::Transcript),
        Slash::Tasks => open_page(model, Page::Tasks),
        Slash::Work => open_page(model, Page::Work),
        Slash::Task(id) => open_at(model, Page::Tasks, &id),
        Slash::WorkItem(id) => open_at(model, Page::Work, &id),
        Slash::Timers => open_page(model, Page::Timers),
        Slash::Triggers => open_page(model, Page::Triggers),
        Slash::Workspace => open_page(model, Page::Workspace),
        Slash::Models => open_page(model, Page::Models),
        Slash::Usage => open_page(model, Page::Usage),
        Slash::Budgets => open_page(model, Page::Budgets),
        Slash::Skills => open_page(model, Page::Skills),
        Slash::Context => open_page(model, Page::Context),
        Slash::FoldContext => act(model, Question::FoldContext),
        Slash::ClearContext => act(model, Question::ClearContext),
        Slash::PinTurn(turn) => act(model, Question::PinTurn { turn }),
        Slash::UnpinTurn(turn) => act(model, Question::UnpinTurn { turn }),
        Slash::DebugPrompt => open_page(model, Page::DebugPrompt),
        Slash::SwitchAgent(id) => switch_to(model, &id),
        Slash::CreateAgent(id) => act_on(model, &id, Question::CreateAgent),
        Slash::StartAgent(id) => act_on(model, &id.unwrap_or(here), Question::StartAgent),
        Slash::StopAgent(id) => act_on(model, &id.unwrap_or(here), Question::StopAgent),
        Slash::Display(mode) => {
            model.conversation.set_mode(mode);
            model.scroll = Scroll::Bottom;
            model.say(format!("the conversation shows {mode}"));
            Vec::new()
        }
        Slash::AttachImage(path) => image::upload(model, path),
        Slash::DropImages => image::drop_all(model),
        Slash::AttachWorkspace(path) => act(model, Question::AttachWorkspace { path }),
        Slash::UseWorkspace(id) => act(
            model,
            Question::UseWorkspace {
                id,
                isolated: false,
            },
        ),
        Slash::ExitWorkspace => act(model, Question::ExitWorkspace),
        Slash::DetachWorkspace(id) => act(model, Question::DetachWorkspace { id }),
        Slash::SetModel(chosen) => act(
            model,
            Question::SetModel {
                model: chosen,
                effort: None,
            },
        ),
        Slash::ClearModel => act(model, Question::ClearModel),
        Slash::InstallSkill(name_or_path) => act(model, Question::InstallSkill { name_or_path }),
        Slash::UninstallSkill(name) => act(model, Question::UninstallSkill { name }),
        Slash::Wake(reason) => act(model, Question::Wake { reason }),
        Slash::Abort => act(model, Question::Abort),
        Slash::Refresh => {
            let mut commands = load_page(model);
            commands.push(follow_again(model));
            commands.push(ask_status(model));
            model.say("reading everything again");
            commands
        }
        Slash::Clear => {
            model.notice = None;
            Vec::new()
        }
        Slash::Quit => leave::by_operator(model),
    }
}
