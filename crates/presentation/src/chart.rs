//! Usage as a bar chart: one line for each row, with the label, a bar by tokens, the tokens and the cost.
//!
//! The caller says how wide the surface is and whether it shows block characters. Every line fits: a long label is cut,
//! and where no bar has room, only the figures are left.

use crate::text::{cut_columns, one_line, pad, text_width};
use holon_domain::usage::{MicroUsd, spell_cost};

/// Columns between two columns of the chart.
const GAP: usize = 2;
/// Narrowest bar that is drawn: shorter ones do not tell small rows from large ones.
const MIN_BAR: usize = 4;
/// Longest bar. On a wide terminal the figures stay near their labels.
const MAX_BAR: usize = 60;
/// Columns that a label keeps on a narrow surface.
const MIN_LABEL: usize = 8;

/// Filled eighths of a cell, from one to seven.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// One row of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bar {
    pub label: String,
    /// Length of the bar, in relation to the longest one.
    pub tokens: u64,
    /// Text of the last column, such as one of [`cost_column`].
    pub cost: String,
}

/// Characters of which bars are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarStyle {
    /// Block characters in steps of an eighth.
    Blocks,
    /// `#`, for a terminal without UTF-8.
    Ascii,
}

/// Spells the cost of calls for a column: the known part alone is a lower bound.
#[must_use]
pub fn cost_column(known: MicroUsd, unpriced_calls: u64) -> String {
    match (unpriced_calls, known) {
        (0, known) => format!("${}", spell_cost(Some(known))),
        (_, 0) => "unknown".to_owned(),
        (_, known) => format!(">=${}", spell_cost(Some(known))),
    }
}

/// Draws the rows as lines of at most `width` columns.
#[must_use]
pub fn bars(rows: &[Bar], width: usize, style: BarStyle) -> Vec<String> {
    draw(&[], rows, width, style)
}

/// Draws the rows under a line that names the columns. `label` says what each row is about.
#[must_use]
pub fn titled_bars(label: &str, rows: &[Bar], width: usize, style: BarStyle) -> Vec<String> {
    match rows {
        [] => Vec::new(),
        rows => draw(&[[label, "tokens", "cost"]], rows, width, style),
    }
}

/// Draws lines of words, then the rows.
fn draw(heads: &[[&str; 3]], rows: &[Bar], width: usize, style: BarStyle) -> Vec<String> {
    let heads = heads.iter().map(|head| (head.map(str::to_owned), 0));
    let rows = rows.iter().map(|row| {
        let figures = row.tokens.to_string();
        (
            [one_line(&row.label), figures, one_line(&row.cost)],
            row.tokens,
        )
    });
    let lines: Vec<([String; 3], u64)> = heads.chain(rows).collect();
    let [label, tokens, cost] = [0, 1, 2].map(|column| widest(&lines, column));
    let layout = Layout::new(width, label, tokens, cost);
    let most = lines.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
    lines
        .iter()
        .map(|([label, tokens, cost], length)| {
            let label = pad(&fit_label(label, layout.label, style), layout.label);
            let bar = layout.bar.map_or_else(String::new, |columns| {
                let bar = bar(*length, most, columns, style);
                format!("{:GAP$}{}", "", pad(&bar, columns))
            });
            let (token_columns, cost_columns) = (layout.tokens, layout.cost);
            let line = format!(
                "{label}{bar}{:GAP$}{tokens:>token_columns$}{:GAP$}{cost:>cost_columns$}",
                "", ""
            );
            cut_columns(&line, width)
        })
        .collect()
}

/// Columns of each part of a line.
#[derive(Debug, Clone, Copy)]
struct Layout {
    label: usize,
    /// Absent if there is no room for a bar.
    bar: Option<usize>,
    tokens: usize,
    cost: usize,
}

impl Layout {
    fn new(width: usize, label: usize, tokens: usize, cost: usize) -> Self {
        let room = width.saturating_sub(tokens + cost + 2 * GAP);
        // A label may take half of the room beside a bar, and all of it without one.
        let beside = label.min((room / 2).max(MIN_LABEL));
        let left = room.saturating_sub(beside + GAP);
        if left < MIN_BAR {
            return Self {
                label: label.min(room),
                bar: None,
                tokens,
                cost,
            };
        }
        let bar = left.min(MAX_BAR);
        Self {
            label: label.min(room - bar - GAP),
            bar: Some(bar),
            tokens,
            cost,
        }
    }
}

fn widest(lines: &[([String; 3], u64)], column: usize) -> usize {
    let texts = lines.iter().filter_map(|(texts, _)| texts.get(column));
    texts.map(|text| text_width(text)).max().unwrap_or(0)
}

