//! The screen before the console: where the host is, how long it has been silent, and the keys that close.

use super::activity::SILENT_FROM_MS;
use super::draw as draw_lines;
use crate::text::clean_line;
use crate::theme::Theme;
use crate::wrap::fit;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

pub(crate) fn draw(host: &str, theme: Theme, waited_ms: u64, frame: &mut Frame<'_>) {
    let host = clean_line(host);
    let first = if waited_ms >= SILENT_FROM_MS {
        let seconds = waited_ms / 1_000;
        let words = format!(" … the host does not answer yet ({seconds} s); connecting to {host}");
        Line::styled(words, theme.alert())
    } else {
        Line::styled(format!(" … connecting to {host}"), theme.faint())
    };
    let hint = Line::styled(" Ctrl+C or Ctrl+D closes", theme.faint());
    let screen = frame.area();
    let width = usize::from(screen.width);
    let top = screen.height.saturating_sub(2);
    let area = Rect::new(0, top, screen.width, screen.height - top);
    draw_lines(frame, area, vec![fit(first, width), fit(hint, width)]);
    // A cursor tells readers of the screen where the words are.
    frame.set_cursor_position(Position::new(0, top));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn shown(waited_ms: u64, size: (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let theme = Theme::new(false);
        let host = "unix:/data/\u{1b}me/holon.sock";
        terminal
            .draw(|frame| draw(host, theme, waited_ms, frame))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_silent_host_is_named_after_five_seconds() {
        let size = (90, 5);
        let early = shown(4_999, size);
        assert!(
            early.contains("connecting to unix:/data/␛me/holon.sock"),
            "{early}"
        );
        assert!(early.contains("Ctrl+D closes"), "{early}");
        assert!(!early.contains("does not answer"), "{early}");
        let late = shown(5_000, size);
        assert!(
            late.contains("the host does not answer yet (5 s); connecting to unix:"),
            "{late}"
        );
    }

    #[test]
    fn any_size_is_drawn_on() {
        for size in [(1, 1), (1, 9), (9, 1), (90, 2)] {
            shown(9_000, size);
        }
    }
}
