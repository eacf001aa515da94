//! Markdown as lines: blocks, code, tables, links, and widths.

use super::*;
use ratatui::style::Color;

fn lines(text: &str, width: usize) -> Vec<String> {
    let rendered = render(text, Theme::new(true), width);
    rendered.iter().map(ToString::to_string).collect()
}

#[test]
fn blocks_are_apart_and_lists_hang() {
    let text =
        "# Title\nSome *soft* text.\n\n- one two three four\n- two\n  1. deep\n\n> said\n\nend";
    assert_eq!(
        lines(text, 14),
        [
            "Title",
            "",
            "Some soft",
            "text.",
            "",
            "• one two",
            "  three four",
            "• two",
            "  1. deep",
            "",
            "▏ said",
            "",
            "end",
        ]
    );
}

#[test]
fn code_keeps_its_lines_and_a_diff_has_colours() {
    assert_eq!(
        lines("run:\n```sh\nls  -l\n\necho `x`\n```", 20),
        ["run:", "", "  ls  -l", "", "  echo `x`"]
    );
    let diff = render("```diff\n-old\n+new\n```", Theme::new(true), 20);
    let colour = |line: &Line<'_>| line.spans.last().and_then(|span| span.style.fg);
    assert_eq!(
        diff.iter().map(colour).collect::<Vec<_>>(),
        [Some(Color::Red), Some(Color::Green)]
    );
}

#[test]
fn code_of_a_known_language_has_colours_on_a_terminal_that_has_them() {
    let text = "```Rust\nlet a = 12; // why\n```";
    let coloured = render(text, Theme::new(true), 40);
    let style_of = |piece: &str| {
        let spans = coloured[0].spans.iter();
        let mut found = spans.filter(|span| span.content.contains(piece));
        found.next().map(|span| span.style)
    };
    let theme = Theme::new(true);
    assert_eq!(style_of("let"), Some(theme.code_kind(CodeKind::Keyword)));
    assert_eq!(style_of("12"), Some(theme.code_kind(CodeKind::Constant)));
    assert_eq!(style_of("why"), Some(theme.code_kind(CodeKind::Comment)));
    let plain = render(text, Theme::new(false), 40);
    assert_eq!(plain[0].to_string(), coloured[0].to_string());
    assert!(plain[0].spans.iter().all(|span| span.style == Style::new()));
    let unknown = render("```\nlet a = 12;\n```", theme, 40);
    assert_eq!(
        unknown[0].spans.last().map(|span| span.style),
        Some(theme.code())
    );
}

#[test]
fn tables_have_columns_also_of_wide_characters() {
    assert_eq!(
        lines("| 名 | n |\n|---|---|\n| 漢字 | 1 |\n| a | 22 |", 40),
        ["名    n", "────────", "漢字  1", "a     22"]
    );
}

#[test]
fn a_link_shows_its_target_once() {
    assert_eq!(lines("[a](https://b.c)", 40), ["a (https://b.c)"]);
    assert_eq!(lines("<https://b.c>", 40), ["https://b.c"]);
}

#[test]
fn escape_sequences_are_text() {
    let shown = lines("a\u{1b}[31m `b\u{9b}` <b\u{7}>", 40).join("\n");
    assert!(!shown.contains(char::is_control), "{shown:?}");
    assert!(shown.contains('␛'), "{shown}");
}

#[test]
fn any_width_ends() {
    for width in 0..6 {
        let shown = lines(
            "# 漢字\n- a\n  - b\n    - c\n\n```\nlong line\n```\n\n|a|b|\n|-|-|\n|c|d|",
            width,
        );
        assert!(!shown.is_empty());
    }
    assert_eq!(lines("", 10), [""]);
}
