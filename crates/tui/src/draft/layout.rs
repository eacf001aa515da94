//! The draft as lines of a width, with the place of the cursor.

use super::Draft;
use holon_presentation::text::show_controls;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Lines of a draft, broken between characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftLayout {
    pub(crate) lines: Vec<String>,
    /// Line and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Draft {
    /// Lays the draft out in lines of at most `width` columns. The last column is left for the cursor.
    pub(crate) fn layout(&self, width: usize) -> DraftLayout {
        let width = width.max(2);
        let mut lines = vec![String::new()];
        let mut columns = 0;
        let mut cursor = (0, 0);
        // The characters around a joiner decide if it is shown, so the whole text is judged. Each character stays one.
        let shown = show_controls(&self.text);
        let mut shown = shown.chars();
        for (at, glyph) in self.text.grapheme_indices(true) {
            if at == self.cursor {
                cursor = (lines.len() - 1, columns);
            }
            let drawn: String = shown.by_ref().take(glyph.chars().count()).collect();
            if glyph == "\n" {
                lines.push(String::new());
                columns = 0;
                continue;
            }
            let drawn = drawn.replace('\t', "    ");
            if columns + drawn.width() > width - 1 && columns > 0 {
                lines.push(String::new());
                columns = 0;
                if at == self.cursor {
                    cursor = (lines.len() - 1, 0);
                }
            }
            columns += drawn.width();
            if let Some(line) = lines.last_mut() {
                line.push_str(&drawn);
            }
        }
        if self.cursor == self.text.len() {
            cursor = (lines.len() - 1, columns);
        }
        DraftLayout { lines, cursor }
    }
}
