//! `view`: the model as a screen. Pure: the same model gives the same screen.
//!
//! From top to bottom: a line about the agent, the conversation, a line about what the agent does, the composer, and a
//! line for notices and hints. On a small terminal the lines around the conversation give way first. An overlay covers
//! all but the composer.

mod activity;
mod composer;
pub(crate) mod connecting;
mod flow;
mod page;
mod row;

pub(crate) use flow::Flow;
pub(crate) use page::{detail_height, detail_page};

use crate::model::{Model, Scroll};
use crate::text::{clean_line, columns};
use crate::update::{Offer, menu, waiting_words};
use crate::wrap::{fit, wrap};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

/// Most lines of the composer.
const COMPOSER_LINES: u16 = 10;
/// Most lines of a notice. A longer one is cut.
const NOTICE_LINES: u16 = 4;
/// Columns of the address of the host, at least. With less room it is left out.
const HOST_COLUMNS: usize = 16;
/// Columns for both paths from which on the directory gives way to the address of the host.
const WIDE_ROOM: usize = 3 * HOST_COLUMNS;
/// Most completions that are shown at once.
const MENU_LINES: usize = 8;

/// Parts of the screen. A part that does not fit has no height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) header: Rect,
    pub(crate) body: Rect,
    pub(crate) activity: Rect,
    pub(crate) composer: Rect,
    pub(crate) footer: Rect,
}

/// Gives each part its lines. On few rows the header goes first, then the footer, then the activity.
pub(crate) fn areas(model: &Model) -> Areas {
    let (width, rows) = (model.columns, model.rows);
    let draft = model.draft.layout(composer::text_width(width)).lines.len();
    let draft = u16::try_from(draft).unwrap_or(u16::MAX);
    let lines = draft.clamp(1, COMPOSER_LINES.min((rows / 3).max(1)));
    let mut left = rows;
    let mut take = |wanted: u16, from: u16| {
        let taken = if rows >= from { wanted.min(left) } else { 0 };
        left -= taken;
        taken
    };
    let composer = take(lines + u16::from(rows >= 8), 1);
    let activity = take(1, 3);
    let footer = take(footer_lines(model), 5);
    let header = take(1, 7);
    let part = |y: u16, height: u16| Rect::new(0, y, width, height);
    let body = left;
    Areas {
        header: part(0, header),
        body: part(header, body),
        activity: part(header + body, activity),
        composer: part(header + body + activity, composer),
        footer: part(header + body + activity + composer, footer),
    }
}

/// Lines that the notice or the keys of a page need, where the terminal has room for more than one.
fn footer_lines(model: &Model) -> u16 {
    if model.rows < 12 {
        return 1;
    }
    u16::try_from(footer(model).len()).map_or(1, |lines| lines.clamp(1, NOTICE_LINES))
}

/// Lines of the conversation that fit on the screen.
pub(crate) fn body_height(model: &Model) -> usize {
    usize::from(areas(model).body.height)
}

/// Draws the conversation or the top overlay, and around it the lines that always stand.
pub fn view(model: &Model, frame: &mut Frame<'_>) {
    let areas = areas(model);
    let screen = frame.area();
    if let Some(overlay) = model.overlays.last() {
        let top = areas.header.y;
        let height = areas.composer.y;
        let area = Rect::new(0, top, model.columns, height);
        page::draw(model, overlay, frame, area.intersection(screen));
    } else {
        let width = usize::from(model.columns);
        draw(frame, areas.header, vec![fit(header(model), width)]);
        let lines = Flow::of(model).window(model.scroll, usize::from(areas.body.height));
        // The newest line stands right above the activity, also in a short conversation.
        let empty = usize::from(areas.body.height).saturating_sub(lines.len());
        let lines = std::iter::repeat_n(Line::default(), empty).chain(lines);
        draw(frame, areas.body, lines.collect());
        draw(
            frame,
            areas.activity,
            vec![fit(activity::line(model), width)],
        );
    }
    composer::draw(model, frame, areas.composer.intersection(screen));
    draw_footer(model, frame, areas.footer);
    draw_menu(model, frame, areas.composer.y);
}

/// Draws lines, as far as they fit.
fn draw(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    let area = area.intersection(frame.area());
    if area.width > 0 && area.height > 0 {
        frame.render_widget(Paragraph::new(lines), area);
    }
}

