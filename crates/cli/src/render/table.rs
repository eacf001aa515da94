//! Tables for people: columns by their width on a terminal, with a header there, and bare lines in a pipe.

use holon_presentation::text::{cut_columns, pad, text_width};

/// Columns between two columns of a table.
const GAP: usize = 2;
/// Share of a terminal that a column before the last one may take.
const SHARE: usize = 4;
/// Columns that every column keeps on a narrow terminal.
const MIN_CELL: usize = 8;

/// Renders rows of equally many cells. On a terminal of `columns` columns the table has a header, and no line is wider:
/// a long cell is cut with a mark. A pipe gets whole cells and no header.
pub(crate) fn render(header: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    if columns.is_some() {
        lines.push(header.iter().map(|name| (*name).to_owned()).collect());
    }
    lines.extend(rows.iter().cloned());
    let last = header.len().saturating_sub(1);
    let most = columns.map_or(usize::MAX, |columns| (columns / SHARE).max(MIN_CELL));
    let widths: Vec<usize> = (0..last)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            let widest = cells.map(|cell| text_width(cell)).max();
            widest.unwrap_or(0).min(most)
        })
        .collect();
    let lines = lines.iter().map(|line| {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths.get(column).copied();
            width.map_or_else(
                || cell.clone(),
                |width| format!("{}{:GAP$}", pad(&mark_cut(cell, width), width), ""),
            )
        });
        let line: String = cells.collect();
        let line = line.trim_end();
        columns.map_or_else(|| line.to_owned(), |columns| mark_cut(line, columns))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Cuts a text to this many columns, with a mark at its end.
fn mark_cut(text: &str, columns: usize) -> String {
    if text_width(text) <= columns {
        return text.to_owned();
    }
    let kept = cut_columns(text, columns.saturating_sub(1));
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row([
                "main",
                "asleep",
                "anthropic/claude-x",
                "waits for the operator: which branch is the right one?",
            ]),
            row([
                "夜間ビルド",
                "awake_running",
                "openai/gpt-y",
                "runs tool call 1 of its round",
            ]),
            row([
                "a-reviewer-with-a-name-that-is-longer-than-others",
                "stopped",
                "",
                "",
            ]),
        ]
    }

    const HEADER: [&str; 4] = ["NAME", "STATE", "MODEL", "WHY"];

    #[test]
    fn a_table_at_several_widths() {
        for columns in [40, 80, 200] {
            let shown = render(&HEADER, &rows(), Some(columns));
            assert!(
                shown.lines().all(|line| text_width(line) <= columns),
                "{shown}"
            );
            insta::assert_snapshot!(format!("table_{columns}"), shown);
        }
    }

    #[test]
    fn a_pipe_gets_whole_cells_without_a_header() {
        let shown = render(&HEADER, &rows(), None);
        assert_eq!(shown.lines().count(), 3, "{shown}");
        assert!(shown.contains("which branch is the right one?"), "{shown}");
        assert!(
            shown.contains("a-reviewer-with-a-name-that-is-longer-than-others  stopped"),
            "{shown}"
        );
        assert!(!shown.contains("NAME"), "{shown}");
    }
}
