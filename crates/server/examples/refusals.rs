//! Prints the reference of refusals as Markdown; `cargo xtask docs` writes it to `docs/reference/refusals.md`.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

use holon_server::{RefusalEntry, refusals};

fn main() {
    print!("{}", page());
}

/// Renders the page, one row for each refusal.
pub(crate) fn page() -> String {
    let rows: String = refusals().iter().map(row).collect();
    format!("{HEAD}{rows}")
}

fn row(entry: &RefusalEntry) -> String {
    let RefusalEntry { status, text } = entry;
    let (meaning, next) = (cell(text.meaning), cell(text.next_step.text()));
    format!("| `{}` | {status} | {meaning} | {next} |\n", text.code)
}

/// Escapes the bars of a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const HEAD: &str = "# Refusals

Every error of the control plane has the same shape: `ok` is `false`, `error` is the message, `code` is stable, and `hint` is the next step unless the message names it.
Some carry more, such as `agent_id`, `oldest_seq`, or `line` and `column`.
A refused request changed nothing, except where that is not known: `commit_unknown`, `store_lost`, `internal`, and `shutting_down` as the answer to a run.
In the next steps `{agent_id}` and `{after_seq}` stand for a value that is filled in.

| code | HTTP | what it means | next step |
|---|---|---|---|
";
