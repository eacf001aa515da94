//! Prints results to standard output and everything else to standard error.
//!
//! Texts of models, tools and outside senders may hold terminal control sequences and unseen characters. In text for
//! people they are made visible, on a terminal and in a pipe; in JSON they are escaped, which decodes to the same value.
//! Only the answer of a run goes into a pipe as the model wrote it. A closed pipe is not an error. Any other failed write
//! is reported once and fails the command; one that follows something ends then.

use crate::addressing;
use crate::exit::{Exit, Failure};
use crate::live::{LiveOutput, LiveParts};
use crate::paint;
use crate::render::row::Row;
use crate::wrap;
use holon_api::ErrorBody;
use holon_config::{Env, has_utf8_locale};
use holon_domain::visible::{is_unseen, replace_hidden};
use holon_presentation::BarStyle;
use holon_presentation::text::{ShownPieces, cut_columns, show_controls};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::SetOnce;

/// Narrowest terminal for which lines are wrapped. A narrower one, or one that states no width, wraps by itself.
const MIN_COLUMNS: u16 = 40;
/// Columns of the progress line on a terminal that states no width.
const PROGRESS_COLUMNS: usize = 80;

/// Format of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Printer of results, remarks and failures.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    /// Set once a part of the result could not be written.
    lost: SetOnce<()>,
    /// The text of an answer that is still arriving.
    arriving: Mutex<ShownPieces>,
}

impl Output {
    pub(crate) const fn new(format: Format) -> Self {
        Self {
            format,
            lost: SetOnce::const_new(),
            arriving: Mutex::new(ShownPieces::new()),
        }
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Prints the result: the value itself as JSON, or words for people.
    pub(crate) fn answer<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        match self.format {
            Format::Text => self.say(&words(value)),
            Format::Json => self.put(&json(value, serde_json::to_string_pretty)),
        }
    }

    /// Prints one of several results; one line each as JSON.
    pub(crate) fn item<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        match self.format {
            Format::Text => self.say(&words(value)),
            Format::Json => self.put(&json(value, serde_json::to_string)),
        }
    }

    /// Prints the result like `answer`. On a terminal, long lines are wrapped at its width.
    pub(crate) fn answer_wrapped<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        self.answer(value, |value| wrap_for_terminal(words(value)));
    }

    /// Prints one of several results like `item`. On a terminal, long lines are wrapped at its width.
    pub(crate) fn item_wrapped<T: Serialize>(&self, value: &T, words: impl FnOnce(&T) -> String) {
        self.item(value, |value| wrap_for_terminal(words(value)));
    }

    /// Prints a result as JSON. For commands whose text is printed row by row.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.put(&json(value, serde_json::to_string_pretty));
    }

    /// Prints one of several results as a line of JSON.
    pub(crate) fn json_line(&self, value: &impl Serialize) {
        self.put(&json(value, serde_json::to_string));
    }

    /// Prints a row for people: wrapped on a terminal, and coloured if it shows colours.
    pub(crate) fn row(&self, row: &Row) {
        let words = wrap_for_terminal(show_controls(&row.text));
        if paint::is_wanted() {
            self.put(&paint::paint(row, &words));
        } else {
            self.put(&words);
        }
    }

    /// Replaces the last line of the terminal by what goes on right now. Only for a person who reads standard error.
    pub(crate) fn progress(&self, words: &str) {
        if self.shows_progress() {
            show_progress(&fit(words, columns().unwrap_or(PROGRESS_COLUMNS)));
        }
    }

    /// Removes the line of `progress`, so that a row can be printed in its place.
    pub(crate) fn clear_progress(&self) {
        if self.shows_progress() {
            show_progress("");
        }
    }

    /// Prints words for people to standard output. A pipe gets them with visible control characters too: its content
    /// often ends on a terminal.
    pub(crate) fn say(&self, words: &str) {
        self.put(&show_controls(words));
    }

    /// Prints a text that is itself the result, such as the answer of a run. A pipe gets it as it was written.
    pub(crate) fn say_as_written(&self, words: &str) {
        if io::stdout().is_terminal() {
            self.say(words);
        } else {
            self.put(words);
        }
    }

    /// Returns the parts of a run that are shown while it goes on. A pipe and JSON get the recorded answer only.
    pub(crate) fn live_parts(&self) -> LiveParts {
        let for_people = self.format == Format::Text;
        LiveParts {
            text: for_people && io::stdout().is_terminal(),
            waits: for_people && io::stderr().is_terminal(),
        }
    }

    /// Prints parts of an answer that is still arriving.
    pub(crate) fn show(&self, parts: &[LiveOutput]) {
        // A panic cannot leave the state half-changed, so a poisoned lock is safe to use.
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        for part in parts {
            match part {
                LiveOutput::Text(text) if io::stdout().is_terminal() => {
                    self.put_part(&arriving.push(text));
                }
                LiveOutput::Text(text) => self.put_part(text),
                LiveOutput::TextEnd => self.put_part(&arriving.finish()),
                LiveOutput::LineEnd => self.put_part(&format!("{}\n", arriving.finish())),
                LiveOutput::Note(words) => self.note(words),
                LiveOutput::Activity(words) => self.progress(words),
                LiveOutput::NoActivity => self.clear_progress(),
            }
        }
    }

    /// Completes when a command that follows something has nobody to print for: the reader of standard output is gone, as
    /// in `holon tail --follow | head -1`, or a part could not be written. Without this, a command that prints only now
    /// and then would learn of a lost reader with its next line, which may never come.
    pub(crate) async fn ended(&self) {
        tokio::select! {
            () = reader_gone() => {}
            _ = self.lost.wait() => {}
        }
    }

    /// Returns the exit code of the command, which is a failure if its result was lost.
    pub(crate) fn exit(&self, exit: Exit) -> Exit {
        match self.lost.get() {
            Some(()) => Exit::Failed,
            None => exit,
        }
    }

    /// Prints a part of the result as a block. Reports a failed write once.
    fn put(&self, words: &str) {
        self.report_lost(print(io::stdout(), words));
    }

    /// Prints a part of the result without a line end. Reports a failed write once.
    fn put_part(&self, words: &str) {
        self.report_lost(write(io::stdout(), words));
    }

    fn report_lost(&self, written: io::Result<()>) {
        if let Err(error) = written
            && self.lost.set(()).is_ok()
        {
            self.failure(&output_failure(&error));
        }
    }

    /// Prints a remark to standard error.
    pub(crate) fn note(&self, words: &str) {
        complain(&show_controls(words));
    }

    /// Prints an error of the command line parser in the selected format. The error repeats the typed text; if that
    /// holds terminal control characters, it is printed without colours.
    pub(crate) fn complain(&self, said: &clap::Error) {
        let words = said.render().to_string();
        if self.format == Format::Json {
            self.failure(&parser_failure(&words));
            return;
        }
        // The rendered text has lost escape sequences, also those that were typed; the coloured one has them.
        let has_hidden = |text: &str| text.contains(is_escaped);
        let typed = std::env::args_os().any(|arg| has_hidden(&arg.to_string_lossy()));
        if typed || has_hidden(&words) {
            self.note(&words);
        } else {
            // A failure to print has no other place to be reported.
            drop(said.print());
        }
    }

    /// Prints a hint only if a person reads standard error.
    pub(crate) fn aside(&self, words: &str) {
        if self.format == Format::Text && io::stderr().is_terminal() {
            self.note(&addressing::hint(words));
        }
    }

    /// Returns true if a person reads standard error, so that progress is shown there.
    pub(crate) fn shows_progress(&self) -> bool {
        self.format == Format::Text && io::stderr().is_terminal()
    }

    /// Prints a failure in the selected format.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut body = failure.body.clone();
        body.hint = body.hint.map(addressing::hint);
        match self.format {
            Format::Json => complain(&json(&body, serde_json::to_string)),
            Format::Text => self.note(&failure_text(&body)),
        }
    }
}

