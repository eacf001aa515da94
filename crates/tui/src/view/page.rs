//! Overlays: a title, a list with the detail of the selected entry below it, or a text alone.

use crate::markdown;
use crate::model::Model;
use crate::overlay::{Ask, Entry, Load, Overlay, Page, Tone};
use crate::pages::event_detail;
use crate::text::{clean, clean_line, columns};
use crate::theme::{Theme, is_diff};
use crate::wrap::{fit, wrap};
use holon_presentation::{BarStyle, titled_bars};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

/// Columns of the name of a fact, as the pages write it.
const FACT: usize = 13;
/// Names of the efforts and other short lists are shown whole; of a longer list, this share of the page.
const LIST_SHARE: usize = 2;

/// Lines of an overlay: title, list, rule, detail.
#[derive(Debug, Clone, Copy)]
struct Parts {
    list: usize,
    detail: usize,
}

fn parts(overlay: &Overlay, height: usize) -> Parts {
    let room = height.saturating_sub(1);
    if overlay.page.is_text() {
        return Parts {
            list: 0,
            detail: room,
        };
    }
    let entries = overlay.shown().count().max(1);
    let list = entries.min((room / LIST_SHARE).max(1)).min(room);
    Parts {
        list,
        detail: room.saturating_sub(list + 1),
    }
}

/// Height of the area that overlays cover.
fn height(model: &Model) -> usize {
    usize::from(super::areas(model).composer.y)
}

/// Lines of the detail that fit on the screen.
pub(crate) fn detail_page(model: &Model) -> usize {
    let top = model.overlays.last();
    top.map_or(0, |top| parts(top, height(model)).detail)
}

/// Lines of the whole detail.
pub(crate) fn detail_height(model: &Model) -> usize {
    let width = usize::from(model.columns);
    let top = model.overlays.last();
    top.map_or(0, |top| detail(model, top, width).len())
}

/// Keys of the top overlay.
pub(super) fn hint(overlay: &Overlay) -> String {
    if overlay.ask.is_some() {
        return " Enter takes the line · Esc leaves it".to_owned();
    }
    let mut words = vec!["Esc closes".to_owned()];
    if overlay.page.filters() {
        words.push("type to filter".to_owned());
    }
    words.extend(overlay.page.keys().iter().map(|key| match key.key {
        '\n' => format!("Enter {}", key.label),
        letter => format!("{letter} {}", key.label),
    }));
    words.push("PgUp PgDn scroll".to_owned());
    format!(" {}", words.join(" · "))
}

pub(super) fn draw(model: &Model, overlay: &Overlay, frame: &mut Frame<'_>, area: Rect) {
    if area.width == 0 || area.height == 0 {
        return;
    }
    let theme = model.theme;
    let width = usize::from(area.width);
    let parts = parts(overlay, usize::from(area.height));
    let mut lines = vec![fit(title(model, overlay, width), width)];
    if parts.list > 0 {
        let list = list(overlay, theme, parts.list).into_iter();
        lines.extend(list.map(|line| fit(line, width)));
        lines.push(Line::styled("─".repeat(width), theme.faint()));
    }
    let ask_row = lines.len();
    if let Some(ask) = &overlay.ask {
        lines.push(Line::from(vec![
            Span::styled(format!(" {}: ", ask.label), theme.strong()),
            Span::raw(ask_text(ask, width).0),
        ]));
    }
    let all = detail(model, overlay, width);
    let last = all.len().saturating_sub(parts.detail);
    let first = if overlay.at_end {
        last
    } else {
        overlay.scroll.min(last)
    };
    lines.extend(all.into_iter().skip(first).take(parts.detail));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
    if let Some(ask) = &overlay.ask {
        let column = columns(&ask.label) + 3 + ask_text(ask, width).1;
        put_cursor(frame, area, column, ask_row);
    } else if parts.list > 0 && overlay.selected_entry().is_some() {
        // The cursor tells the selected entry to readers of the screen.
        let first = first_entry(overlay, parts.list);
        put_cursor(frame, area, 0, 1 + overlay.selected - first);
    }
}

fn put_cursor(frame: &mut Frame<'_>, area: Rect, column: usize, row: usize) {
    let inside = |place: usize, room: u16| u16::try_from(place).unwrap_or(u16::MAX).min(room - 1);
    frame.set_cursor_position(Position::new(
        area.x + inside(column, area.width),
        area.y + inside(row, area.height),
    ));
}

/// Returns the part of an answer that fits beside its label, with the column of the cursor in it. The end of a long
/// answer is shown up to the cursor.
fn ask_text(ask: &Ask, width: usize) -> (String, usize) {
    let room = width.saturating_sub(columns(&ask.label) + 3).max(2);
    let laid = ask.draft.layout(room);
    let (row, column) = laid.cursor;
    let line = laid.lines.get(row).cloned().unwrap_or_default();
    (line, column)
}

/// Index of the first entry that a list of this height shows.
const fn first_entry(overlay: &Overlay, height: usize) -> usize {
    overlay.selected.saturating_sub(height.saturating_sub(1))
}

