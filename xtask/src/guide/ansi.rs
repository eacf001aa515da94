//! The screen of a terminal as runs of equally styled text, read from the colour sequences that tmux writes.
//!
//! Only colours and attributes are understood (`ESC [ … m`), because tmux writes nothing else. The style goes on over
//! the ends of lines.

/// A colour of the terminal: one of the 256, a full one, or its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Color {
    #[default]
    Default,
    Indexed(u8),
    Full(u8, u8, u8),
}

/// How a run of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the attributes of a terminal are independent of each other"
)]
pub(super) struct Style {
    pub(super) text: Color,
    pub(super) ground: Color,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) reverse: bool,
}

/// Text of one style, and the columns it begins at and fills.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) column: usize,
    pub(super) width: usize,
    pub(super) text: String,
    pub(super) style: Style,
}

/// Reads the rows of a screen, without the empty ones at its end.
pub(super) fn rows(screen: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    let mut rows: Vec<Vec<Run>> = screen
        .lines()
        .map(|line| parse_row(line, &mut style))
        .collect();
    let is_empty = |row: &Vec<Run>| {
        row.iter()
            .all(|run| run.text.trim().is_empty() && run.style.ground == Color::Default)
    };
    while rows.last().is_some_and(is_empty) {
        rows.pop();
    }
    rows
}

fn parse_row(line: &str, style: &mut Style) -> Vec<Run> {
    let mut row = Vec::new();
    let mut column = 0;
    for (index, piece) in line.split('\u{1b}').enumerate() {
        let text = match piece.strip_prefix('[').filter(|_| index > 0) {
            Some(sequence) => match sequence.split_once('m') {
                Some((codes, text)) => {
                    apply(codes, style);
                    text
                }
                None => sequence,
            },
            None => piece,
        };
        let width = unicode_width::UnicodeWidthStr::width(text);
        if width > 0 {
            row.push(Run {
                column,
                width,
                text: text.to_owned(),
                style: *style,
            });
        }
        column += width;
    }
    row
}

fn apply(codes: &str, style: &mut Style) {
    let mut codes = codes
        .split([';', ':'])
        .map(|code| code.parse().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.reverse = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.reverse = false,
            30..=37 => style.text = Color::Indexed(code - 30),
            38 => style.text = extended(&mut codes),
            39 => style.text = Color::Default,
            40..=47 => style.ground = Color::Indexed(code - 40),
            48 => style.ground = extended(&mut codes),
            49 => style.ground = Color::Default,
            90..=97 => style.text = Color::Indexed(code - 82),
            100..=107 => style.ground = Color::Indexed(code - 92),
            _ => {}
        }
    }
}

/// Reads what follows 38 and 48.
fn extended(codes: &mut impl Iterator<Item = u8>) -> Color {
    match codes.next() {
        Some(5) => codes.next().map_or(Color::Default, Color::Indexed),
        Some(2) => {
            let mut part = || codes.next().unwrap_or(0);
            Color::Full(part(), part(), part())
        }
        _ => Color::Default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_ends_with_its_sequence_and_not_with_its_line() {
        let rows = rows("\u{1b}[1mab\n宽c\u{1b}[0;38;5;6md\n\n");
        let bold = Style {
            bold: true,
            ..Style::default()
        };
        let coloured = Style {
            text: Color::Indexed(6),
            ..Style::default()
        };
        let run = |column, width, text: &str, style| Run {
            column,
            width,
            text: text.to_owned(),
            style,
        };
        assert_eq!(
            rows,
            [
                vec![run(0, 2, "ab", bold)],
                vec![run(0, 3, "宽c", bold), run(3, 1, "d", coloured)],
            ]
        );
    }

    #[test]
    fn colours_are_read_in_every_spelling() {
        for (codes, expected) in [
            ("31", Color::Indexed(1)),
            ("91", Color::Indexed(9)),
            ("38;5;200", Color::Indexed(200)),
            ("38:2:1:2:3", Color::Full(1, 2, 3)),
            ("31;39", Color::Default),
            ("", Color::Default),
        ] {
            let mut style = Style::default();
            apply(codes, &mut style);
            assert_eq!(style.text, expected, "{codes}");
        }
    }
}
