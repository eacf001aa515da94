//! Text on a display: visible control characters, cuts with a note, and the width of characters.
//!
//! Every text of an event passes through here before it becomes part of an item.

use holon_domain::text::{is_display_control, prefix, suffix};

/// Bytes of the body of an item. Texts of events are shorter; this bounds those of a newer host.
pub const BODY_BYTES: usize = 4_000;
/// Bytes of a title.
pub const TITLE_BYTES: usize = 120;
/// Bytes of a summary line.
pub const SUMMARY_BYTES: usize = 300;

/// Replaces control characters, apart from line ends and tabs, by their pictures, and other steering characters by the
/// replacement character.
#[must_use]
pub fn show_controls(words: &str) -> String {
    words
        .chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\u{7f}' => '\u{2421}',
            c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
            // The second set of control characters includes an eight-bit escape.
            c if is_display_control(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Makes control characters visible and writes the text on one line.
#[must_use]
pub fn one_line(words: &str) -> String {
    let words = words.replace("\r\n", "\n");
    let line: Vec<&str> = words
        .split(['\n', '\t', '\u{2028}', '\u{2029}'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    show_controls(&line.join(" "))
}

/// Makes control characters visible, and cuts a long text with a note of how much is left out.
#[must_use]
pub fn cut(words: &str, max_bytes: usize) -> String {
    let words = show_controls(words.replace("\r\n", "\n").trim_end());
    if words.len() <= max_bytes {
        return words;
    }
    let kept = prefix(&words, max_bytes);
    let left = words.len() - kept.len();
    format!("{}…\n({left} more bytes are not shown)", kept.trim_end())
}

/// Makes control characters visible, and keeps the end of a long text with a note of how much stands before it.
pub(crate) fn cut_front(words: &str, dropped: u64, max_bytes: usize) -> String {
    let kept = suffix(words, max_bytes);
    let left = dropped + (words.len() - kept.len()) as u64;
    let shown = show_controls(kept);
    if left == 0 {
        return shown;
    }
    format!("({left} bytes stand before)\n…{shown}")
}

/// Writes a text on one bounded line.
#[must_use]
pub fn cut_line(words: &str, max_bytes: usize) -> String {
    holon_domain::text::preview(&one_line(words), max_bytes)
}

/// Ranges of characters that take two columns on a terminal: East Asian wide and full-width characters, and emoji that
/// are shown as pictures.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x2329, 0x232a),
    (0x23e9, 0x23ec),
    (0x23f0, 0x23f0),
    (0x23f3, 0x23f3),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x267f, 0x267f),
    (0x2693, 0x2693),
    (0x26a1, 0x26a1),
    (0x26aa, 0x26ab),
    (0x26bd, 0x26be),
    (0x26c4, 0x26c5),
    (0x26ce, 0x26ce),
    (0x26d4, 0x26d4),
    (0x26ea, 0x26ea),
    (0x26f2, 0x26f3),
    (0x26f5, 0x26f5),
    (0x26fa, 0x26fa),
    (0x26fd, 0x26fd),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x274e, 0x274e),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2795, 0x2797),
    (0x27b0, 0x27b0),
    (0x27bf, 0x27bf),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b50),
    (0x2b55, 0x2b55),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0xa4cf),
    (0xa960, 0xa97c),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe10, 0xfe19),
    (0xfe30, 0xfe6b),
    (0xff01, 0xff60),
    (0xffe0, 0xffe6),
    (0x1_6fe0, 0x1_8aff),
    (0x1_b000, 0x1_b2ff),
    (0x1_f004, 0x1_f004),
    (0x1_f0cf, 0x1_f0cf),
    (0x1_f18e, 0x1_f18e),
    (0x1_f191, 0x1_f19a),
    (0x1_f200, 0x1_f320),
    (0x1_f32d, 0x1_f335),
    (0x1_f337, 0x1_f37c),
    (0x1_f37e, 0x1_f393),
    (0x1_f3a0, 0x1_f3ca),
    (0x1_f3cf, 0x1_f3d3),
    (0x1_f3e0, 0x1_f3f0),
    (0x1_f3f4, 0x1_f3f4),
    (0x1_f3f8, 0x1_f43e),
    (0x1_f440, 0x1_f440),
    (0x1_f442, 0x1_f4fc),
    (0x1_f4ff, 0x1_f53d),
    (0x1_f54b, 0x1_f54e),
    (0x1_f550, 0x1_f567),
    (0x1_f57a, 0x1_f57a),
    (0x1_f595, 0x1_f596),
    (0x1_f5a4, 0x1_f5a4),
    (0x1_f5fb, 0x1_f64f),
    (0x1_f680, 0x1_f6c5),
    (0x1_f6cc, 0x1_f6cc),
    (0x1_f6d0, 0x1_f6d2),
    (0x1_f6d5, 0x1_f6d7),
    (0x1_f6dc, 0x1_f6df),
    (0x1_f6eb, 0x1_f6ec),
    (0x1_f6f4, 0x1_f6fc),
    (0x1_f7e0, 0x1_f7eb),
    (0x1_f7f0, 0x1_f7f0),
    (0x1_f90c, 0x1_f93a),
    (0x1_f93c, 0x1_f945),
    (0x1_f947, 0x1_f9ff),
    (0x1_fa70, 0x1_faff),
    (0x2_0000, 0x2_fffd),
    (0x3_0000, 0x3_fffd),
];

