//! Output to a terminal holds no character that steers it, from any source.

use crate::support::world;
use holon_testkit::World;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};

/// Clears the screen in two ways, changes the writing direction in three, and deletes.
const STEERING: &str = "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{2066}e\u{200f}f\u{7f}\rg";

/// Says if the terminal is the program's standard input too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keyboard {
    Present,
    Absent,
}

/// The program on a terminal, and what the terminal has received.
pub(crate) struct Terminal {
    child: Child,
    ours: File,
    seen: Vec<u8>,
}

impl Terminal {
    pub(crate) fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command();
        command.args(args);
        Self::run(command, Keyboard::Absent)
    }

    /// Starts the program with these variables and with the terminal as its standard input too.
    pub(crate) fn start_attended(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = world.command();
        command.args(args).envs(variables.iter().copied());
        Self::run(command, Keyboard::Present)
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.ours.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn run(mut command: Command, keyboard: Keyboard) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
        if keyboard == Keyboard::Present {
            command.stdin(theirs.try_clone().unwrap());
        }
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        // The command holds the other end of the terminal; reading ends when the last holder closes it.
        Self {
            child: command.spawn().unwrap(),
            ours: File::from(ours),
            seen: Vec::new(),
        }
    }

    /// Reads more; false at the end of the program.
    fn read(&mut self) -> bool {
        let mut piece = [0; 4_096];
        let read = self.ours.read(&mut piece).unwrap_or(0);
        self.seen.extend_from_slice(&piece[..read]);
        read > 0
    }

    /// Waits until the terminal has received these words.
    pub(crate) fn wait_for(&mut self, words: &str) {
        while !String::from_utf8_lossy(&self.seen).contains(words) {
            assert!(self.read(), "{words:?} was not shown: {:?}", self.seen);
        }
    }

    /// Waits for the end of the program and returns everything that the terminal received.
    pub(crate) fn finish(mut self) -> String {
        while self.read() {}
        self.child.wait().unwrap();
        let seen = String::from_utf8(self.seen).unwrap();
        // The terminal makes two characters of each line end.
        seen.replace("\r\n", "\n")
    }
}

/// Runs the program on a terminal and returns what the terminal received.
fn on_a_terminal(world: &World, args: &[&str]) -> String {
    Terminal::start(world, args).finish()
}

fn steers(text: &str) -> bool {
    let steering = holon_domain::text::is_display_control;
    text.contains(|c| steering(c) && !matches!(c, '\n' | '\t'))
}

#[test]
fn words_from_outside_never_steer_a_terminal() {
    let world = world();
    let model = world.model("steering", &json!([{ "text": STEERING }]));
    let served = world.serve(&["--model", &model]);
    for args in [
        &["run", STEERING, "--agent", "main"] as &[&str],
        &["tail"],
        &["transcript"],
        &["status"],
        &["agent", "list"],
        &["run", "hi", "--agent", STEERING],
        &["agent", "create", STEERING],
        &["run", "hi", "--agent", "main", "--model", STEERING],
        &[STEERING],
    ] {
        let shown = on_a_terminal(&world, args);
        assert!(!shown.trim().is_empty(), "{args:?}");
        assert!(!steers(&shown), "{args:?}: {shown:?}");
    }
    let tail = on_a_terminal(&world, &["tail"]);
    assert!(tail.contains("a␛[2Jb\u{fffd}2Jc\u{fffd}d"), "{tail:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn json_is_the_same_on_a_terminal_and_in_a_pipe_and_steers_neither() {
    let world = world();
    let model = world.model("steering", &json!([{ "text": STEERING }]));
    let served = world.serve(&["--model", &model]);
    assert_eq!(
        world.run(&["run", STEERING, "--agent", "main"]).code,
        Some(0)
    );
    for args in [
        &["tail", "--json"] as &[&str],
        &["transcript", "--json"],
        &["agent", "create", STEERING, "--json"],
    ] {
        let shown = on_a_terminal(&world, args);
        assert!(!steers(&shown), "{args:?}: {shown:?}");
        let piped = world.run(args);
        assert_eq!(
            shown,
            format!("{}{}", piped.stdout, piped.stderr),
            "{args:?}"
        );
    }
    let tail: Value = serde_json::from_str(&on_a_terminal(&world, &["tail", "--json"])).unwrap();
    assert_eq!(tail[0]["text"], STEERING);
    assert_eq!(served.terminate().0, Some(0));
}
