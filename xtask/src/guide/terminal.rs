//! A terminal with a tmux server of its own: started, typed into, read, and ended when it is dropped.

use super::stage::{Stage, wait_for};
use crate::Failure;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Printed after a shown command, and not part of its picture.
const END: &str = "== end ==";
/// Rows of a terminal in which a command is shown; the empty ones are not part of its picture.
const ROWS: u16 = 60;

/// Explains what to do if tmux is missing.
pub(super) fn require_tmux() -> Result<(), Failure> {
    let found = Command::new("tmux")
        .arg("-V")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    if found.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(
        "the guide is run in a terminal of tmux, which is not installed: apt install tmux"
            .to_owned(),
    )
}

/// Runs a command in a terminal of its own, and returns the line of its prompt and its output with their colours.
pub(super) fn show(stage: &Stage, columns: u16, command: &str) -> Result<String, Failure> {
    let lines = format!("echo '$ {command}'\n{command}\necho '{END}'\nread end\n");
    let terminal = Terminal::start(stage, columns, ROWS, &lines)?;
    terminal.see(END)?;
    let screen = terminal.coloured_screen()?;
    let shown = screen.split(END).next().unwrap_or_default();
    Ok(shown.to_owned())
}

/// A terminal in which one program runs.
pub(super) struct Terminal {
    /// Each terminal has its own, because a server that ends still holds its socket for a while.
    socket: PathBuf,
}

impl Terminal {
    /// Runs lines of a shell in a terminal of this size.
    pub(super) fn start(
        stage: &Stage,
        columns: u16,
        rows: u16,
        lines: &str,
    ) -> Result<Self, Failure> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::SeqCst);
        let terminal = Self {
            socket: stage.aside(&format!("tmux-{number}")),
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut command = stage.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]);
        command.arg(&terminal.socket);
        command.args(["new-session", "-d", "-x", &columns, "-y", &rows]);
        command.args(["sh", "-c", &stage.script(lines)]);
        printed(command)?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket);
        command.args(arguments).stdin(Stdio::null());
        printed(command)
    }

    pub(super) fn key(&self, name: &str) -> Result<(), Failure> {
        self.tmux(&["send-keys", name]).map(drop)
    }

    /// Types a line and sends it, after the program has shown it.
    pub(super) fn enter(&self, text: &str) -> Result<(), Failure> {
        self.tmux(&["send-keys", "-l", text])?;
        self.see(text)?;
        self.key("Enter")
    }

    /// Waits until the screen shows these words.
    pub(super) fn see(&self, words: &str) -> Result<(), Failure> {
        let mut shown = String::new();
        let seen = wait_for(words, || {
            shown = self.tmux(&["capture-pane", "-p"])?;
            Ok(shown.contains(words))
        });
        seen.map_err(|failure| format!("{failure}\n{shown}"))
    }

    /// The screen with the sequences of its colours.
    pub(super) fn coloured_screen(&self) -> Result<String, Failure> {
        self.tmux(&["capture-pane", "-e", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The server has ended already if its program has.
        let ended = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if let Err(error) = ended {
            println!("cannot end the terminal: {error}");
        }
    }
}

fn printed(mut command: Command) -> Result<String, Failure> {
    let output = command
        .output()
        .map_err(|error| format!("cannot start tmux: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "tmux failed: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}
