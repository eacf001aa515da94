//! Breaks styled lines into lines of a width: between words, between wide characters, and inside words that are too
//! long for a line.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// One character as a reader sees it, with its style and its columns.
#[derive(Debug, Clone, Copy)]
struct Glyph<'a> {
    text: &'a str,
    style: Style,
    columns: usize,
}

impl Glyph<'_> {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

/// A line that is being filled.
#[derive(Debug, Default)]
struct Filling<'a> {
    glyphs: Vec<Glyph<'a>>,
    columns: usize,
    /// Glyphs of the indentation at its beginning.
    indent: usize,
    /// Number of glyphs after which the line may be broken.
    last_break: Option<usize>,
}

impl<'a> Filling<'a> {
    fn indented(hang: usize) -> Self {
        let space = Glyph {
            text: " ",
            style: Style::new(),
            columns: 1,
        };
        Self {
            glyphs: vec![space; hang],
            columns: hang,
            indent: hang,
            last_break: None,
        }
    }

    fn push(&mut self, glyph: Glyph<'a>) {
        self.columns += glyph.columns;
        let may_break = glyph.is_space() || glyph.columns > 1;
        self.glyphs.push(glyph);
        if may_break {
            self.last_break = Some(self.glyphs.len());
        }
    }

    fn is_bare(&self) -> bool {
        self.glyphs.len() == self.indent
    }

    /// Ends the line at the last place where it may be broken, and returns the line that follows.
    fn break_off(&mut self, hang: usize) -> Self {
        let at = self.last_break.filter(|at| *at > self.indent);
        let rest = at.map_or_else(Vec::new, |at| self.glyphs.split_off(at));
        let mut next = Self::indented(hang);
        for glyph in rest {
            next.push(glyph);
        }
        next
    }

    fn finish(mut self) -> Line<'static> {
        while self.glyphs.len() > self.indent && self.glyphs.last().is_some_and(Glyph::is_space) {
            self.glyphs.pop();
        }
        let mut spans: Vec<Span<'static>> = Vec::new();
        for glyph in self.glyphs {
            match spans.last_mut() {
                Some(span) if span.style == glyph.style => {
                    span.content.to_mut().push_str(glyph.text);
                }
                Some(_) | None => spans.push(Span::styled(glyph.text.to_owned(), glyph.style)),
            }
        }
        Line::from(spans)
    }
}

/// Breaks a line. Lines after the first are indented by `hang` columns, unless that would take half of the width: a long
/// word would become very many lines. The result is never empty.
pub(crate) fn wrap(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let hang = if hang <= width / 2 { hang } else { 0 };
    let mut done = Vec::new();
    let mut filling = Filling::default();
    for span in &line.spans {
        let style = line.style.patch(span.style);
        for text in span.content.graphemes(true) {
            let glyph = Glyph {
                text,
                style,
                columns: text.width(),
            };
            while filling.columns + glyph.columns > width && !filling.is_bare() {
                let next = filling.break_off(hang);
                done.push(std::mem::replace(&mut filling, next).finish());
            }
            // A space at which the line was broken is not shown.
            if !(glyph.is_space() && filling.is_bare() && !done.is_empty()) {
                filling.push(glyph);
            }
        }
    }
    done.push(filling.finish());
    done
}

/// Cuts a line that is wider than `width`, with an ellipsis in the last column.
pub(crate) fn fit(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let mut columns = 0;
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in line.spans {
        let mut kept = String::new();
        for text in span.content.graphemes(true) {
            if columns + text.width() + 1 > width {
                kept.push_str(if width > 0 { "…" } else { "" });
                spans.push(Span::styled(kept, span.style));
                return Line::from(spans).style(line.style);
            }
            columns += text.width();
            kept.push_str(text);
        }
        spans.push(Span::styled(kept, span.style));
    }
    Line::from(spans).style(line.style)
}

/// Breaks the lines of a plain text in one style.
pub(crate) fn wrap_text(text: &str, style: Style, width: usize, hang: usize) -> Vec<Line<'static>> {
    text.split('\n')
        .flat_map(|line| wrap(&Line::styled(line, style), width, hang))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, hang: usize) -> Vec<String> {
        let wrapped = wrap(&Line::raw(text), width, hang);
        wrapped.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(lines("one two three", 8, 0), ["one two", "three"]);
        assert_eq!(lines("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(lines("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(lines("", 4, 0), [""]);
        assert_eq!(lines("a  b", 80, 0), ["a  b"]);
    }

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        assert_eq!(lines("漢字仮名", 5, 0), ["漢字", "仮名"]);
        assert_eq!(lines("a👩‍👩‍👧b", 3, 0), ["a👩‍👩‍👧", "b"]);
        assert_eq!(lines("漢", 1, 0), ["漢"]);
    }

    #[test]
    fn a_line_that_is_too_wide_ends_with_an_ellipsis_in_its_last_column() {
        let shown = |text: &str, width| {
            let spans: Vec<Span<'static>> = text
                .split_inclusive(' ')
                .map(|word| Span::raw(word.to_owned()))
                .collect();
            let line = fit(Line::from(spans), width);
            assert!(line.width() <= width, "{line}");
            line.to_string()
        };
        assert_eq!(shown("one two", 7), "one two");
        assert_eq!(shown("one two", 6), "one t…");
        assert_eq!(shown("one two", 4), "one…");
        assert_eq!(shown("漢字 仮名", 8), "漢字 仮…");
        assert_eq!(shown("漢字 仮名", 7), "漢字 …");
        assert_eq!(shown("漢字", 1), "…");
        assert_eq!(shown("漢字", 0), "");
    }

    #[test]
    fn a_width_of_nothing_and_a_deep_indentation_end() {
        assert_eq!(lines("abc", 0, 0), ["a", "b", "c"]);
        assert_eq!(lines("ab cd", 2, 9), ["ab", "cd"]);
        assert_eq!(lines("abcdefgh", 4, 2), ["abcd", "  ef", "  gh"]);
        assert_eq!(lines("abcdefgh", 4, 3), ["abcd", "efgh"]);
    }
}
