//! Keys and pastes on the main screen. An open overlay takes them first.

use super::{complete, leave, menu, open_page, page, scroll, submit};
use crate::draft::Draft;
use crate::model::{Model, Scroll};
use crate::msg::Command;
use crate::overlay::Page;
use crate::view::body_height;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    // What went well was read; what went wrong stays until something is sent or left.
    if model.notice.as_ref().is_some_and(|notice| !notice.is_bad) {
        model.notice = None;
    }
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let of_terminal = match key.code {
        KeyCode::Char('z') if ctrl => Some(Command::Suspend),
        KeyCode::Char('l') if ctrl => Some(Command::Redraw),
        _ => None,
    };
    if let Some(command) = of_terminal {
        return vec![command];
    }
    if model.leaving.is_some() {
        return leave::press(model, key);
    }
    if !model.overlays.is_empty() {
        return page::press(model, key);
    }
    let mut commands = press_composer(model, key);
    commands.extend(complete::ask_choices(model));
    commands
}

fn press_composer(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return press_ctrl(model, key.code);
    }
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Enter if alt || shift => insert(model, "\n"),
        KeyCode::Enter => return enter(model),
        KeyCode::Esc => escape(model),
        KeyCode::Tab => complete::take(model),
        KeyCode::Up => up(model),
        KeyCode::Down => down(model),
        KeyCode::PageUp => return scroll::up(model, page_lines(model)),
        KeyCode::PageDown => scroll::down(model, page_lines(model)),
        KeyCode::Char('?') if model.draft.is_empty() => return open_page(model, Page::Help),
        KeyCode::Char('b') if alt => model.draft.word_left(),
        KeyCode::Char('f') if alt => model.draft.word_right(),
        KeyCode::Char(c) if !alt => insert(model, c.encode_utf8(&mut [0; 4])),
        code => edit(model, code),
    }
    Vec::new()
}

fn page_lines(model: &Model) -> usize {
    body_height(model).saturating_sub(2).max(1)
}

fn press_ctrl(model: &mut Model, code: KeyCode) -> Vec<Command> {
    let draft = &mut model.draft;
    match code {
        KeyCode::Char('c') if draft.is_empty() => return leave::by_operator(model),
        KeyCode::Char('c') => {
            clear_draft(model);
            model.say("Ctrl+C once more closes the console; the agent goes on");
        }
        KeyCode::Char('d') if draft.is_empty() => return leave::by_operator(model),
        KeyCode::Char('d') => change(model, Draft::delete),
        KeyCode::Char('j') | KeyCode::Enter => insert(model, "\n"),
        KeyCode::Char('t') => return open_page(model, Page::Transcript),
        KeyCode::Char('a') => draft.home(),
        KeyCode::Char('e') => draft.end(),
        KeyCode::Char('b') => draft.left(),
        KeyCode::Char('f') => draft.right(),
        KeyCode::Char('h') => change(model, Draft::backspace),
        KeyCode::Char('k') => change(model, Draft::remove_to_end),
        KeyCode::Char('u') => change(model, Draft::remove_to_start),
        KeyCode::Char('w') | KeyCode::Backspace => change(model, Draft::remove_word),
        KeyCode::Char('p') => up(model),
        KeyCode::Char('n') => down(model),
        KeyCode::Left => draft.word_left(),
        KeyCode::Right => draft.word_right(),
        KeyCode::Home => return scroll::top(model),
        KeyCode::End => scroll::bottom(model),
        _ => {}
    }
    Vec::new()
}

/// Moves and deletes in the draft.
fn edit(model: &mut Model, code: KeyCode) {
    match code {
        KeyCode::Backspace => change(model, Draft::backspace),
        KeyCode::Delete => change(model, Draft::delete),
        KeyCode::Left => model.draft.left(),
        KeyCode::Right => model.draft.right(),
        KeyCode::Home => model.draft.home(),
        KeyCode::End => model.draft.end(),
        _ => {}
    }
}

/// Deletes in the draft.
fn change(model: &mut Model, delete: fn(&mut Draft)) {
    delete(&mut model.draft);
    edited(model);
}

/// Begins the completions anew after the text changed.
fn edited(model: &mut Model) {
    model.menu.choice = 0;
    model.menu.moved = false;
    model.menu.closed = false;
    model.history.leave();
}

fn insert(model: &mut Model, text: &str) {
    let cut = model.draft.insert(text);
    edited(model);
    report_cut(model, cut);
}

fn report_cut(model: &mut Model, cut: usize) {
    if cut > 0 {
        model.complain(format!(
            "a message holds at most 1 MiB; {cut} bytes were left out"
        ));
    }
}

pub(super) fn paste(model: &mut Model, text: &str) -> Vec<Command> {
    if let Some(asked) = model.overlay() {
        if let Some(ask) = &mut asked.ask {
            let line = text.lines().next().unwrap_or_default();
            ask.draft.insert(line);
        }
        return Vec::new();
    }
    let cut = model.draft.paste(text);
    edited(model);
    report_cut(model, cut);
    Vec::new()
}

fn enter(model: &mut Model) -> Vec<Command> {
    if !complete::take_for_enter(model) {
        return Vec::new();
    }
    if model.draft.continue_line() {
        return Vec::new();
    }
    submit::submit(model)
}

fn up(model: &mut Model) {
    let offered = menu(model).len();
    if offered > 1 {
        model.menu.choice = model.menu.choice.checked_sub(1).unwrap_or(offered - 1);
        model.menu.moved = true;
    } else if !model.draft.up()
        && let Some(draft) = model.history.older(&model.draft)
    {
        model.draft = draft;
        model.menu.closed = true;
    }
}

fn down(model: &mut Model) {
    let offered = menu(model).len();
    if offered > 1 {
        model.menu.choice = (model.menu.choice + 1) % offered;
        model.menu.moved = true;
    } else if !model.draft.down()
        && let Some(draft) = model.history.newer()
    {
        model.draft = draft;
        model.menu.closed = true;
    }
}

/// Closes the completions, then goes to the newest row, then clears the draft.
fn escape(model: &mut Model) {
    if !menu(model).is_empty() {
        model.menu.closed = true;
    } else if model.scroll != Scroll::Bottom {
        model.scroll = Scroll::Bottom;
    } else {
        clear_draft(model);
        model.notice = None;
    }
}

/// Empties the draft. The up key brings it back.
fn clear_draft(model: &mut Model) {
    let text = model.draft.take();
    submit::remember(model, &text);
    edited(model);
}