/// Spells a failure for people: what happened, the next step, and the code with the command that explains it. An invalid
/// command line shows no code: its message is all there is to say.
fn failure_text(body: &ErrorBody) -> String {
    let mut lines = vec![format!("error: {}", body.error)];
    lines.extend(body.hint.as_ref().map(|hint| format!("next: {hint}")));
    let code = body.code.as_ref().filter(|code| *code != "usage");
    lines.extend(code.map(|code| format!("code: {code} (holon explain-error {code})")));
    lines.join("\n")
}

/// Converts an error of the command line parser: its first paragraph is the message, and its usage line the next step.
fn parser_failure(words: &str) -> Failure {
    let message = words.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let failure = Failure::usage(message.split_whitespace().collect::<Vec<_>>().join(" "));
    let usage = words.lines().find_map(|line| line.strip_prefix("Usage: "));
    match usage {
        Some(usage) => failure.hint(format!("usage: {}", usage.trim())),
        None => failure.hint("see the options with --help"),
    }
}

/// Wraps long lines at the width of the terminal; a pipe has none.
fn wrap_for_terminal(words: String) -> String {
    match columns() {
        Some(columns) => wrap::wrap(&words, columns),
        None => words,
    }
}

/// Returns the width of the terminal. Absent for a pipe, and for a terminal that is narrow or states no width.
pub(crate) fn columns() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    (size.ws_col >= MIN_COLUMNS).then(|| usize::from(size.ws_col))
}

/// Returns the characters of which the terminal shows bars.
pub(crate) fn bar_style() -> BarStyle {
    match has_utf8_locale(&Env::from_process()) {
        true => BarStyle::Blocks,
        false => BarStyle::Ascii,
    }
}

/// Cuts a line so that it leaves the last column of a terminal free: a full line would begin another one.
fn fit(words: &str, columns: usize) -> String {
    cut_columns(words, columns.saturating_sub(1))
}

