//! Markdown as styled lines of a width. Text that is no markdown stays as it is.

mod depth;
mod highlight;
mod table;

pub(crate) use highlight::CodeKind;

use crate::text::{clean, not_shown};
use crate::theme::{Theme, is_diff};
use crate::wrap::wrap;
use depth::BoundedText;
use holon_domain::text::prefix;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use table::Table;

/// Most bytes of a text that are read as markdown. A longer text is cut with a note.
const MARKDOWN_BYTES: usize = 64 << 10;
/// Most lines that are made of one text.
const LINES: usize = 2_000;
/// Levels of lists and quotes that are drawn. What is deeper stands at the last one.
const DEPTH: usize = 8;
/// Columns by which a block of code and the items of a list are indented.
const INDENT: usize = 2;

/// Renders a text in lines of at most `width` columns. What it costs is bounded, whatever the text is: a frame waits for
/// it, and a key for the frame. A text that is cut names `source`, the command that prints all of it.
pub(crate) fn render(text: &str, theme: Theme, width: usize, source: &str) -> Vec<Line<'static>> {
    let text = text.trim_end();
    let kept = prefix(text, MARKDOWN_BYTES);
    let left = text.len() - kept.len();
    let cleaned = clean(kept);
    let bounded = BoundedText::new(&cleaned);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(theme, width);
    for (event, place) in Parser::new_ext(bounded.text(), options).into_offset_iter() {
        writer.take(bounded.as_written(event, &place));
        if writer.is_full() {
            break;
        }
    }
    let is_cut = writer.is_full();
    let mut lines = writer.finish();
    let note = if is_cut {
        lines.truncate(LINES);
        Some(not_shown("more lines are", source))
    } else {
        (left > 0).then(|| not_shown(&format!("{left} more bytes are"), source))
    };
    lines.extend(note.map(|note| Line::styled(note, theme.faint())));
    lines
}

/// A block of code.
#[derive(Debug)]
struct Code {
    /// Name of its language; empty if it has none.
    language: String,
    text: String,
}

/// A list that is open, with the number of its next item if its items are numbered.
type OpenList = Option<u64>;

#[derive(Debug)]
struct Writer {
    theme: Theme,
    width: usize,
    lines: Vec<Line<'static>>,
    /// Parts of the line that is being written.
    spans: Vec<Span<'static>>,
    /// Styles of the open inline elements, outermost first, each with those around it.
    styles: Vec<Style>,
    lists: Vec<OpenList>,
    quotes: usize,
    /// Mark of the list item that begins, until its first line is written.
    marker: Option<String>,
    /// Open block of code.
    code: Option<Code>,
    table: Option<Table>,
    /// Target of the open link.
    link: Option<String>,
}