/// Makes the line about the agent. The paths are shortened before anything else is cut.
fn header(model: &Model) -> Line<'static> {
    let theme = model.theme;
    let left = format!(" {} ", clean_line(model.agent.as_str()));
    let mode = model.conversation.mode().to_string();
    let status = model.status.as_ref();
    let asked = status.and_then(|agent| agent.model.effective_model.clone());
    let asked = asked.map(|name| clean_line(&name));
    let cwd = status.map(|agent| clean_line(&agent.execution.cwd));
    let host = clean_line(&model.host);
    // Each word but the first has a separator of three columns before it.
    let taken = columns(&left) + 1 + columns(&mode) + 3;
    let taken = taken + asked.as_deref().map_or(0, |name| columns(name) + 3);
    let room = usize::from(model.columns).saturating_sub(taken);
    let cwd_columns = cwd.as_deref().map_or(0, |path| columns(path) + 3);
    let host_room = room.saturating_sub(cwd_columns);
    let host = match (host_room, room) {
        (HOST_COLUMNS.., _) => keep_end(&host, host_room),
        (_, WIDE_ROOM..) => keep_end(&host, HOST_COLUMNS),
        _ => String::new(),
    };
    let cwd_room = room.saturating_sub(columns(&host) + 3);
    let cwd = cwd.map(|path| keep_end(&path, cwd_room));
    let words = [asked, cwd, Some(mode), Some(host)].into_iter().flatten();
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    Line::from(vec![
        Span::styled(left, theme.selected()),
        Span::raw(" "),
        Span::styled(words.join(" · "), theme.faint()),
    ])
}

/// Shortens a path to its last columns.
fn keep_end(path: &str, room: usize) -> String {
    if columns(path) <= room {
        return path.to_owned();
    }
    let mut end = path;
    while columns(end) + 1 > room && !end.is_empty() {
        let mut rest = end.chars();
        rest.next();
        end = rest.as_str();
    }
    if end.is_empty() {
        return String::new();
    }
    format!("…{end}")
}

/// Draws the notice or the hint. The last line of a longer notice ends with an ellipsis.
fn draw_footer(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    let mut lines = footer(model);
    if lines.len() > height
        && let Some(last) = lines.get_mut(height.saturating_sub(1))
    {
        let cut = std::mem::take(last);
        *last = fit(cut, usize::from(area.width).saturating_sub(1));
        if !last.to_string().ends_with('…') {
            last.spans.push(Span::styled("…", last.style));
        }
    }
    lines.truncate(height);
    draw(frame, area, lines);
}

fn footer(model: &Model) -> Vec<Line<'static>> {
    let theme = model.theme;
    if let Some(words) = waiting_words(model) {
        let line = Line::styled(format!(" {words}"), theme.alert());
        return wrap(&line, usize::from(model.columns), 1);
    }
    if let Some(notice) = &model.notice {
        let style = if notice.is_bad {
            theme.alert()
        } else {
            theme.good()
        };
        let line = Line::styled(format!(" {}", clean_line(&notice.text)), style);
        return wrap(&line, usize::from(model.columns), 1);
    }
    let hint = match (model.overlays.last(), model.scroll) {
        (Some(overlay), _) => page::hint(overlay),
        (None, Scroll::At { .. }) => " Esc goes to the newest row · PgUp PgDn scroll".to_owned(),
        (None, Scroll::Bottom) => {
            " Enter sends · Alt+Enter new line · / commands · ? help · Ctrl+C closes".to_owned()
        }
    };
    wrap(
        &Line::styled(hint, theme.faint()),
        usize::from(model.columns),
        1,
    )
}

/// Draws the completions of the draft above the composer.
fn draw_menu(model: &Model, frame: &mut Frame<'_>, bottom: u16) {
    let offered = menu(model);
    let shown = offered.len().min(MENU_LINES).min(usize::from(bottom));
    if shown == 0 {
        return;
    }
    let choice = model.menu.choice.min(offered.len() - 1);
    let first = choice.saturating_sub(shown - 1);
    let name = |offer: &Offer| format!(" {}", clean_line(&offer.label));
    let width = offered
        .iter()
        .map(|offer| columns(&name(offer)))
        .max()
        .unwrap_or(0);
    let lines: Vec<Line<'_>> = offered
        .iter()
        .enumerate()
        .skip(first)
        .take(shown)
        .map(|(index, offer)| {
            let style = if index == choice {
                model.theme.selected()
            } else {
                model.theme.strong()
            };
            let name = name(offer);
            let space = " ".repeat(width + 1 - columns(&name));
            let line = Line::from(vec![
                Span::styled(format!("{name}{space}"), style),
                Span::styled(
                    format!(" {}", clean_line(&offer.about)),
                    model.theme.faint(),
                ),
            ]);
            fit(line, usize::from(model.columns))
        })
        .collect();
    let height = u16::try_from(shown).unwrap_or(0);
    let area = Rect::new(0, bottom - height, model.columns, height).intersection(frame.area());
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

#[cfg(test)]
mod tests;
