//! Colours of rows on a terminal.
//!
//! Colour is added to text whose control characters are already visible, so that the only control sequences that reach
//! the terminal are the ones written here.

use crate::render::row::Row;
use holon_config::{Color, Env};
use holon_presentation::Role;
use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;

const RESET: &str = "\u{1b}[0m";
const DIM: &str = "\u{1b}[2m";

/// Returns true if standard output is a terminal that shows colours, and the user has not turned them off.
pub(crate) fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| {
        io::stdout().is_terminal() && Color::of_terminal(&Env::from_process()) == Color::Auto
    })
}

const fn color_of(role: Role) -> &'static str {
    match role {
        Role::UserMessage => "\u{1b}[36m",
        Role::AssistantResult => "\u{1b}[1;32m",
        Role::AssistantProgress => "\u{1b}[32m",
        Role::Activity => "\u{1b}[1m",
        Role::Alert => "\u{1b}[1;31m",
        Role::Detail => DIM,
    }
}

/// Colours the time and the title at the beginning of a row. `words` is the text of the row, perhaps wrapped; if the
/// wrapping broke the title, the row stays plain.
pub(crate) fn paint(row: &Row, words: &str) -> String {
    let rest = words
        .strip_prefix(&row.time)
        .and_then(|rest| rest.strip_prefix(' '))
        .and_then(|rest| rest.strip_prefix(&row.title));
    match rest {
        Some(rest) => format!(
            "{DIM}{}{RESET} {}{}{RESET}{rest}",
            row.time,
            color_of(row.role),
            row.title
        ),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_and_the_title_are_coloured() {
        let row = Row {
            role: Role::Alert,
            time: "then".into(),
            title: "Failed".into(),
            text: "then Failed: it\nbroke".into(),
        };
        assert_eq!(
            paint(&row, &row.text),
            "\u{1b}[2mthen\u{1b}[0m \u{1b}[1;31mFailed\u{1b}[0m: it\nbroke"
        );
        assert_eq!(paint(&row, "then\n    Failed: it"), "then\n    Failed: it");
    }
}