/// Cuts a label, with a mark at its end.
fn fit_label(label: &str, columns: usize, style: BarStyle) -> String {
    if text_width(label) <= columns {
        return label.to_owned();
    }
    let mark = match style {
        BarStyle::Blocks => "…",
        BarStyle::Ascii => "~",
    };
    let kept = cut_columns(label, columns.saturating_sub(1));
    cut_columns(&format!("{kept}{mark}"), columns)
}

/// Draws a bar of `tokens` where the longest one has `most`. Anything that was used is seen.
fn bar(tokens: u64, most: u64, columns: usize, style: BarStyle) -> String {
    let steps = match style {
        BarStyle::Blocks => 8,
        BarStyle::Ascii => 1,
    };
    let whole = u128::from(columns as u64 * steps);
    let filled = u128::from(tokens) * whole / u128::from(most.max(1));
    let filled = u64::try_from(filled)
        .unwrap_or(0)
        .max(u64::from(tokens > 0));
    match style {
        BarStyle::Ascii => "#".repeat(usize::try_from(filled).unwrap_or(0)),
        BarStyle::Blocks => {
            let cells = usize::try_from(filled / 8).unwrap_or(0);
            let part = usize::try_from(filled % 8).unwrap_or(0);
            let part = part.checked_sub(1).and_then(|at| EIGHTHS.get(at));
            "█".repeat(cells) + &part.map_or_else(String::new, ToString::to_string)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Bar> {
        let row = |label: &str, tokens: u64, cost: &str| Bar {
            label: label.to_owned(),
            tokens,
            cost: cost.to_owned(),
        };
        vec![
            row("main", 182_000, "$1.204000"),
            row("a-reviewer-with-a-long-name", 91_000, ">=$0.400000"),
            row("夜間ビルド", 12, "unknown"),
            row("idle", 0, "$0.000000"),
        ]
    }

    #[test]
    fn a_chart_on_a_narrow_terminal() {
        insta::assert_snapshot!(bars(&rows(), 40, BarStyle::Blocks).join("\n"));
    }

    #[test]
    fn a_chart_on_a_common_terminal() {
        insta::assert_snapshot!(bars(&rows(), 80, BarStyle::Blocks).join("\n"));
    }

    #[test]
    fn a_chart_on_a_wide_terminal() {
        insta::assert_snapshot!(bars(&rows(), 200, BarStyle::Blocks).join("\n"));
    }

    #[test]
    fn a_chart_without_utf_8() {
        let ascii: Vec<Bar> = rows()
            .into_iter()
            .filter(|row| row.label.is_ascii())
            .collect();
        let drawn = bars(&ascii, 60, BarStyle::Ascii).join("\n");
        assert!(drawn.is_ascii(), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn no_line_is_wider_than_the_surface_and_figures_stand_in_columns() {
        for style in [BarStyle::Blocks, BarStyle::Ascii] {
            for width in 0..240 {
                let lines = bars(&rows(), width, style);
                assert_eq!(lines.len(), rows().len());
                let widths: Vec<usize> = lines.iter().map(|line| text_width(line)).collect();
                assert!(
                    widths.iter().all(|one| *one <= width),
                    "{width}: {widths:?}"
                );
                if width >= 40 {
                    assert!(widths.windows(2).all(|two| two[0] == two[1]), "{lines:#?}");
                }
            }
        }
        assert!(bars(&[], 80, BarStyle::Blocks).is_empty());
    }

    #[test]
    fn a_title_names_the_columns_and_stands_over_them() {
        let row = |label: &str, tokens| Bar {
            label: label.to_owned(),
            tokens,
            cost: "$1".to_owned(),
        };
        let rows = [row("a", 8), row("b", 4)];
        assert_eq!(
            titled_bars("agent", &rows, 29, BarStyle::Ascii),
            [
                "agent            tokens  cost",
                "a      ########       8    $1",
                "b      ####           4    $1",
            ]
        );
        assert!(titled_bars("agent", &[], 80, BarStyle::Blocks).is_empty());
    }

    #[test]
    fn a_label_of_a_host_steers_no_terminal_and_the_largest_number_is_drawn() {
        let row = Bar {
            label: "a\u{1b}[2J\nb\u{200b}c\u{e0069}".to_owned(),
            tokens: u64::MAX,
            cost: "\u{9b}2J\u{200d}1".to_owned(),
        };
        let drawn = bars(&[row], 80, BarStyle::Blocks).join("|");
        assert_eq!(holon_domain::visible::show_on_line(&drawn), drawn);
        assert!(drawn.contains(&"█".repeat(10)), "{drawn}");
    }

    #[test]
    fn a_cost_that_is_known_in_part_is_a_lower_bound() {
        assert_eq!(cost_column(12_300, 0), "$0.012300");
        assert_eq!(cost_column(12_300, 2), ">=$0.012300");
        assert_eq!(cost_column(0, 2), "unknown");
        assert_eq!(cost_column(0, 0), "$0.000000");
    }
}
