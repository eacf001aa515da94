//! Markdown as lines: blocks, code, tables, links, and widths.

use super::*;
use ratatui::style::Color;

fn lines(text: &str, width: usize) -> Vec<String> {
    let rendered = render(text, Theme::new(true), width, "holon text");
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
    let diff = render("```diff\n-old\n+new\n```", Theme::new(true), 20, "");
    let colour = |line: &Line<'_>| line.spans.last().and_then(|span| span.style.fg);
    assert_eq!(
        diff.iter().map(colour).collect::<Vec<_>>(),
        [Some(Color::Red), Some(Color::Green)]
    );
}

#[test]
fn code_of_a_known_language_has_colours_on_a_terminal_that_has_them() {
    let text = "```Rust\nlet a = 12; // why\n```";
    let coloured = render(text, Theme::new(true), 40, "");
    let style_of = |piece: &str| {
        let spans = coloured[0].spans.iter();
        let mut found = spans.filter(|span| span.content.contains(piece));
        found.next().map(|span| span.style)
    };
    let theme = Theme::new(true);
    assert_eq!(style_of("let"), Some(theme.code_kind(CodeKind::Keyword)));
    assert_eq!(style_of("12"), Some(theme.code_kind(CodeKind::Constant)));
    assert_eq!(style_of("why"), Some(theme.code_kind(CodeKind::Comment)));
    let plain = render(text, Theme::new(false), 40, "");
    assert_eq!(plain[0].to_string(), coloured[0].to_string());
    assert!(plain[0].spans.iter().all(|span| span.style == Style::new()));
    let unknown = render("```\nlet a = 12;\n```", theme, 40, "");
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

#[test]
fn deep_nesting_is_drawn_at_a_bounded_depth() {
    let inner = " ".repeat(INDENT * (DEPTH - 1));
    for (mark, deepest) in [
        ("> ", format!("{}x", "▏ ".repeat(DEPTH))),
        ("- ", format!("{inner}• x")),
    ] {
        let text = format!("{}x", mark.repeat(20));
        let shown = lines(&text, 80);
        assert!(
            shown.contains(&deepest),
            "{deepest:?} in {:?}",
            shown.last()
        );
        let widest = shown.iter().map(|line| crate::text::columns(line)).max();
        assert!(widest <= Some(80), "{widest:?}");
        let text = format!("{}x", mark.repeat(2_000));
        let shown = lines(&text, 80);
        assert!(shown.len() <= 200, "{} lines", shown.len());
    }
    let styles = format!("{}x", "*a **b ".repeat(2_000));
    assert!(lines(&styles, 80).len() < 1_000);
}

#[test]
fn of_a_long_text_the_rest_is_left_out_with_a_note_of_where_it_stands() {
    let note = |shown: &[String]| shown.last().cloned().unwrap_or_default();
    let many = "- a\n".repeat(300_000);
    let shown = lines(&many, 80);
    assert_eq!(shown.len(), LINES + 1);
    assert_eq!(
        note(&shown),
        "(more lines are not shown; holon text has all of it)"
    );
    let long = "word ".repeat(200_000);
    let shown = lines(&long, 80);
    assert!(shown.len() < LINES);
    let left = long.trim_end().len() - MARKDOWN_BYTES;
    let expected = format!("({left} more bytes are not shown; holon text has all of it)");
    assert_eq!(note(&shown), expected);
    let short = lines("- a\n- b", 80);
    assert_eq!(short, ["• a", "• b"]);
}

#[test]
fn the_beginning_of_a_long_table_is_shown() {
    let rows: String = (1..=3 * LINES).map(|n| format!("| {n} | b |\n")).collect();
    let shown = lines(&format!("| a | b |\n|---|---|\n{rows}"), 80);
    assert_eq!(shown.len(), LINES + 1);
    assert_eq!(shown[0].trim_end(), "a     b");
    let last = format!("{}  b", LINES - 2);
    assert_eq!(shown[LINES - 1].trim_end(), last);
}

#[test]
fn marks_that_are_no_marks_are_shown_as_they_are_written() {
    let marks = ">".repeat(40);
    for (text, expected) in [
        (
            format!("```\n{marks}\nb\n{marks}\n```"),
            vec![format!("  {marks}"), "  b".to_owned(), format!("  {marks}")],
        ),
        (
            format!("- a\n  ~~~\n  {marks}\n  ~~~"),
            vec!["• a".to_owned(), format!("  {marks}")],
        ),
        (
            format!("<pre>\n{marks}\n</pre>"),
            vec!["<pre>".to_owned(), marks.clone(), "</pre>".to_owned()],
        ),
        (
            format!("a\n\n    {marks}"),
            vec!["a".to_owned(), String::new(), format!("  {marks}")],
        ),
    ] {
        assert_eq!(lines(&text, 80), expected, "{text}");
    }
    // The line ends the item, and with it the block of code: these are marks.
    let left = lines(&format!("- a\n  ~~~\n{marks} b"), 80).join("\n");
    assert!(left.contains("▏ >>>>>>>> b"), "{left}");
}

#[test]
fn a_wide_cell_does_not_widen_every_row_of_its_table() {
    let rows = "| a | b |\n".repeat(500);
    let text = format!(
        "| a | b |\n|---|---|\n{rows}| {} | b |\n",
        "x".repeat(8_000)
    );
    let wide = 8_000 / 80 + 1;
    let shown = lines(&text, 80).len();
    assert!(shown <= 510 + wide, "{shown} lines");
}
