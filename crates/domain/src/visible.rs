//! Makes characters visible that a person does not see and a model reads: hidden text is a way to give a model orders
//! behind its reader's back.
//!
//! Unseen are characters without ink and those that change the reading order. A few of them have an ordinary use, in
//! which they stay: the joiners inside words of the scripts that need them and between emoji, and one variation selector
//! behind a character that has a picture, or inside a keycap. Invariants: apart from keycaps no unseen character stays
//! beside an ASCII letter or digit, and no two stay side by side, so that they carry no text.
//! Prompts, terminals and logs share this definition; each spells a hidden character in its own way.

use std::borrow::Cow;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Writes unseen and control characters as `\u{...}`, and a carriage return without a line feed as `\r`: a terminal
/// overwrites the line before it, so that a person does not see that line. An escape or a backspace hides text in the same
/// way. Line breaks and tabs stay.
#[must_use]
pub fn show_unseen(text: &str) -> Cow<'_, str> {
    let shown = escape(text, |c| !matches!(c, '\n' | '\t' | '\r') && is_unseen(c));
    if !shown.contains('\r') {
        return shown;
    }
    let lines: Vec<String> = shown
        .split("\r\n")
        .map(|line| line.replace('\r', "\\r"))
        .collect();
    Cow::Owned(lines.join("\r\n"))
}

/// Writes unseen and control characters as `\u{...}`; line breaks and tabs stay.
#[must_use]
pub fn show_all(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && c != '\t' && is_unseen(c))
}

/// Writes a text on one line: line breaks and tabs are written as `\u{...}` as well.
#[must_use]
pub fn show_on_line(text: &str) -> Cow<'_, str> {
    escape(text, is_unseen)
}

fn escape(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    replace_hidden(text, is_hidden, |c, shown| shown.extend(c.escape_unicode()))
}

