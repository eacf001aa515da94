//! Reads a secret from a terminal without echo, or from standard input; never from the command line, which every
//! process of the machine can read.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;
use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read};
use std::os::fd::AsFd as _;

/// Upper bound on the bytes of a secret; real ones have a few hundred.
const SECRET_BYTES: u64 = 64 << 10;
/// Upper bound on the keys that one prompt reads, corrections included.
const SECRET_KEYS: usize = 256 << 10;

/// Source of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretSource {
    Stdin,
    /// A prompt at the terminal, in a command whose option for standard input is `instead`.
    Prompt {
        instead: &'static str,
    },
}

/// Reads the secret and removes its line end.
pub(crate) fn read(
    source: SecretSource,
    what: &str,
    output: &Output,
) -> Result<SecretString, Failure> {
    let text = match source {
        SecretSource::Stdin => read_stdin(what, output)?,
        SecretSource::Prompt { instead } => prompt_for(what, instead, output)?,
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(Failure::usage("the secret is empty; nothing was stored"));
    }
    if text.chars().any(char::is_control) {
        return Err(Failure::usage(
            "the secret holds line ends or control characters; give exactly one line",
        ));
    }
    Ok(SecretString::from(text))
}

fn read_bounded(from: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(SECRET_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    decode(bytes)
}

fn decode(bytes: Vec<u8>) -> Result<String, Failure> {
    if u64::try_from(bytes.len()).is_ok_and(|len| len > SECRET_BYTES) {
        return Err(Failure::usage(format!(
            "the secret is larger than {SECRET_BYTES} bytes"
        )));
    }
    // The error must not repeat the bytes.
    String::from_utf8(bytes).map_err(|_| Failure::usage("the secret is not UTF-8 text"))
}

/// Reads standard input: a line without echo if it is a terminal, otherwise everything. Not more than the bound.
pub(crate) fn read_stdin(what: &str, output: &Output) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return read_bounded(stdin.lock());
    }
    let terminal = stdin.as_fd().try_clone_to_owned().map_err(unreadable)?;
    read_hidden_line(&File::from(terminal), what, output)
}

/// Prompts at the terminal itself, so that it works with standard input redirected.
fn prompt_for(what: &str, instead: &str, output: &Output) -> Result<String, Failure> {
    let no_terminal = || {
        Failure::usage("there is no terminal to ask for the secret")
            .hint(format!("give it on standard input with {instead}"))
    };
    if !std::io::stderr().is_terminal() {
        return Err(no_terminal());
    }
    let terminal = File::open("/dev/tty").map_err(|_| no_terminal())?;
    read_hidden_line(&terminal, what, output)
}

/// Reads a line from a terminal without echo.
fn read_hidden_line(terminal: &File, what: &str, output: &Output) -> Result<String, Failure> {
    // Before the prompt: what is typed in answer to it must neither be shown nor dropped by the change.
    let guard = EchoGuard::new(terminal).map_err(unreadable)?;
    output.note(&format!("{what}, not shown while you type it; then Enter:"));
    let mut line = Vec::new();
    let mut state = LineState::More;
    for byte in BufReader::new(terminal).bytes().take(SECRET_KEYS) {
        state = handle_key(&mut line, byte.map_err(unreadable)?);
        if state != LineState::More {
            break;
        }
    }
    drop(guard);
    match state {
        LineState::Interrupted => Err(Failure::new(
            Exit::Failed,
            "interrupted",
            "interrupted; nothing was read",
        )),
        LineState::Done | LineState::More => decode(line),
    }
}

/// State of the line after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// The line is not complete yet.
    More,
    /// The line is complete.
    Done,
    /// The person cancelled the input.
    Interrupted,
}

/// Handles one key in raw mode. Interrupt keys are read here too, because a process that a signal ends would leave the
/// terminal without echo.
fn handle_key(line: &mut Vec<u8>, byte: u8) -> LineState {
    match byte {
        b'\r' | b'\n' | 0x04 => return LineState::Done,
        0x03 | 0x1c => return LineState::Interrupted,
        0x08 | 0x7f => {
            // A character of several bytes is removed as a whole.
            while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
        }
        0x15 => line.clear(),
        byte => line.push(byte),
    }
    LineState::More
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    let message = format!("the secret cannot be read: {error}");
    Failure::new(Exit::Failed, "credential_unreadable", message)
}

/// Turns the terminal's echo off until it is dropped.
struct EchoGuard<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> EchoGuard<'a> {
    fn new(terminal: &'a File) -> rustix::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // Keys typed earlier were echoed and do not belong to the secret.
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoGuard<'_> {
    fn drop(&mut self) {
        // A failure here cannot be reported; `stty sane` restores the terminal.
        let _restored = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_after(keys: &[u8]) -> (Vec<u8>, LineState) {
        let mut line = Vec::new();
        let last = keys
            .iter()
            .map(|byte| handle_key(&mut line, *byte))
            .find(|typed| *typed != LineState::More);
        (line, last.unwrap_or(LineState::More))
    }

    #[test]
    fn a_line_can_be_corrected_while_it_is_typed() {
        assert_eq!(
            line_after(b"sk-1x\x7f2\r"),
            (b"sk-12".to_vec(), LineState::Done)
        );
        assert_eq!(
            line_after(b"wrong\x15right\n"),
            (b"right".to_vec(), LineState::Done)
        );
        let umlaut = [b'a', 0xc3, 0xa4, 0x7f, b'b', 0x04];
        assert_eq!(line_after(&umlaut), (b"ab".to_vec(), LineState::Done));
        assert_eq!(line_after(b"\x7f\x7fa"), (b"a".to_vec(), LineState::More));
    }

    #[test]
    fn an_interrupt_gives_the_line_up() {
        assert_eq!(line_after(b"sk-\x03").1, LineState::Interrupted);
    }
}
