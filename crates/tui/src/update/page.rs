//! Keys of overlays.

use super::submit::{act, act_on, open_at, switch_to};
use super::{ask, follow, load_page, open_page};
use crate::draft::Draft;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Question};
use crate::overlay::{Act, Ask, Key, Overlay, Page, PendingKey};
use crate::pages::{CHILD, WAIT, follows_default};
use crate::view::{detail_height, detail_page};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Some(top) = model.overlays.last_mut() else {
        return Vec::new();
    };
    // Every other key takes back what waits for a second press.
    let pressed = top.pressed.take();
    let is_letter = !key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let is_interrupt =
        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    let code = if is_interrupt { KeyCode::Esc } else { key.code };
    if top.ask.is_some() {
        return press_ask(model, code, is_letter);
    }
    let (page, text, selected) = (top.page.clone(), top.page.is_text(), top.selected);
    match code {
        KeyCode::Esc => close(model),
        KeyCode::Char('q') if !page.filters() => close(model),
        KeyCode::Up => step(model, text, selected.checked_sub(1), -1),
        KeyCode::Down => step(model, text, Some(selected + 1), 1),
        KeyCode::Char('k') if !page.filters() => step(model, text, selected.checked_sub(1), -1),
        KeyCode::Char('j') if !page.filters() => step(model, text, Some(selected + 1), 1),
        KeyCode::PageUp | KeyCode::Home if is_at_top(model) => {
            return follow::go_back(model).into_iter().collect();
        }
        KeyCode::PageUp => scroll_pages(model, -1),
        KeyCode::PageDown => scroll_pages(model, 1),
        KeyCode::Home => scroll_by(model, isize::MIN / 2),
        KeyCode::End => scroll_by(model, isize::MAX / 2),
        KeyCode::Enter => return press_key(model, '\n', pressed.as_ref()),
        KeyCode::Char(c) if page.filters() && is_letter => filter(model, |filter| filter.push(c)),
        KeyCode::Backspace if page.filters() => filter(model, |filter| {
            filter.pop();
        }),
        KeyCode::Char(c) if is_letter => return press_key(model, c, pressed.as_ref()),
        _ => {}
    }
    Vec::new()
}

fn close(model: &mut Model) {
    model.overlays.pop();
}

fn filter(model: &mut Model, change: impl FnOnce(&mut String)) {
    if let Some(top) = model.overlay() {
        change(&mut top.filter);
        top.select(0);
    }
}

/// Selects another entry, or scrolls a page without a list.
fn step(model: &mut Model, is_text: bool, to: Option<usize>, lines: isize) {
    if is_text {
        scroll_by(model, lines);
    } else if let (Some(to), Some(top)) = (to, model.overlay()) {
        top.select(to);
    }
}

fn scroll_pages(model: &mut Model, pages: isize) {
    let lines = isize::try_from(detail_page(model)).unwrap_or(1).max(1);
    scroll_by(model, pages * lines);
}

/// Scrolls the detail. At its end, it stays there when more arrives.
fn scroll_by(model: &mut Model, lines: isize) {
    let last = detail_height(model).saturating_sub(detail_page(model));
    if let Some(top) = model.overlay() {
        let now = if top.at_end {
            last
        } else {
            top.scroll.min(last)
        };
        top.scroll = now.saturating_add_signed(lines).min(last);
        top.at_end = lines > 0 && top.scroll == last;
    }
}

/// Returns true if the first line of the detail is shown, and earlier ones may be asked for.
fn is_at_top(model: &Model) -> bool {
    let last = detail_height(model).saturating_sub(detail_page(model));
    let top = model.overlays.last();
    top.is_some_and(|top| match (&top.follow, top.at_end) {
        (None, _) => false,
        (Some(_), true) => last == 0,
        (Some(_), false) => top.scroll.min(last) == 0,
    })
}

fn press_key(model: &mut Model, pressed: char, before: Option<&PendingKey>) -> Vec<Command> {
    let Some(top) = model.overlays.last_mut() else {
        return Vec::new();
    };
    let keys = top.page.keys().iter();
    let Some(key) = keys.copied().find(|key| key.key == pressed) else {
        return Vec::new();
    };
    let agent = model.status.as_deref();
    let entry = top.selected_entry();
    let removes_model = key.act == Act::ChooseModel
        && entry.is_some_and(|entry| entry.id.is_empty())
        && !agent.is_some_and(|agent| follows_default(agent));
    if !key.asks && !removes_model {
        return perform(model, key);
    }
    // Some acts are about the agent, whatever is selected, and the default of the host has no id.
    let is_about_agent = matches!(
        key.act,
        Act::ExitWorkspace | Act::FoldContext | Act::ClearContext
    );
    let is_about_entry = !is_about_agent && !removes_model;
    let subject = top.subject().filter(|_| is_about_entry);
    if is_about_entry && subject.is_none() {
        model.say("nothing is selected");
        return Vec::new();
    }
    let now = PendingKey {
        key: pressed,
        subject,
    };
    if before == Some(&now) {
        return perform(model, key);
    }
    let words = if removes_model {
        let own = agent.and_then(|agent| agent.model.effective_model.as_deref());
        let own = own.unwrap_or_default();
        format!("Enter once more: remove the agent's own model {own}")
    } else {
        let subject = now.subject.as_deref().unwrap_or_default();
        let name = subject.trim_start_matches(WAIT).trim_start_matches(CHILD);
        format!("{pressed} once more: {} {name}", key.label)
    };
    top.pressed = Some(now);
    model.say(words.trim_end());
    Vec::new()
}