/// Spells the hidden characters of a text with `spell`. Unseen ones in their ordinary use stay.
pub fn replace_hidden(
    text: &str,
    is_hidden: impl Fn(char) -> bool,
    mut spell: impl FnMut(char, &mut String),
) -> Cow<'_, str> {
    if !text.chars().any(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if is_hidden(c) && !is_ordinary(before, c, rest.clone().next()) {
            spell(c, &mut shown);
        } else {
            shown.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Returns true if an unseen character is used as its script uses it.
#[must_use]
pub fn is_ordinary(before: Option<char>, c: char, after: Option<char>) -> bool {
    match (before, c, after) {
        (Some('0'..='9' | '#' | '*'), '\u{fe0f}', Some('\u{20e3}')) => true,
        (Some(before), NON_JOINER | JOINER, Some(after)) => {
            (joins(before) && joins(after))
                || (c == JOINER
                    && (has_picture(before) || before == '\u{fe0f}')
                    && has_picture(after))
        }
        (Some(before), '\u{fe0e}' | '\u{fe0f}', after) => {
            let may_follow = |after: char| {
                after == JOINER || !(is_unseen(after) || after.is_ascii_alphanumeric())
            };
            has_picture(before) && after.is_none_or(may_follow)
        }
        (_, _, _) => false,
    }
}

/// Returns true for letters of the scripts in which joiners decide the shape of a word.
const fn joins(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{900}'..='\u{dff}')
}

/// Returns true for characters with a picture form.
const fn has_picture(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns true for control characters, and for characters that take no space or change the reading order.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' // fillers without ink
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' // zero width, separators, direction
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // variation selectors, used to carry bytes
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' // tags, an unseen alphabet
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hidden texts as they are found in the wild, each around or inside harmless words.
    const CORPUS: [&str; 12] = [
        "hi\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}\u{e007f}",
        "\u{202e}tnetnoc neddih\u{202c} visible",
        "access\u{2066} // admin \u{2069}\u{2066}user\u{2069}",
        "p\u{200b}a\u{200c}s\u{200d}s\u{2060}w\u{feff}ord",
        "\u{200b}\u{200c}\u{200b}\u{200b}\u{200c}\u{200c}\u{200b}bits",
        "😀\u{fe00}\u{fe01}\u{fe0e}\u{e0101}\u{e0102}",
        "a\u{fe0f}b\u{fe0e}c",
        "soft\u{ad}hyphen\u{34f}joined",
        "\u{3164}\u{115f}\u{1160}\u{ffa0}filler",
        "\u{1d173}\u{1d17a}music",
        "line\u{2028}separator\u{2029}paragraph",
        "mark\u{200e}\u{200f}\u{61c}s",
    ];

    #[test]
    fn a_return_that_hides_the_line_before_it_is_written_out() {
        assert_eq!(
            show_unseen("safe\rrm -rf\r\nend\r"),
            "safe\\rrm -rf\r\nend\\r"
        );
        assert_eq!(show_unseen("é\r\n"), "é\r\n");
    }

    #[test]
    fn no_hidden_text_of_the_corpus_stays_hidden() {
        for text in CORPUS {
            for shown in [show_unseen(text), show_all(text), show_on_line(text)] {
                let left = shown.chars().filter(|c| is_unseen(*c)).count();
                assert_eq!(left, 0, "{shown:?}");
                assert!(shown.contains("\\u{"), "{shown:?}");
            }
        }
    }

    #[test]
    fn ordinary_text_of_every_script_stays_as_it_is() {
        for text in [
            "naïve café, 漢字仮名 交じり文, 한국어, русский",
            "می\u{200c}خواهم کتاب\u{200c}ها",
            "क\u{94d}\u{200d}ष",
            "❤\u{fe0f} done ✔\u{fe0e}",
            "👩\u{200d}💻 👩\u{1f3fd}\u{200d}🔧 🏳\u{fe0f}\u{200d}🌈",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "┌──┐ → “quoted” — dash…",
        ] {
            assert_eq!(show_all(text), text);
            assert_eq!(show_unseen(text), text);
        }
    }

    #[test]
    fn control_characters_are_written_out_and_lines_stay() {
        let text = "\u{1b}[31mred\u{8}\0 100 %\r\n\tend é";
        assert_eq!(
            show_unseen(text),
            "\\u{1b}[31mred\\u{8}\\u{0} 100 %\r\n\tend é"
        );
        assert_eq!(show_all("a\u{1b}b\r\n\tc"), "a\\u{1b}b\\u{d}\n\tc");
        assert_eq!(show_on_line("a\nb\tc"), "a\\u{a}b\\u{9}c");
    }

    proptest! {
        #[test]
        fn what_stays_unseen_carries_no_text(
            pieces in prop::collection::vec(prop_oneof![
                "[a-z0-9 ]{1,3}", "[\u{200b}-\u{200f}]{1,3}", "[\u{e0020}-\u{e007e}]{1,3}", "[\u{fe00}-\u{fe0f}]{1,2}",
                "[\u{202a}-\u{202e}]", "[😀-😿❤✔]", "[کها]", "[क-ह]", "(?s).",
            ], 0..12),
        ) {
            let text = pieces.concat();
            let shown: Vec<char> = show_unseen(&text).chars().collect();
            for pair in shown.windows(2) {
                let [left, right] = pair else { continue };
                let hidden = |c: &char| !c.is_ascii() && is_unseen(*c);
                prop_assert!(!hidden(left) || !right.is_ascii_alphanumeric(), "{shown:?}");
                let keycap = shown.windows(3).any(|key| key.starts_with(pair) && key[2] == '\u{20e3}');
                prop_assert!(!left.is_ascii_alphanumeric() || !hidden(right) || keycap, "{shown:?}");
                // A selector may stand before the joiner of two pictures.
                let pictures = *left == '\u{fe0f}' && *right == JOINER;
                prop_assert!(!hidden(left) || !hidden(right) || pictures, "{shown:?}");
            }
            let tag = |c: &char| ('\u{e0000}'..='\u{e0fff}').contains(c);
            prop_assert!(!shown.iter().any(tag));
        }

        #[test]
        fn text_without_unseen_characters_is_not_copied(text in "[a-zà-ü漢字 \n]{0,40}") {
            prop_assert!(matches!(show_all(&text), Cow::Borrowed(_)));
        }
    }
}
