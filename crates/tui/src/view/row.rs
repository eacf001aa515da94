//! One row of the conversation as lines.

use crate::conversation::{Content, Conversation, Kept, Row};
use crate::markdown;
use crate::model::{Model, Pending};
use crate::text::{TRANSCRIPT, clean, clean_line, time_of_day};
use crate::theme::{Theme, is_diff};
use crate::wrap::{wrap, wrap_text};
use holon_presentation::text::BODY_BYTES;
use holon_presentation::{Category, DisplayMode, Item, Role};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns by which the text of a row is indented.
const INDENT: usize = 2;
/// Lines of a body that a row shows, apart from results.
const BODY_LINES: usize = 16;

/// What rows are drawn with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canvas<'a> {
    pub(super) model: &'a Model,
    pub(super) width: usize,
}

impl Canvas<'_> {
    const fn theme(&self) -> Theme {
        self.model.theme
    }

    const fn conversation(&self) -> &Conversation {
        &self.model.conversation
    }

    fn text_width(&self) -> usize {
        self.width.saturating_sub(INDENT).max(1)
    }

    pub(super) fn row(&self, row: &Row) -> Vec<Line<'static>> {
        match &row.content {
            Content::Message {
                message_id,
                joined,
                turn,
            } => {
                let conversation = self.conversation();
                let absent = match turn {
                    _ if conversation.is_gone(message_id) => {
                        "(the host has no text of it any more)"
                    }
                    None => "… (queued; its text is shown once the agent takes it up)",
                    Some(_) => "…",
                };
                let text = conversation.message_text(message_id);
                let text = text.map_or_else(|| absent.to_owned(), |text| text.shown(BODY_BYTES));
                let joined = if *joined { "into the running turn" } else { "" };
                self.message(
                    &text,
                    &["You", &time_of_day(row.at, self.model.zone()), joined],
                )
            }
            Content::Item(item) => self.item(item),
        }
    }

    /// Draws a message that the host has not stored yet.
    pub(super) fn pending(&self, pending: &Pending) -> Vec<Line<'static>> {
        let state = match (&pending.message_id, pending.unknown_at) {
            (Some(_), _) => "sent",
            (None, None) => "sending",
            (None, Some(_)) => "no answer; it is sent again under the same key",
        };
        let text = Kept::of(&pending.text).shown(BODY_BYTES);
        self.message(&text, &["You", state])
    }

    fn message(&self, text: &str, words: &[&str]) -> Vec<Line<'static>> {
        let style = self.theme().role(Role::UserMessage);
        let mut lines = vec![self.heading(words, style)];
        let body = wrap_text(&clean(text), Style::new(), self.text_width(), 0);
        lines.extend(self.indented(body, "▌ ", style));
        lines
    }

    fn heading(&self, words: &[&str], style: Style) -> Line<'static> {
        let mut words = words.iter().filter(|word| !word.is_empty());
        let first = words.next().copied().unwrap_or_default();
        let mut spans = vec![Span::styled(clean_line(first), style)];
        spans
            .extend(words.map(|word| {
                Span::styled(format!(" · {}", clean_line(word)), self.theme().faint())
            }));
        Line::from(spans)
    }

    /// Puts a sign and spaces before lines.
    fn indented(
        &self,
        lines: Vec<Line<'static>>,
        sign: &'static str,
        style: Style,
    ) -> impl Iterator<Item = Line<'static>> {
        lines.into_iter().map(move |mut line| {
            line.spans.insert(0, Span::styled(sign, style));
            line
        })
    }

    pub(super) fn item(&self, item: &Item) -> Vec<Line<'static>> {
        let mut lines = match (item.role, item.presentation.category) {
            (Role::AssistantResult, _) | (_, Category::Brief) => self.result(item),
            (Role::UserMessage, _) => {
                let words = &item.presentation;
                let body = words.body.as_deref().unwrap_or_default();
                self.message(
                    body,
                    &[&words.title, &time_of_day(item.at, self.model.zone())],
                )
            }
            (Role::AssistantProgress, _) => self.progress(item),
            (Role::Activity | Role::Alert | Role::Detail, _) => self.step(item),
        };
        if self.conversation().mode() == DisplayMode::Debug {
            lines.extend(self.details(item));
        }
        lines
    }

    /// Draws a text for the operator: a result, a failure, or a question.
    fn result(&self, item: &Item) -> Vec<Line<'static>> {
        let words = &item.presentation;
        let style = self.theme().role(item.role);
        let speaker = self.model.agent.as_str();
        let mut lines = vec![self.heading(
            &[
                speaker,
                &words.title,
                &time_of_day(item.at, self.model.zone()),
            ],
            style,
        )];
        let whole = self.conversation().brief_text(item);
        let text = whole
            .as_deref()
            .or(words.body.as_deref())
            .unwrap_or(&words.title);
        let body = markdown::render(text, self.theme(), self.text_width(), TRANSCRIPT);
        lines.extend(self.indented(body, "  ", Style::new()));
        lines
    }

    /// Draws text of the model inside a turn, also while it arrives.
    fn progress(&self, item: &Item) -> Vec<Line<'static>> {
        let style = self.theme().role(item.role);
        let text = item.presentation.body.as_deref().unwrap_or_default();
        let mut body = markdown::render(text, self.theme(), self.text_width(), TRANSCRIPT);
        let mut lines: Vec<Line<'static>> = Vec::new();
        if !body.is_empty() {
            lines.extend(self.indented(vec![body.remove(0)], "○ ", style));
        }
        lines.extend(self.indented(body, "  ", style));
        lines
    }

    /// Draws a step of the agent's work, an alert or a detail: its title, and its body in one or a few lines.
    fn step(&self, item: &Item) -> Vec<Line<'static>> {
        let words = &item.presentation;
        let style = self.theme().role(item.role);
        let sign = match item.role {
            Role::Alert => "! ",
            Role::Detail => "· ",
            _ => "• ",
        };
        let body = words.body.as_deref().unwrap_or_default();
        let mut spans = vec![
            Span::styled(sign, style),
            Span::styled(clean_line(&words.title), style),
        ];
        if body.contains('\n') {
            let mut lines = wrap(&Line::from(spans), self.width, INDENT);
            lines.extend(self.body(body));
            return lines;
        }
        if !body.is_empty() {
            let style = if item.role == Role::Detail {
                style
            } else {
                Style::new()
            };
            spans.push(Span::styled(format!("  {}", clean_line(body)), style));
        }
        wrap(&Line::from(spans), self.width, INDENT)
    }

    /// Draws the first lines of a body, a diff in colours.
    fn body(&self, body: &str) -> Vec<Line<'static>> {
        let body = clean(body);
        let is_diff = is_diff(&body);
        let all = body.lines().count();
        let mut lines = Vec::new();
        for text in body.lines().take(BODY_LINES) {
            let style = if is_diff {
                self.theme().diff_line(text)
            } else {
                Style::new()
            };
            lines.extend(wrap(
                &Line::styled(text, style),
                self.text_width().saturating_sub(INDENT),
                INDENT,
            ));
        }
        let more = all.saturating_sub(BODY_LINES);
        if more > 0 {
            let note = format!("({more} more lines; /transcript has them)");
            lines.push(Line::styled(note, self.theme().faint()));
        }
        self.indented(lines, "    ", Style::new()).collect()
    }

    fn details(&self, item: &Item) -> Vec<Line<'static>> {
        if item.details.is_empty() {
            return Vec::new();
        }
        let details = item.details.iter();
        let words: Vec<String> = details
            .map(|one| format!("{} {}", one.name, one.value))
            .collect();
        let line = Line::styled(
            format!("    {}", clean_line(&words.join(" · "))),
            self.theme().faint(),
        );
        wrap(&line, self.width, INDENT + INDENT)
    }
}

/// Returns true for rows that stand apart from their neighbours by an empty line.
pub(super) fn stands_apart(row: &Row) -> bool {
    match &row.content {
        Content::Message { .. } => true,
        Content::Item(item) => {
            item.presentation.category == Category::Brief
                || matches!(item.role, Role::AssistantResult | Role::UserMessage)
        }
    }
}
