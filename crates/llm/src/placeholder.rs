//! `{{name}}` placeholders in scripted text: one grammar for validation and for filling in.
//!
//! A text is filled in one pass, so inserted text is never read as a placeholder itself. `\{{` stands for two literal
//! braces.

use std::str::FromStr;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const ESCAPED_OPEN: &str = "\\{{";

/// Kind of an id that only the runtime can assign. Its placeholder may be an argument of a call, but not part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    Task,
    WorkItem,
    Wait,
    Timer,
}

impl IdKind {
    const ALL: [Self; 4] = [Self::Task, Self::WorkItem, Self::Wait, Self::Timer];

    /// Name of the placeholder for the newest id of this kind.
    pub(crate) const fn placeholder(self) -> &'static str {
        match self {
            Self::Task => "task_id",
            Self::WorkItem => "work_item_id",
            Self::Wait => "wait_id",
            Self::Timer => "timer_id",
        }
    }

    /// Prefix of ids of this kind.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Task => "task_",
            Self::WorkItem => "work_",
            Self::Wait => "wait_",
            Self::Timer => "timer_",
        }
    }

    /// Returns the kind whose placeholder this argument of a call is.
    pub(crate) fn of_argument(words: &str) -> Option<Self> {
        let name = words.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
        Self::ALL
            .into_iter()
            .find(|kind| kind.placeholder() == name)
    }
}

/// Meaning of a placeholder in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placeholder {
    /// The block that holds the current input.
    Input,
    /// The last tool result of the conversation.
    ToolResult,
    /// Id of the agent whose turn it is.
    AgentId,
    /// The id of this kind that was named last.
    Newest(IdKind),
}

impl FromStr for Placeholder {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name.trim() {
            "input" => Ok(Self::Input),
            "tool_result" => Ok(Self::ToolResult),
            "agent_id" => Ok(Self::AgentId),
            other => {
                let kind = IdKind::ALL
                    .into_iter()
                    .find(|kind| kind.placeholder() == other);
                kind.map(Self::Newest).ok_or_else(|| {
                    format!(
                        "unknown placeholder {{{{{other}}}}}; known are {{{{input}}}}, {{{{tool_result}}}}, \
                         {{{{agent_id}}}}, {{{{task_id}}}}, {{{{work_item_id}}}}, {{{{wait_id}}}} and {{{{timer_id}}}}, \
                         and \\{{{{ writes two literal braces"
                    )
                })
            }
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text that is copied unchanged.
    Literal(&'a str),
    /// A placeholder to fill in.
    Hole(Placeholder),
}

/// Splits a text into literals and placeholders, in order.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        if let Some(before) = before.strip_suffix('\\') {
            pieces.extend([Piece::Literal(before), Piece::Literal(OPEN)]);
            rest = after;
            continue;
        }
        let Some((name, after)) = after.split_once(CLOSE) else {
            return Err(format!(
                "a placeholder opens with {OPEN} and is never closed; write {ESCAPED_OPEN} for two literal braces"
            ));
        };
        pieces.extend([Piece::Literal(before), Piece::Hole(name.parse()?)]);
        rest = after;
    }
    pieces.push(Piece::Literal(rest));
    Ok(pieces)
}

/// Fills in a text; `None` if the result would exceed `max_bytes`.
pub(crate) fn fill<'a>(
    pieces: &[Piece<'a>],
    value: impl Fn(Placeholder) -> &'a str,
    max_bytes: usize,
) -> Option<String> {
    let mut filled = String::new();
    for piece in pieces {
        let words = match *piece {
            Piece::Literal(words) => words,
            Piece::Hole(placeholder) => value(placeholder),
        };
        if filled.len().saturating_add(words.len()) > max_bytes {
            return None;
        }
        filled.push_str(words);
    }
    Some(filled)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn fill_all(text: &str) -> Option<String> {
        let value = |placeholder| match placeholder {
            Placeholder::Input => "{{agent_id}}",
            Placeholder::ToolResult => "42",
            Placeholder::AgentId => "main",
            Placeholder::Newest(kind) => kind.prefix(),
        };
        fill(&pieces(text).unwrap(), value, 64)
    }

    #[test]
    fn known_placeholders_are_filled_in_and_their_content_is_left_alone() {
        assert_eq!(
            fill_all("a {{tool_result}} b {{ agent_id }}").unwrap(),
            "a 42 b main"
        );
        assert_eq!(fill_all("{{input}}").unwrap(), "{{agent_id}}");
        assert_eq!(
            fill_all("{{work_item_id}}{{timer_id}}").unwrap(),
            "work_timer_"
        );
        assert_eq!(fill_all("none").unwrap(), "none");
    }

    #[test]
    fn a_backslash_makes_braces_literal() {
        assert_eq!(
            fill_all(r"\{{.State}} of {{agent_id}}").unwrap(),
            "{{.State}} of main"
        );
    }

    #[test]
    fn unknown_and_unclosed_placeholders_are_refused_by_name() {
        assert!(pieces("{{inptu}}").unwrap_err().contains("{{inptu}}"));
        assert!(pieces("a {{input").unwrap_err().contains("never closed"));
    }

    #[test]
    fn a_text_that_would_pass_the_bound_is_not_built() {
        assert_eq!(fill_all(&"{{input}}".repeat(6)), None);
    }
}