fn perform(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(top) = model.overlays.last_mut() else {
        return Vec::new();
    };
    if let Some(label) = question_of(key.act) {
        let subject = top.subject();
        top.ask = Some(Ask {
            label: label.to_owned(),
            act: key.act,
            subject,
            draft: Draft::default(),
        });
        return Vec::new();
    }
    let page = top.page.clone();
    let chosen = top.selected_entry().map(|entry| entry.id.clone());
    let id = if top.follow.is_some() {
        top.subject()
    } else {
        chosen
    };
    match (key.act, id) {
        (Act::Reload, _) => load_page(model),
        (Act::ExitWorkspace, _) => act(model, Question::ExitWorkspace),
        (Act::FoldContext, _) => act(model, Question::FoldContext),
        (Act::ClearContext, _) => act(model, Question::ClearContext),
        (Act::NewTrigger, _) => act(model, Question::CreateTrigger { enqueues: false }),
        (Act::NewMailbox, _) => act(model, Question::CreateTrigger { enqueues: true }),
        (Act::ChooseModel, Some(id)) if id.is_empty() => {
            close(model);
            act(model, Question::ClearModel)
        }
        (Act::ChooseModel, Some(model_ref)) => open_page(model, Page::Effort { model: model_ref }),
        (Act::ChooseEffort, Some(effort)) => choose_effort(model, &page, &effort),
        (_, None) => Vec::new(),
        (_, Some(id)) if id.is_empty() => Vec::new(),
        (chosen, Some(id)) => perform_on(model, chosen, id),
    }
}

/// Returns the line that an act needs from the operator.
const fn question_of(act: Act) -> Option<&'static str> {
    match act {
        Act::NewAgent => Some("id of the new agent"),
        Act::WriteToTask => Some("input of the task, with a line end"),
        Act::NewWorkItem => Some("objective"),
        Act::AttachWorkspace => Some("directory on the host"),
        Act::InstallSkill => Some("name of a built-in skill, or a directory on the host"),
        _ => None,
    }
}

fn choose_effort(model: &mut Model, page: &Page, effort: &str) -> Vec<Command> {
    let Page::Effort { model: chosen } = page else {
        return Vec::new();
    };
    let chosen = chosen.clone();
    model
        .overlays
        .retain(|overlay| !matches!(overlay.page, Page::Effort { .. } | Page::Models));
    let effort = (effort != "inherit").then(|| effort.to_owned());
    act(
        model,
        Question::SetModel {
            model: chosen,
            effort,
        },
    )
}

/// Does something to a private child, through the task that stands for it.
fn perform_on_child(model: &mut Model, chosen: Act, task: &str) -> Vec<Command> {
    match chosen {
        Act::SwitchAgent => open_at(model, Page::Tasks, task),
        Act::StopAgent => act(
            model,
            Question::StopTask {
                task: task.to_owned(),
            },
        ),
        _ => {
            model.complain("a private child starts and ends with its task".to_owned());
            Vec::new()
        }
    }
}

