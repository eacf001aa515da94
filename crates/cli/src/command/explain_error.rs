//! `holon explain-error`: the cause and the cure of an error code.

use crate::error_codes::{self, ErrorEntry};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use holon_domain::text::nearest;

/// Prints one code, or all of them.
pub(super) fn run(code: Option<&str>, output: &Output) -> Result<Exit, Failure> {
    let known = error_codes::all();
    match code {
        None => output.answer_wrapped(&known, |known| list(known)),
        Some(code) => output.answer_wrapped(find(&known, code)?, explain),
    }
    Ok(Exit::Done)
}

fn find<'a>(known: &'a [ErrorEntry], code: &str) -> Result<&'a ErrorEntry, Failure> {
    // A code that was typed from memory may have capitals or hyphens.
    let asked = code.trim().to_ascii_lowercase().replace('-', "_");
    let found = known.iter().find(|entry| entry.code == asked);
    found.ok_or_else(|| {
        let failure = Failure::new(
            Exit::Failed,
            "no_such_code",
            format!("no error has the code {code:?}"),
        );
        match nearest(&asked, known.iter().map(|entry| entry.code)) {
            Some(similar) => failure.hint(format!("did you mean {similar}?")),
            None => failure.hint("list all codes with: holon explain-error"),
        }
    })
}

fn explain(entry: &ErrorEntry) -> String {
    let status = entry
        .http_status
        .map(|status| format!(" (HTTP {status})"))
        .unwrap_or_default();
    format!(
        "{}{status}\ncause: {}\ncure:  {}",
        entry.code,
        entry.meaning,
        name_values(entry.next_step)
    )
}

/// Writes the values that only an occurrence of the error has as words in capitals, like the values of a usage line.
fn name_values(cure: &str) -> String {
    cure.replace("{agent_id}", "AGENT")
        .replace("{after_seq}", "SEQ")
}

fn list(known: &[ErrorEntry]) -> String {
    let lines = known
        .iter()
        .map(|entry| format!("{}: {}", entry.code, entry.meaning));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_every_spelling_and_a_misspelt_one_is_corrected() {
        let known = error_codes::all();
        for asked in [
            "agent_not_found",
            "Agent_Not_Found",
            "AGENT-NOT-FOUND",
            " agent_not_found ",
        ] {
            assert_eq!(find(&known, asked).expect(asked).code, "agent_not_found");
        }
        for (asked, hint) in [
            ("AGENT_NOT_FUOND", "did you mean agent_not_found?"),
            (
                "nothing like it",
                "list all codes with: holon explain-error",
            ),
        ] {
            let refused = find(&known, asked).expect_err(asked);
            assert_eq!(refused.body.hint.as_deref(), Some(hint), "{asked}");
        }
    }
}