/// Ranges of characters that take no column: combining marks, joiners and selectors.
const ZERO: &[(u32, u32)] = &[
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x05bf, 0x05bf),
    (0x05c1, 0x05c2),
    (0x05c4, 0x05c5),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x0670, 0x0670),
    (0x06d6, 0x06dc),
    (0x06df, 0x06e4),
    (0x06e7, 0x06e8),
    (0x06ea, 0x06ed),
    (0x093c, 0x093c),
    (0x0941, 0x0948),
    (0x094d, 0x094d),
    (0x0e31, 0x0e31),
    (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e),
    (0x1160, 0x11ff),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200f),
    (0x2060, 0x2064),
    (0x20d0, 0x20f0),
    (0x302a, 0x302d),
    (0x3099, 0x309a),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0xfeff, 0xfeff),
    (0x1_f3fb, 0x1_f3ff),
    (0xe_0100, 0xe_01ef),
];

fn is_in(ranges: &[(u32, u32)], c: char) -> bool {
    let code = u32::from(c);
    let after = ranges.partition_point(|(first, _)| *first <= code);
    after
        .checked_sub(1)
        .and_then(|at| ranges.get(at))
        .is_some_and(|(_, last)| code <= *last)
}

/// Returns the columns that a character takes on a terminal: none, one or two.
#[must_use]
pub fn char_width(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    match c {
        c if is_in(ZERO, c) => 0,
        c if is_in(WIDE, c) => 2,
        _ => 1,
    }
}

/// Returns the columns that a text takes on a terminal.
#[must_use]
pub fn text_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Cuts a text so that it takes at most `columns` columns.
#[must_use]
pub fn cut_columns(text: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += char_width(*c);
        used <= columns
    };
    text.chars().take_while(fits).collect()
}

/// Adds spaces to a text until it takes `columns` columns.
#[must_use]
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text_width(text));
    format!("{text}{:missing$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            show_controls("a\u{1b}[31mred\u{7}\u{9b}2J\r\n\tb"),
            "a␛[31mred␇\u{fffd}2J␍\n\tb"
        );
        assert_eq!(
            show_controls("user\u{202e}nimda\u{2066}\u{200f}é漢"),
            "user\u{fffd}nimda\u{fffd}\u{fffd}é漢"
        );
        assert_eq!(one_line("a\r\nb\tc\u{1b}[2J\n\n"), "a b c␛[2J");
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_how_much_is_left_out() {
        assert_eq!(cut("short\r\n", 5), "short");
        assert_eq!(cut("漢字仮名", 7), "漢字…\n(6 more bytes are not shown)");
        assert_eq!(cut_front("abcdef", 0, 6), "abcdef");
        assert_eq!(cut_front("abcdef", 4, 2), "(8 bytes stand before)\n…ef");
    }

    #[test]
    fn widths_follow_the_terminal() {
        for (text, columns) in [
            ("plain", 5),
            ("漢字", 4),
            ("한국어", 6),
            ("カナ", 4),
            ("ｗｉｄｅ", 8),
            ("é", 1),
            ("e\u{301}", 1),
            ("🦀!", 3),
            ("──┐", 3),
            ("✓ ✗ …", 5),
            ("", 0),
        ] {
            assert_eq!(text_width(text), columns, "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_and_padded_by_columns() {
        assert_eq!(cut_columns("漢字仮名", 5), "漢字");
        assert_eq!(cut_columns("ab", 0), "");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad("long", 2), "long");
    }

    #[test]
    fn the_tables_of_widths_are_sorted_and_do_not_overlap() {
        for table in [WIDE, ZERO] {
            assert!(table.iter().all(|(first, last)| first <= last));
            for pair in table.windows(2) {
                assert!(pair[0].1 < pair[1].0, "{pair:?}");
            }
        }
    }
}
