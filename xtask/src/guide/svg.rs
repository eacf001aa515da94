//! A picture of a terminal as SVG: one `text` element for each run, placed by its column and stretched to its width, so
//! that columns fit with every font.

use super::ansi::{Color, Run, Style};

/// Size of a cell in pixels; the font's own letters are about as wide.
const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: usize = 19;
const FONT_SIZE: usize = 14;
const MARGIN: usize = 14;
/// Distance of the letters' foot from the top of their row.
const FOOT: usize = 14;

const TEXT: &str = "#d6deeb";
const GROUND: &str = "#12181f";

/// The sixteen named colours.
const NAMED: [&str; 16] = [
    "#2b3440", "#ef6b73", "#8ccf7e", "#e5c76b", "#67b0e8", "#c47fd5", "#6cbfbf", "#b3b9b8",
    "#5c6672", "#f26e74", "#96d988", "#f4d67a", "#71baf2", "#ce89df", "#67cbe7", "#ffffff",
];

/// Draws the rows of a screen.
pub(super) fn render(rows: &[Vec<Run>]) -> String {
    let ends = rows.iter().flatten().map(|run| run.column + run.width);
    let width = left(ends.max().unwrap_or(0)) + MARGIN as f64;
    let height = rows.len() * CELL_HEIGHT + 2 * MARGIN;
    let body: String = rows
        .iter()
        .enumerate()
        .flat_map(|(index, row)| row.iter().map(move |run| draw(run, index)))
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height}\" width=\"{width:.1}\" \
         height=\"{height}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"{FONT_SIZE}\" xml:space=\"preserve\">\n\
         <!-- Written by `cargo xtask guide`. -->\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n{body}</svg>\n"
    )
}

fn left(column: usize) -> f64 {
    MARGIN as f64 + column as f64 * CELL_WIDTH
}

fn draw(run: &Run, row: usize) -> String {
    let (x, width) = (left(run.column), run.width as f64 * CELL_WIDTH);
    let top = MARGIN + row * CELL_HEIGHT;
    let (text, ground) = colors(run.style);
    let mut drawn = String::new();
    if let Some(ground) = ground {
        drawn = format!(
            "<rect x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{ground}\"/>\n"
        );
    }
    if run.text.trim().is_empty() {
        return drawn;
    }
    let foot = top + FOOT;
    drawn.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{foot}\" textLength=\"{width:.1}\" fill=\"{text}\"{}>{}</text>\n",
        attributes(run.style),
        escape(&run.text)
    ));
    drawn
}

/// The colour of the letters, and that of the ground unless it is the picture's own.
fn colors(style: Style) -> (String, Option<String>) {
    let text = hex(style.text).unwrap_or_else(|| TEXT.to_owned());
    let ground = hex(style.ground);
    if style.reverse {
        return (ground.unwrap_or_else(|| GROUND.to_owned()), Some(text));
    }
    (text, ground)
}

fn attributes(style: Style) -> String {
    let words = [
        (style.bold, " font-weight=\"bold\""),
        (style.italic, " font-style=\"italic\""),
        (style.underline, " text-decoration=\"underline\""),
        (style.dim, " fill-opacity=\"0.6\""),
    ];
    let wanted = words.iter().filter(|(is_set, _)| *is_set);
    wanted.map(|(_, word)| *word).collect()
}

fn hex(color: Color) -> Option<String> {
    let (red, green, blue) = match color {
        Color::Default => return None,
        Color::Indexed(index) => match NAMED.get(usize::from(index)) {
            Some(named) => return Some((*named).to_owned()),
            None => indexed(index),
        },
        Color::Full(red, green, blue) => (red, green, blue),
    };
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

/// The colours above the named ones: a cube of six steps, then greys.
fn indexed(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = 8 + 10 * (index - 232);
        return (grey, grey, grey);
    }
    let cube = index.saturating_sub(16);
    let step = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
    (step(cube / 36), step(cube / 6 % 6), step(cube % 6))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::ansi;

    #[test]
    fn runs_stand_at_their_columns_with_their_colours() {
        let picture = render(&ansi::rows(
            "a<b \u{1b}[1;32mgreen\u{1b}[0m\n\u{1b}[7mbar\u{1b}[0m\n",
        ));
        for part in [
            "<text x=\"14.0\" y=\"28\" textLength=\"33.6\" fill=\"#d6deeb\">a&lt;b </text>",
            "<text x=\"47.6\" y=\"28\" textLength=\"42.0\" fill=\"#8ccf7e\" font-weight=\"bold\">green</text>",
            "<rect x=\"14.0\" y=\"33\" width=\"25.2\" height=\"19\" fill=\"#d6deeb\"/>",
            "fill=\"#12181f\">bar</text>",
        ] {
            assert!(picture.contains(part), "{part}\n{picture}");
        }
    }

    #[test]
    fn the_colours_of_the_cube_and_the_greys_are_those_of_xterm() {
        for (index, expected) in [
            (16, "#000000"),
            (196, "#ff0000"),
            (231, "#ffffff"),
            (232, "#080808"),
            (255, "#eeeeee"),
        ] {
            assert_eq!(hex(Color::Indexed(index)).as_deref(), Some(expected));
        }
    }
}