fn title(model: &Model, overlay: &Overlay, width: usize) -> Line<'static> {
    let name = clean_line(&overlay.page.title());
    let state = match &overlay.load {
        Load::Loading => "reading…".to_owned(),
        Load::Failed(_) if overlay.entries.is_empty() => "cannot be read".to_owned(),
        Load::Failed(reason) => clean_line(reason),
        Load::Ready if overlay.page.filters() && !overlay.filter.is_empty() => {
            format!("filter: {}", clean_line(&overlay.filter))
        }
        Load::Ready if matches!(overlay.page, Page::Usage | Page::Budgets) => {
            "all agents".to_owned()
        }
        Load::Ready => clean_line(model.agent.as_str()),
    };
    let style = match overlay.load {
        Load::Failed(_) => model.theme.alert(),
        Load::Loading | Load::Ready => model.theme.faint(),
    };
    let head = format!("── {name} ");
    let rest = width.saturating_sub(columns(&head) + columns(&state) + 2);
    Line::from(vec![
        Span::styled(head, model.theme.strong()),
        Span::styled(state, style),
        Span::styled(format!(" {}", "─".repeat(rest)), model.theme.faint()),
    ])
}

fn list(overlay: &Overlay, theme: Theme, height: usize) -> Vec<Line<'static>> {
    let first = first_entry(overlay, height);
    let mut lines: Vec<Line<'static>> = overlay
        .shown()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(index, entry)| {
            let style = if index == overlay.selected {
                theme.selected()
            } else {
                tone(entry.tone, theme)
            };
            Line::styled(format!(" {}", clean_label(&entry.label)), style)
        })
        .collect();
    lines.resize(height, Line::default());
    lines
}

/// Makes a label drawable. Its spaces are kept: they are columns and depths.
fn clean_label(label: &str) -> String {
    clean(label).replace('\n', " ")
}

fn tone(tone: Tone, theme: Theme) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Good => theme.good(),
        Tone::Bad => theme.alert(),
        Tone::Faint => theme.faint(),
    }
}

/// Makes the lines of the detail.
fn detail(model: &Model, overlay: &Overlay, width: usize) -> Vec<Line<'static>> {
    let theme = model.theme;
    if let Some(follow) = &overlay.follow {
        let mut lines = vec![Line::styled(
            format!("output of {}", clean_line(&follow.task)),
            theme.faint(),
        )];
        let before = follow.bytes_before();
        if before > 0 {
            let note = format!("({before} bytes stand before; PgUp at the top reads them)");
            lines.push(Line::styled(note, theme.faint()));
        }
        lines.extend(plain(&follow.output, theme, width));
        let state = match &follow.ended {
            Some(ended) => clean_line(ended),
            None => "… the task runs; i writes to it, x stops it".to_owned(),
        };
        lines.push(Line::styled(state, theme.strong()));
        return lines;
    }
    let Some(entry) = overlay.selected_entry() else {
        return match &overlay.load {
            Load::Failed(reason) if overlay.entries.is_empty() => {
                wrap(&Line::styled(clean_line(reason), theme.alert()), width, 0)
            }
            _ => Vec::new(),
        };
    };
    if overlay.page == Page::Events {
        return plain(&selected_event(model, entry), theme, width);
    }
    if let Some(source) = &entry.markdown_of {
        return markdown::render(&entry.detail, theme, width, source);
    }
    let chart = titled_bars(entry.chart_of, &entry.chart, width, BarStyle::Blocks);
    let mut lines: Vec<Line<'static>> = chart.into_iter().map(Line::from).collect();
    if let Some(head) = lines.first_mut().filter(|_| !entry.chart.is_empty()) {
        head.style = theme.faint();
    }
    lines.extend(plain(&entry.detail, theme, width));
    lines
}

fn selected_event(model: &Model, entry: &Entry) -> String {
    let seq: u64 = entry.id.parse().unwrap_or(0);
    let events = model.conversation.events();
    let at = events.partition_point(|event| event.event_seq < seq);
    let event = events.get(at).filter(|event| event.event_seq == seq);
    event.map_or_else(
        || "this event is not kept any more".to_owned(),
        event_detail,
    )
}

/// Columns by which the rest of a long line is indented: under the value of a fact, or a little deeper than the line.
fn hang(line: &str) -> usize {
    let is_fact = !line.starts_with(' ')
        && line.get(..FACT).is_some_and(|name| name.ends_with(' '))
        && line
            .get(FACT..)
            .is_some_and(|value| !value.starts_with(' '));
    if is_fact {
        return FACT;
    }
    columns(line).saturating_sub(columns(line.trim_start())) + 2
}

fn plain(text: &str, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let text = clean(text);
    let is_diff = is_diff(&text);
    text.lines()
        .flat_map(|line| {
            let style = if is_diff {
                theme.diff_line(line)
            } else {
                Style::new()
            };
            wrap(&Line::styled(line, style), width, hang(line))
        })
        .collect()
}
