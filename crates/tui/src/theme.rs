//! Styles of the parts of the screen.
//!
//! Only the terminal's own sixteen colours are used, and never a background, so that the screen is readable on a light
//! and on a dark terminal. Without colour, bold, dim and reverse alone tell the parts apart.

use crate::markdown::CodeKind;
use holon_presentation::Role;
use ratatui::style::{Color, Modifier, Style};

/// The styles of one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    has_colour: bool,
}

impl Theme {
    /// Creates the styles of a terminal with or without colour.
    #[must_use]
    pub const fn new(has_colour: bool) -> Self {
        Self { has_colour }
    }

    pub(crate) const fn has_colour(self) -> bool {
        self.has_colour
    }

    fn paint(self, color: Color) -> Style {
        if self.has_colour {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    pub(crate) fn role(self, role: Role) -> Style {
        match role {
            Role::UserMessage => self.paint(Color::Cyan).add_modifier(Modifier::BOLD),
            Role::AssistantResult => self.paint(Color::Green).add_modifier(Modifier::BOLD),
            Role::AssistantProgress => self.paint(Color::Green),
            Role::Activity => self.paint(Color::Blue),
            Role::Alert => self.alert(),
            Role::Detail => self.faint(),
        }
    }

    pub(crate) fn alert(self) -> Style {
        self.paint(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) const fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn code(self) -> Style {
        self.paint(Color::Magenta)
    }

    /// Returns the style of a piece of code in a language that is known.
    pub(crate) fn code_kind(self, kind: CodeKind) -> Style {
        match kind {
            CodeKind::Plain => Style::new(),
            CodeKind::Comment => self.faint(),
            CodeKind::Text => self.paint(Color::Green),
            CodeKind::Constant => self.paint(Color::Cyan),
            CodeKind::Keyword => self.paint(Color::Magenta),
            CodeKind::Name => self.paint(Color::Blue),
        }
    }

    pub(crate) fn heading(self) -> Style {
        self.paint(Color::Blue).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn link(self) -> Style {
        self.paint(Color::Blue).add_modifier(Modifier::UNDERLINED)
    }

    pub(crate) fn good(self) -> Style {
        self.paint(Color::Green)
    }

    /// Returns the style of a line of a diff, by its first characters.
    pub(crate) fn diff_line(self, line: &str) -> Style {
        if line.starts_with("@@") {
            self.paint(Color::Cyan)
        } else if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
            self.strong()
        } else if line.starts_with('+') {
            self.paint(Color::Green)
        } else if line.starts_with('-') {
            self.paint(Color::Red)
        } else {
            Style::new()
        }
    }
}

/// Returns true if a text looks like a unified diff or a patch.
pub(crate) fn is_diff(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| {
        line.starts_with("@@ ") || line.starts_with("diff --git ") || line == "*** Begin Patch"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_no_style_names_one() {
        let plain = Theme::new(false);
        let styles = [
            plain.role(Role::UserMessage),
            plain.role(Role::Alert),
            plain.role(Role::Activity),
            plain.code(),
            plain.heading(),
            plain.link(),
            plain.good(),
            plain.diff_line("+a"),
            plain.diff_line("-a"),
            plain.diff_line("@@ -1 +1 @@"),
            plain.selected(),
        ];
        assert!(
            styles
                .iter()
                .all(|style| style.fg.is_none() && style.bg.is_none())
        );
        assert_eq!(Theme::new(true).diff_line("+a").fg, Some(Color::Green));
    }

    #[test]
    fn a_diff_is_told_from_a_list() {
        assert!(is_diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"));
        assert!(!is_diff("- one\n- two\n+ three"));
    }
}
