//! The composer: the draft with its cursor, always at the same place.

use crate::model::Model;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Columns of the sign before the text.
const SIGN: u16 = 2;

/// Columns that the text of the draft may take.
pub(super) fn text_width(columns: u16) -> usize {
    usize::from(columns.saturating_sub(SIGN))
}

pub(super) fn draw(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    let theme = model.theme;
    let has_border = model.rows >= 8;
    let mut lines = Vec::new();
    if has_border {
        let rule = "─".repeat(usize::from(area.width));
        lines.push(Line::styled(rule, theme.faint()));
    }
    let laid = model.draft.layout(text_width(area.width));
    let room = usize::from(area.height).saturating_sub(lines.len()).max(1);
    let first = laid.cursor.0.saturating_sub(room - 1);
    if model.draft.is_empty() {
        let hint = format!("message to {}", model.agent.as_str());
        lines.push(Line::from(vec![
            Span::styled("❯ ", theme.strong()),
            Span::styled(hint, theme.faint()),
        ]));
    } else {
        let shown = laid.lines.iter().enumerate().skip(first).take(room);
        lines.extend(shown.map(|(index, text)| {
            let sign = if index == 0 { "❯ " } else { "  " };
            Line::from(vec![
                Span::styled(sign, theme.strong()),
                Span::raw(text.clone()),
            ])
        }));
    }
    frame.render_widget(Paragraph::new(lines), area);
    if model.overlays.is_empty() {
        let row = u16::try_from(laid.cursor.0 - first).unwrap_or(0) + u16::from(has_border);
        let column = u16::try_from(laid.cursor.1)
            .unwrap_or(0)
            .saturating_add(SIGN);
        frame.set_cursor_position(Position::new(
            area.x + column.min(area.width - 1),
            area.y + row.min(area.height - 1),
        ));
    }
}