fn perform_on(model: &mut Model, chosen: Act, id: String) -> Vec<Command> {
    if let Some(task) = id.strip_prefix(CHILD) {
        return perform_on_child(model, chosen, task);
    }
    match chosen {
        Act::SwitchAgent => switch_to(model, &id),
        Act::StartAgent => act_on(model, &id, Question::StartAgent),
        Act::StopAgent => act_on(model, &id, Question::StopAgent),
        Act::FollowTask => follow::begin(model, &id),
        Act::StopTask => act(model, Question::StopTask { task: id }),
        Act::ReadWorkItem => vec![ask(model, Purpose::WorkItem, Question::WorkItem { id })],
        Act::CompleteWorkItem => act(model, Question::CompleteWorkItem { id }),
        Act::ResumeWorkItem => act(model, Question::ResumeWorkItem { id }),
        Act::Cancel => match id.strip_prefix(WAIT) {
            Some(wait) => act(
                model,
                Question::CancelWait {
                    id: wait.to_owned(),
                },
            ),
            None => act(model, Question::CancelTimer { id }),
        },
        Act::RevealTrigger => {
            let question = Question::RevealTrigger { id };
            vec![ask(model, Purpose::TriggerUrl, question)]
        }
        Act::RotateTrigger => act(model, Question::RotateTrigger { id }),
        Act::RevokeTrigger => act(model, Question::RevokeTrigger { id }),
        Act::UseWorkspace => act(
            model,
            Question::UseWorkspace {
                id,
                isolated: false,
            },
        ),
        Act::UseIsolated => act(model, Question::UseWorkspace { id, isolated: true }),
        Act::DetachWorkspace => act(model, Question::DetachWorkspace { id }),
        Act::UninstallSkill => act(model, Question::UninstallSkill { name: id }),
        Act::PinTurn => match id.parse() {
            Ok(turn) => act(model, Question::PinTurn { turn }),
            Err(_) => Vec::new(),
        },
        Act::UnpinTurn => match id.parse() {
            Ok(turn) => act(model, Question::UnpinTurn { turn }),
            Err(_) => Vec::new(),
        },
        Act::NewAgent
        | Act::NewTrigger
        | Act::NewMailbox
        | Act::WriteToTask
        | Act::NewWorkItem
        | Act::AttachWorkspace
        | Act::ExitWorkspace
        | Act::ChooseModel
        | Act::ChooseEffort
        | Act::InstallSkill
        | Act::FoldContext
        | Act::ClearContext
        | Act::Reload => Vec::new(),
    }
}

fn press_ask(model: &mut Model, code: KeyCode, is_letter: bool) -> Vec<Command> {
    let Some(top) = model.overlays.last_mut() else {
        return Vec::new();
    };
    let Some(ask) = &mut top.ask else {
        return Vec::new();
    };
    let draft = &mut ask.draft;
    match code {
        KeyCode::Esc => top.ask = None,
        KeyCode::Enter => return answer(model),
        KeyCode::Char(c) if is_letter => {
            draft.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Char(c) => press_ask_ctrl(draft, c),
        KeyCode::Backspace => draft.backspace(),
        KeyCode::Delete => draft.delete(),
        KeyCode::Left => draft.left(),
        KeyCode::Right => draft.right(),
        KeyCode::Home => draft.home(),
        KeyCode::End => draft.end(),
        _ => {}
    }
    Vec::new()
}

/// Moves and deletes as in a shell. Other letters with Ctrl or Alt do nothing.
fn press_ask_ctrl(draft: &mut Draft, letter: char) {
    match letter {
        'a' => draft.home(),
        'e' => draft.end(),
        'b' => draft.left(),
        'f' => draft.right(),
        'h' => draft.backspace(),
        'd' => draft.delete(),
        'k' => draft.remove_to_end(),
        'u' => draft.remove_to_start(),
        'w' => draft.remove_word(),
        _ => {}
    }
}

/// Does what the operator was asked a line for.
fn answer(model: &mut Model) -> Vec<Command> {
    let Some(top) = model.overlays.last_mut() else {
        return Vec::new();
    };
    let Some(mut asked) = top.ask.take() else {
        return Vec::new();
    };
    let line = asked.draft.take();
    let trimmed = line.trim().to_owned();
    match (asked.act, asked.subject) {
        (Act::WriteToTask, Some(task)) => {
            let mut commands = Vec::new();
            if top.follow.is_none() {
                commands.extend(follow::begin(model, &task));
            }
            let input = format!("{line}\n");
            commands.extend(act(model, Question::TaskInput { task, input }));
            commands
        }
        _ if trimmed.is_empty() => Vec::new(),
        (Act::NewAgent, _) => act_on(model, &trimmed, Question::CreateAgent),
        (Act::NewWorkItem, _) => act(model, Question::CreateWorkItem { objective: trimmed }),
        (Act::AttachWorkspace, _) => act(model, Question::AttachWorkspace { path: trimmed }),
        (Act::InstallSkill, _) => act(
            model,
            Question::InstallSkill {
                name_or_path: trimmed,
            },
        ),
        _ => Vec::new(),
    }
}

/// Keeps an open page fresh.
pub(super) fn tick(model: &mut Model) -> Vec<Command> {
    if let Some(command) = follow::ask_output(model) {
        return vec![command];
    }
    let shows_newest = |top: &&Overlay| top.page == Page::Events && top.selected == 0;
    if model.overlays.last().as_ref().is_some_and(shows_newest) {
        let entries = crate::pages::events(model.conversation.events().iter().rev(), model.zone());
        if let Some(top) = model.overlay() {
            top.entries = entries;
        }
    }
    Vec::new()
}