impl Writer {
    const fn new(theme: Theme, width: usize) -> Self {
        Self {
            theme,
            width,
            lines: Vec::new(),
            spans: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            quotes: 0,
            marker: None,
            code: None,
            table: None,
            link: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                let style = self.style().patch(self.theme.code());
                self.push(&code, style);
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            // A line end inside a paragraph is kept: models use it to begin a line.
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.width.saturating_sub(self.indent()));
                self.push(&rule, self.theme.faint());
                self.end_line();
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "[x] " } else { "[ ] " }, self.theme.strong());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => self.begin_heading(level),
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.code = Some(Code {
                    language: match kind {
                        CodeBlockKind::Fenced(name) => name.to_lowercase(),
                        CodeBlockKind::Indented => String::new(),
                    },
                    text: String::new(),
                });
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.end_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(Table::default());
            }
            Tag::Emphasis => self.open(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.open(self.theme.strong()),
            Tag::Strikethrough => self.open(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
                self.open(self.theme.link());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.end_line(),
            TagEnd::Heading(_) => {
                self.end_line();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => {
                let spans = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.add_cell(spans);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn open(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    /// Returns true once there are as many lines as one text may have.
    fn is_full(&self) -> bool {
        let rows = self.table.as_ref().map_or(0, Table::len);
        self.lines.len() + rows > LINES
    }

    fn push(&mut self, text: &str, style: Style) {
        self.spans.push(Span::styled(text.to_owned(), style));
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        let style = self.style();
        let mut parts = text.split('\n');
        if let Some(first) = parts.next() {
            self.push(first, style);
        }
        for part in parts {
            self.end_line();
            self.push(part, style);
        }
    }

    /// Quotes around the line, and columns by which its list is indented.
    fn nesting(&self) -> (usize, usize) {
        let quotes = self.quotes.min(DEPTH);
        let lists = self.lists.len().min(DEPTH);
        (quotes, lists.saturating_sub(1) * INDENT)
    }

    fn indent(&self) -> usize {
        let (quotes, nested) = self.nesting();
        quotes * INDENT + nested
    }

    /// Separates a block from the one before it by an empty line, outside of lists.
    fn begin_block(&mut self) {
        self.end_line();
        let is_apart = self.lines.last().is_none_or(|line| line.width() == 0);
        if self.lists.is_empty() && !is_apart {
            self.lines.push(Line::default());
        }
    }

    fn begin_heading(&mut self, level: HeadingLevel) {
        self.begin_block();
        let style = match level {
            HeadingLevel::H1 => self.theme.heading().add_modifier(Modifier::UNDERLINED),
            _ => self.theme.heading(),
        };
        self.open(style);
    }

    fn begin_item(&mut self) {
        self.end_line();
        self.marker = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        });
    }

    /// Writes the line that is being written, if there is one.
    fn end_line(&mut self) {
        if self.spans.is_empty() && self.marker.is_none() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let mark = self.marker.take();
        let mut head: Vec<Span<'static>> = Vec::new();
        let (quotes, nested) = self.nesting();
        head.extend((0..quotes).map(|_| Span::styled("▏ ", self.theme.faint())));
        head.push(Span::raw(" ".repeat(nested)));
        let hang = match mark {
            Some(mark) => {
                let columns = crate::text::columns(&mark);
                head.push(Span::styled(mark, self.theme.faint()));
                columns
            }
            None if !self.lists.is_empty() => {
                head.push(Span::raw(" ".repeat(INDENT)));
                INDENT
            }
            None => 0,
        };
        let hang = self.indent() + hang;
        let line = Line::from_iter(head.into_iter().chain(spans));
        self.lines.extend(wrap(&line, self.width, hang));
    }

    fn end_code(&mut self) {
        let Some(Code { language, text }) = self.code.take() else {
            return;
        };
        let is_diff = matches!(language.as_str(), "diff" | "patch") || is_diff(&text);
        let parts = match is_diff || !self.theme.has_colour() {
            true => None,
            false => highlight::parts(&language, &text),
        };
        let mut parts = parts.unwrap_or_default().into_iter();
        let indent = self.indent() + INDENT;
        for text in text.trim_end_matches('\n').split('\n') {
            let mut spans = vec![Span::raw(" ".repeat(indent))];
            let parts = parts.next().unwrap_or_default();
            if is_diff {
                spans.push(Span::styled(text.to_owned(), self.theme.diff_line(text)));
            } else if parts.is_empty() {
                spans.push(Span::styled(text.to_owned(), self.theme.code()));
            } else {
                let pieces = parts.into_iter();
                let piece = |(range, kind): (std::ops::Range<usize>, CodeKind)| {
                    let piece = text.get(range).unwrap_or_default();
                    Span::styled(piece.to_owned(), self.theme.code_kind(kind))
                };
                spans.extend(pieces.map(piece));
            }
            self.lines
                .extend(wrap(&Line::from(spans), self.width, indent));
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            for line in table.into_lines(self.theme) {
                self.lines.extend(wrap(&line, self.width, INDENT));
            }
        }
    }

    /// Shows the target of a link behind its text, unless they are the same.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.link.take() else {
            return;
        };
        let is_shown = self.spans.last().is_some_and(|span| span.content == target);
        if !is_shown && !target.is_empty() {
            self.push(&format!(" ({target})"), self.theme.faint());
        }
    }

    /// Ends the text, also inside a table if there is no room for the rest of it.
    fn finish(mut self) -> Vec<Line<'static>> {
        self.end_table();
        self.end_line();
        if self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines
    }
}

#[cfg(test)]
mod tests;