/// Completes when the reader of standard output is gone.
async fn reader_gone() {
    let (told, gone) = tokio::sync::oneshot::channel();
    // The thread ends with the process: a wait for the loss of a reader cannot be cancelled.
    std::thread::spawn(move || {
        if wait_for_loss() {
            // The command may have ended meanwhile.
            let _ = told.send(());
        }
    });
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits until standard output has lost its reader. Returns false if that cannot be watched.
fn wait_for_loss() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdout = io::stdout();
    loop {
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn json<T: Serialize>(value: &T, spell: impl Fn(&T) -> serde_json::Result<String>) -> String {
    let spelled = spell(value)
        .unwrap_or_else(|error| format!("{{\"ok\":false,\"error\":\"cannot be shown: {error}\"}}"));
    escape_controls(&spelled)
}

/// Escapes control and unseen characters in JSON as `\uXXXX`. They occur only inside strings, apart from the line ends
/// between members. One beyond four hex digits is written as its two halves.
fn escape_controls(json: &str) -> String {
    let escape = |c: char, shown: &mut String| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            write!(shown, "\\u{unit:04x}").ok();
        }
    };
    replace_hidden(json, is_escaped, escape).into_owned()
}

fn is_escaped(c: char) -> bool {
    c != '\n' && is_unseen(c)
}

/// Writes one block with a line end in a single write, so that lines of several processes do not mix. A closed pipe is
/// not an error.
fn print(to: impl Write, words: &str) -> io::Result<()> {
    let end = if words.ends_with('\n') { "" } else { "\n" };
    write(to, &format!("{words}{end}"))
}

fn write(mut to: impl Write, block: &str) -> io::Result<()> {
    match to.write_all(block.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

/// Goes to the beginning of a line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";
/// True while the last line of standard error is a line of progress.
static IS_PROGRESS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Returns what removes the line of progress, if one is shown, so that another writer can begin a line of its own.
pub(crate) fn take_progress() -> &'static str {
    match IS_PROGRESS_SHOWN.swap(false, Ordering::SeqCst) {
        true => CLEAR_LINE,
        false => "",
    }
}

/// Replaces the last line of standard error by this one. An empty one removes it. Only for a terminal.
pub(crate) fn show_progress(words: &str) {
    IS_PROGRESS_SHOWN.store(!words.is_empty(), Ordering::SeqCst);
    // Progress that cannot be shown is not missed.
    drop(write(
        io::stderr(),
        &format!("{CLEAR_LINE}{}", show_controls(words)),
    ));
}

fn complain(words: &str) {
    // A failure to print has no other place to be reported.
    drop(print(io::stderr(), words));
}

/// Returns the failure of a command whose result could not be printed, although its work is done.
pub(crate) fn output_failure(error: &io::Error) -> Failure {
    let words = format!("the answer could not be written to standard output: {error}");
    Failure::new(Exit::Failed, "output_lost", words).hint(
        "what was asked may be done: look with holon status or holon transcript before you ask again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_is_removed_once_before_another_line() {
        show_progress("working");
        assert_eq!(take_progress(), "\r\u{1b}[K");
        assert_eq!(take_progress(), "");
        show_progress("working");
        show_progress("");
        assert_eq!(take_progress(), "");
    }

    #[test]
    fn an_error_of_the_parser_is_one_message_with_the_usage_as_next_step() {
        let said = "error: the following was not given:\n  <ITEM>\n\nUsage: holon work show <ITEM>\n\nFor more: --help\n";
        let body = parser_failure(said).body;
        assert_eq!(body.error, "the following was not given: <ITEM>");
        assert_eq!(body.code.as_deref(), Some("usage"));
        assert_eq!(body.hint.as_deref(), Some("usage: holon work show <ITEM>"));
    }

    #[test]
    fn a_failure_names_its_code_and_how_to_look_it_up_unless_the_command_line_is_wrong() {
        let failure = Failure::new(Exit::Failed, "agent_not_found", "there is no agent scout")
            .hint("list them: holon agent list");
        assert_eq!(
            failure_text(&failure.body),
            "error: there is no agent scout\nnext: list them: holon agent list\n\
             code: agent_not_found (holon explain-error agent_not_found)"
        );
        let failure = Failure::usage("--every does not say when the first tick is");
        assert_eq!(
            failure_text(&failure.body),
            "error: --every does not say when the first tick is"
        );
    }

    #[test]
    fn a_progress_line_leaves_the_last_column_free_also_with_wide_characters() {
        assert_eq!(fit("abcdef", 4), "abc");
        assert_eq!(fit("漢字仮名", 6), "漢字");
        assert_eq!(fit("ab", 40), "ab");
    }

    #[test]
    fn json_holds_no_character_that_steers_a_terminal_and_reads_the_same() {
        let value = serde_json::json!({
            "a\u{9b}": "\0\t\n\u{1b}\u{7f}\u{85}\u{202a}\u{202e}\u{2069}\u{200e}é漢🦀\\u001b",
            "unseen": "a\u{200b}\u{2028}\u{2029}\u{e0069}\u{feff}",
        });
        let spellings: [fn(&serde_json::Value) -> serde_json::Result<String>; 2] =
            [serde_json::to_string, serde_json::to_string_pretty];
        for spell in spellings {
            let shown = json(&value, spell);
            assert!(!shown.contains(is_escaped), "{shown:?}");
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read, value);
        }
    }
}
