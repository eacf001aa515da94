//! Reading a secret: from a terminal without echo, or from standard input. Never from the command line, where every
//! process of the machine could read it.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;
use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read};

/// The most bytes a secret may have; real ones have a few hundred.
const SECRET_BYTES: u64 = 64 << 10;
/// The most keys one prompt reads, corrections included.
const SECRET_KEYS: usize = 256 << 10;

/// Where a secret is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// Standard input.
    Stdin,
    /// The person at the terminal.
    Prompt,
}

/// The secret, without the line end it came with.
pub(crate) fn read(from: From, what: &str, output: &Output) -> Result<SecretString, Failure> {
    let text = match from {
        From::Stdin => take(std::io::stdin().lock())?,
        From::Prompt => ask(what, output)?,
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "the credential is empty; nothing was stored",
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(Failure::usage(
            "the credential holds line ends or control characters; give exactly one line",
        ));
    }
    Ok(SecretString::from(text))
}

fn take(from: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(SECRET_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    checked(bytes)
}

fn checked(bytes: Vec<u8>) -> Result<String, Failure> {
    if u64::try_from(bytes.len()).is_ok_and(|len| len > SECRET_BYTES) {
        return Err(Failure::usage(format!(
            "the credential is larger than {SECRET_BYTES} bytes"
        )));
    }
    // The reason must not repeat the bytes.
    String::from_utf8(bytes).map_err(|_| Failure::usage("the credential is not UTF-8 text"))
}

/// Asks the person at the terminal. The terminal itself is asked, so that it works with standard input redirected.
fn ask(what: &str, output: &Output) -> Result<String, Failure> {
    let no_terminal = || {
        Failure::usage("there is no terminal to ask for the credential")
            .hint("give it on standard input with --stdin")
    };
    if !std::io::stderr().is_terminal() {
        return Err(no_terminal());
    }
    let terminal = File::open("/dev/tty").map_err(|_| no_terminal())?;
    output.note(&format!("{what}, not shown while you type it; then Enter:"));
    let silence = Silence::begin(&terminal).map_err(unreadable)?;
    let mut line = Vec::new();
    let mut typed = Typed::More;
    for byte in BufReader::new(&terminal).bytes().take(SECRET_KEYS) {
        typed = key(&mut line, byte.map_err(unreadable)?);
        if typed != Typed::More {
            break;
        }
    }
    drop(silence);
    match typed {
        Typed::Interrupted => Err(Failure::new(
            Exit::Failed,
            "interrupted",
            "interrupted; nothing was stored",
        )),
        Typed::Done | Typed::More => checked(line),
    }
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Typed {
    /// The line goes on.
    More,
    /// It is complete.
    Done,
    /// It was given up.
    Interrupted,
}

/// One key, as a terminal sends it while nothing is done with keys but this. Signals from the keyboard are read here
/// too: a process that one of them ended would leave the terminal silent.
fn key(line: &mut Vec<u8>, byte: u8) -> Typed {
    match byte {
        b'\r' | b'\n' | 0x04 => return Typed::Done,
        0x03 | 0x1c => return Typed::Interrupted,
        0x08 | 0x7f => {
            // A character of several bytes goes as a whole.
            while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
        }
        0x15 => line.clear(),
        byte => line.push(byte),
    }
    Typed::More
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    let message = format!("the credential cannot be read: {error}");
    Failure::new(Exit::Failed, "credential_unreadable", message)
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silence<'a> {
    fn begin(terminal: &'a File) -> rustix::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed ahead was seen; it does not belong to the secret.
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        // If even this fails there is nobody to tell; `stty sane` mends it.
        let _told = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[u8]) -> (Vec<u8>, Typed) {
        let mut line = Vec::new();
        let last = keys
            .iter()
            .map(|byte| key(&mut line, *byte))
            .find(|typed| *typed != Typed::More);
        (line, last.unwrap_or(Typed::More))
    }

    #[test]
    fn a_line_can_be_corrected_while_it_is_typed() {
        assert_eq!(typed(b"sk-1x\x7f2\r"), (b"sk-12".to_vec(), Typed::Done));
        assert_eq!(typed(b"wrong\x15right\n"), (b"right".to_vec(), Typed::Done));
        let umlaut = [b'a', 0xc3, 0xa4, 0x7f, b'b', 0x04];
        assert_eq!(typed(&umlaut), (b"ab".to_vec(), Typed::Done));
        assert_eq!(typed(b"\x7f\x7fa"), (b"a".to_vec(), Typed::More));
    }

    #[test]
    fn an_interrupt_gives_the_line_up() {
        assert_eq!(typed(b"sk-\x03").1, Typed::Interrupted);
    }
}
