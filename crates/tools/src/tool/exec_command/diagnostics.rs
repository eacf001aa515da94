//! Diagnostics of a command for readers of the stored record; no receipt shows them.

use crate::preview;
use crate::tool::command::{cmd_preview, shown_tokens};
use holon_domain::command::CapturedStream;
use holon_domain::intent::ExecCommand;
use holon_domain::text::estimate_tokens;
use serde::Serialize;

/// Command length in characters from which a script file would have been cheaper.
const SOFT_THRESHOLD_CHARS: usize = 4_000;
/// Programs that take a script as an argument.
const INTERPRETERS: [&str; 10] = [
    "bash", "sh", "zsh", "python", "python3", "node", "deno", "ruby", "perl", "php",
];
/// Flags with which interpreters take a script.
const SCRIPT_FLAGS: [&str; 6] = ["-c", "-lc", "-e", "-r", "-p", "--eval"];

/// Form of a command and size of its output.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnostics {
    cmd_preview: String,
    cmd_char_count: usize,
    cmd_estimated_tokens: usize,
    contains_heredoc: bool,
    contains_inline_script: bool,
    exceeds_soft_threshold: bool,
    effective_max_output_tokens: u32,
    output_char_budget: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_bytes: Option<u64>,
}

impl Diagnostics {
    /// Diagnostics of a command without known output.
    pub(crate) fn of(command: &ExecCommand) -> Self {
        let chars = command.cmd.chars().count();
        let tokens = shown_tokens(command.max_output_tokens);
        Self {
            cmd_preview: cmd_preview(&command.cmd),
            cmd_char_count: chars,
            cmd_estimated_tokens: estimate_tokens(&command.cmd),
            contains_heredoc: contains_heredoc(&command.cmd),
            contains_inline_script: contains_inline_script(&command.cmd),
            exceeds_soft_threshold: chars > SOFT_THRESHOLD_CHARS,
            effective_max_output_tokens: tokens,
            output_char_budget: preview::budget(tokens),
            stdout_bytes: None,
            stderr_bytes: None,
        }
    }

    /// Adds the sizes of both streams.
    pub(crate) const fn printed(
        mut self,
        stdout: &CapturedStream,
        stderr: &CapturedStream,
    ) -> Self {
        self.stdout_bytes = Some(stdout.total_bytes);
        self.stderr_bytes = Some(stderr.total_bytes);
        self
    }
}

/// Returns true if a word follows exactly two `<`. A here-string has three, and a shift is followed by a number.
fn contains_heredoc(cmd: &str) -> bool {
    cmd.split("<<").skip(1).any(|rest| {
        let word = rest
            .strip_prefix('-')
            .unwrap_or(rest)
            .trim_start_matches(' ');
        word.starts_with(|first: char| first.is_alphabetic() || "_'\"\\".contains(first))
    })
}

fn contains_inline_script(cmd: &str) -> bool {
    let words: Vec<&str> = cmd.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let program = pair[0].rsplit('/').next().unwrap_or_default();
        INTERPRETERS.contains(&program) && SCRIPT_FLAGS.contains(&pair[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heredoc_is_told_from_a_here_string_and_from_a_shift() {
        for cmd in [
            "cat <<EOF\nx\nEOF",
            "cat <<-'EOF'",
            "cat << \"E\"",
            "cat <<\\EOF",
        ] {
            assert!(contains_heredoc(cmd), "{cmd}");
        }
        for cmd in [
            "cat <<< word",
            "cat <<<word",
            "echo $((1 << 2))",
            "cat < file",
            "",
        ] {
            assert!(!contains_heredoc(cmd), "{cmd}");
        }
    }

    #[test]
    fn a_script_in_an_argument_is_noticed_whatever_the_path_of_its_program() {
        for cmd in [
            "python3 -c 'print(1)'",
            "cd x && /usr/bin/perl -e 1",
            "bash -lc ls",
        ] {
            assert!(contains_inline_script(cmd), "{cmd}");
        }
        for cmd in ["python3 run.py -c x", "grep -e x", "bash script.sh", ""] {
            assert!(!contains_inline_script(cmd), "{cmd}");
        }
    }
}
