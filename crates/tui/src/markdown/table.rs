//! A table of markdown: cells in columns as wide as their widest cell.

use crate::text::columns;
use crate::theme::Theme;
use ratatui::text::{Line, Span};

/// Columns to which a cell is filled up, at most. One wide cell does not widen all others of its column by more.
const CELL_COLUMNS: usize = 60;

type Cell = Vec<Span<'static>>;

/// Rows that were read so far. The first is the head.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl Table {
    pub(super) fn add_cell(&mut self, cell: Cell) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Number of rows that were read.
    pub(super) const fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn into_lines(self, theme: Theme) -> Vec<Line<'static>> {
        let widths = self.widths();
        let mut lines = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            let mut spans = Vec::new();
            for (cell, width) in row.into_iter().zip(&widths) {
                let pad = width.saturating_sub(cell_columns(&cell)) + 2;
                spans.extend(cell);
                spans.push(Span::raw(" ".repeat(pad)));
            }
            let style = if index == 0 {
                theme.strong()
            } else {
                ratatui::style::Style::new()
            };
            lines.push(Line::from(spans).style(style));
            if index == 0 {
                let total = widths.iter().map(|width| width + 2).sum::<usize>();
                let rule = "─".repeat(total.saturating_sub(2));
                lines.push(Line::styled(rule, theme.faint()));
            }
        }
        lines
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let widest = cells.map(|cell| cell_columns(cell)).max();
                widest.unwrap_or(0).min(CELL_COLUMNS)
            })
            .collect()
    }
}

fn cell_columns(cell: &[Span<'static>]) -> usize {
    cell.iter().map(|span| columns(&span.content)).sum()
}
