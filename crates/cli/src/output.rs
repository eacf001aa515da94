//! Printing: the answer to standard output, everything else to standard error.
//!
//! Words of models, tools and strangers may hold what steers a terminal: control sequences, and marks that turn the
//! direction of writing. In words for people it is made visible instead of obeyed; in JSON it is always escaped, which
//! reads the same. A reader that went away is not an error; an answer that could not be written is one, told at once.

use crate::exit::{Exit, Failure};
use holon_domain::text::is_display_control;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;

/// Who reads the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// People.
    Text,
    /// Programs.
    Json,
}

/// Where everything is printed.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    /// Set once some of the answer could not be written.
    lost: OnceLock<()>,
}

impl Output {
    pub(crate) const fn new(format: Format) -> Self {
        Self {
            format,
            lost: OnceLock::new(),
        }
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// The answer: the value itself for programs, words for people.
    pub(crate) fn answer<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        match self.format {
            Format::Text => self.say(&words(value)),
            Format::Json => self.put(&json(value, serde_json::to_string_pretty)),
        }
    }

    /// One of many answers: one line each for programs.
    pub(crate) fn item<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        match self.format {
            Format::Text => self.say(&words(value)),
            Format::Json => self.put(&json(value, serde_json::to_string)),
        }
    }

    /// Words to standard output.
    pub(crate) fn say(&self, words: &str) {
        if io::stdout().is_terminal() {
            self.put(&visible(words));
        } else {
            self.put(words);
        }
    }

    /// The exit code of a command that ends so, unless its answer was lost.
    pub(crate) fn exit(&self, exit: Exit) -> Exit {
        match self.lost.get() {
            Some(()) => Exit::Failed,
            None => exit,
        }
    }

    /// Puts a piece of the answer out. What is lost of it is told once.
    fn put(&self, words: &str) {
        if let Err(error) = print(io::stdout(), words)
            && self.lost.set(()).is_ok()
        {
            self.failure(&unwritten(&error));
        }
    }

    /// A remark beside the answer.
    pub(crate) fn note(&self, words: &str) {
        complain(&visible(words));
    }

    /// What is wrong with a command line. It repeats what was typed, or pasted, which may steer a terminal; then it is
    /// told without colours.
    pub(crate) fn complain(&self, said: &clap::Error) {
        let words = said.render().to_string();
        if words.contains(|c| c != '\n' && is_display_control(c)) {
            self.note(&words);
        } else {
            // Nobody is left to tell if even that cannot be printed.
            drop(said.print());
        }
    }

    /// A remark only a person at a terminal wants.
    pub(crate) fn aside(&self, words: &str) {
        if self.format == Format::Text && io::stderr().is_terminal() {
            self.note(words);
        }
    }

    /// Why the command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        match self.format {
            Format::Json => complain(&json(&failure.body, serde_json::to_string)),
            Format::Text => {
                self.note(&format!("error: {}", failure.body.error));
                if let Some(hint) = &failure.body.hint {
                    self.note(&format!("next: {hint}"));
                }
            }
        }
    }
}

fn json<T: Serialize>(value: &T, spell: impl Fn(&T) -> serde_json::Result<String>) -> String {
    let spelled = spell(value)
        .unwrap_or_else(|error| format!("{{\"ok\":false,\"error\":\"cannot be shown: {error}\"}}"));
    escaped(&spelled)
}

/// JSON with what steers a terminal as `\uXXXX`. Such characters stand in strings only, apart from the line ends between
/// members, and none of them has more than four hex digits.
fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_display_control(c) {
            // Writing to a string cannot fail.
            write!(shown, "\\u{:04x}", u32::from(c)).ok();
        } else {
            shown.push(c);
        }
    }
    shown
}

/// One block of words and a line end, in one piece, so that lines of several processes do not mix.
/// A closed pipe means that the reader has seen enough.
fn print(mut to: impl Write, words: &str) -> io::Result<()> {
    let end = if words.ends_with('\n') { "" } else { "\n" };
    let block = format!("{words}{end}");
    match to.write_all(block.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

fn complain(words: &str) {
    // Nobody is left to tell if even that cannot be printed.
    drop(print(io::stderr(), words));
}

/// Why a command whose answer was lost has failed, although its work is done.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    let words = format!("the answer could not be written to standard output: {error}");
    Failure::new(Exit::Failed, "output_lost", words).hint(
        "what was asked may be done: look with holon status or holon transcript before you ask again",
    )
}

/// Control characters, apart from line ends and tabs, as pictures of themselves; what else steers a terminal as the
/// mark of a character that cannot be shown.
pub(crate) fn visible(words: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            visible("a\u{1b}[31mred\u{7}\u{9b}2J\r\n\tb"),
            "a␛[31mred␇\u{fffd}2J␍\n\tb"
        );
        assert_eq!(
            visible("user\u{202e}nimda\u{2066}\u{200f}é漢"),
            "user\u{fffd}nimda\u{fffd}\u{fffd}é漢"
        );
    }

    #[test]
    fn json_holds_no_character_that_steers_a_terminal_and_reads_the_same() {
        let value = serde_json::json!({
            "a\u{9b}": "\0\t\n\u{1b}\u{7f}\u{85}\u{202a}\u{202e}\u{2069}\u{200e}é漢🦀\\u001b",
        });
        let spellings: [fn(&serde_json::Value) -> serde_json::Result<String>; 2] =
            [serde_json::to_string, serde_json::to_string_pretty];
        for spell in spellings {
            let shown = json(&value, spell);
            assert!(
                !shown.contains(|c| c != '\n' && is_display_control(c)),
                "{shown:?}"
            );
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read, value);
        }
    }
}
