//! The conversation as one long column of lines, of which only the shown ones are made.
//!
//! The column has one block per row, and a tail: the text that is arriving and the messages that are being sent.

use super::row::{Canvas, stands_apart};
use crate::conversation::Row;
use crate::model::{Model, Scroll};
use holon_presentation::Role;
use ratatui::text::Line;
use std::collections::VecDeque;
use std::ops::Range;

/// Position that stands for the tail.
const TAIL: u64 = u64::MAX;

/// A model and the width its conversation is drawn in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow<'a> {
    canvas: Canvas<'a>,
}

/// A line: index of its block, and its index inside.
type Place = (usize, usize);

impl<'a> Flow<'a> {
    pub(crate) fn of(model: &'a Model) -> Self {
        let width = usize::from(model.columns);
        Self {
            canvas: Canvas { model, width },
        }
    }

    const fn rows(&self) -> &'a VecDeque<Row> {
        self.canvas.model.conversation.rows()
    }

    /// Index of the tail.
    fn tail(&self) -> usize {
        self.rows().len()
    }

    fn block(&self, index: usize) -> Vec<Line<'static>> {
        let rows = self.rows();
        let Some(row) = rows.get(index) else {
            return self.tail_lines();
        };
        let before = index.checked_sub(1).and_then(|before| rows.get(before));
        let gap = before.is_some_and(|before| stands_apart(before) || stands_apart(row));
        let mut lines = Vec::new();
        lines.extend(gap.then(Line::default));
        lines.extend(self.canvas.row(row));
        lines
    }

    fn tail_lines(&self) -> Vec<Line<'static>> {
        let model = self.canvas.model;
        let mut lines = Vec::new();
        let live = model.conversation.live_item();
        // Other activity stands on the line above the composer.
        if let Some(live) =
            live.filter(|live| live.role == Role::AssistantProgress && live.event_count == 0)
        {
            lines.push(Line::default());
            lines.extend(self.canvas.item(&live));
        }
        for pending in model.pending.iter().filter(|one| one.agent == model.agent) {
            lines.push(Line::default());
            lines.extend(self.canvas.pending(pending));
        }
        lines
    }

    /// Rows that a screen of this height may show. Each has a line at least.
    pub(crate) fn near(&self, scroll: Scroll, height: usize) -> Range<usize> {
        let (last, _) = self.place(scroll);
        let end = last.saturating_add(height).min(self.tail());
        last.saturating_sub(height).min(end)..end
    }

    /// Finds the last line that is shown.
    fn place(&self, scroll: Scroll) -> Place {
        match scroll {
            Scroll::Bottom => (self.tail(), usize::MAX),
            Scroll::At { seq: TAIL, line } => (self.tail(), line),
            Scroll::At { seq, line } => {
                let index = self.rows().partition_point(|row| row.seq < seq);
                (index, line)
            }
        }
    }

    fn scroll(&self, (index, line): Place) -> Scroll {
        match self.rows().get(index) {
            Some(row) => Scroll::At { seq: row.seq, line },
            None => Scroll::At { seq: TAIL, line },
        }
    }

    /// Returns the lines that are shown, at most `height`.
    pub(crate) fn window(&self, scroll: Scroll, height: usize) -> Vec<Line<'static>> {
        let mut shown: VecDeque<Line<'static>> = VecDeque::new();
        let (last, line) = self.place(scroll);
        let mut below = Vec::new();
        for index in (0..=last).rev() {
            let mut lines = self.block(index);
            if index == last && line < lines.len() {
                below = lines.split_off(line + 1);
            }
            for line in lines.into_iter().rev() {
                if shown.len() < height {
                    shown.push_front(line);
                }
            }
            if shown.len() >= height {
                break;
            }
        }
        // Near the top, the rest of the screen shows what follows.
        let mut next = last + 1;
        while shown.len() < height {
            let missing = height - shown.len();
            shown.extend(below.drain(..missing.min(below.len())));
            if shown.len() < height && next <= self.tail() {
                below = self.block(next);
                next += 1;
            } else if below.is_empty() {
                break;
            }
        }
        shown.into()
    }

    /// Returns the place this many lines above, and true if it is the top.
    pub(crate) fn up(&self, scroll: Scroll, lines: usize, height: usize) -> (Scroll, bool) {
        let Some(top) = self.top(height) else {
            return (Scroll::Bottom, true);
        };
        let mut place = self.place(scroll);
        let mut left = lines;
        while left > 0 && place > top && lines < usize::MAX {
            let count = self.block(place.0).len();
            let line = place.1.min(count.saturating_sub(1));
            if count > 0 && line >= left {
                place = (place.0, line - left);
                break;
            }
            left -= if count == 0 { 0 } else { (line + 1).min(left) };
            match place.0.checked_sub(1) {
                Some(index) => place = (index, usize::MAX),
                None => break,
            }
            if left == 0 {
                let count = self.block(place.0).len();
                place.1 = count.saturating_sub(1);
            }
        }
        if place <= top || lines == usize::MAX {
            (self.scroll(top), true)
        } else {
            (self.scroll(place), false)
        }
    }

    /// Returns the last shown line when the screen shows the first one; `None` if everything fits on the screen.
    fn top(&self, height: usize) -> Option<Place> {
        if height == 0 {
            return None;
        }
        let mut seen = 0;
        for index in 0..=self.tail() {
            let count = self.block(index).len();
            if seen + count >= height {
                let line = height - seen - 1;
                let is_end = index == self.tail() && line + 1 >= count;
                return (!is_end).then_some((index, line));
            }
            seen += count;
        }
        None
    }

    /// Returns the place this many lines below.
    pub(crate) fn down(&self, scroll: Scroll, lines: usize) -> Scroll {
        let (mut index, mut line) = self.place(scroll);
        let mut left = lines;
        loop {
            let count = self.block(index).len();
            let rest = count.saturating_sub(line.saturating_add(1));
            if left <= rest {
                let place = (index, line.saturating_add(left));
                let is_end = index == self.tail() && left == rest;
                return if is_end {
                    Scroll::Bottom
                } else {
                    self.scroll(place)
                };
            }
            left -= rest;
            if index >= self.tail() {
                return Scroll::Bottom;
            }
            index += 1;
            // The first line of the next block is one line further.
            if self.block(index).is_empty() {
                continue;
            }
            line = 0;
            left -= 1;
        }
    }
}
