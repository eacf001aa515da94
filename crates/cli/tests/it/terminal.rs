//! Output to a terminal holds no character that steers it, from any source.

use crate::support::world;
use holon_testkit::World;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};

/// Clears the screen in two ways, changes the writing direction in three, deletes, and hides text in four ways.
const STEERING: &str =
    "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{2066}e\u{200f}f\u{7f}\rg\u{200b}h\u{2028}i\u{2029}j\u{e0069}k";

/// Goes to the beginning of a line and clears it, before a line of progress. The only sequence that is ours.
const REPLACE: &str = "\r\u{1b}[K";

/// Says if the program's standard input is a terminal too, and which.
#[derive(Debug)]
enum Keyboard {
    Present,
    Absent,
    Other(File),
}

/// The program on a terminal, and what the terminal has received.
pub(crate) struct Terminal {
    child: Child,
    ours: File,
    seen: Vec<u8>,
    /// Our end of the terminal that has only the keyboard, open as long as the program runs.
    _keyboard: Option<File>,
}

impl Terminal {
    pub(crate) fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command();
        command.args(args);
        Self::run(command, Keyboard::Absent, None)
    }

    /// Starts the program on a terminal of this many columns.
    pub(crate) fn start_sized(world: &World, args: &[&str], columns: u16) -> Self {
        let mut command = world.command();
        command.args(args);
        Self::run(command, Keyboard::Absent, Some((columns, 24)))
    }

    /// Opens a console with these variables on a terminal of this many columns and rows, or of no stated size.
    pub(crate) fn start_console(
        world: &World,
        args: &[&str],
        variables: &[(&str, &str)],
        size: Option<(u16, u16)>,
    ) -> Self {
        let mut command = world.command();
        command.arg("tui").args(args);
        command.envs(variables.iter().copied());
        Self::run(command, Keyboard::Present, size)
    }

    /// Opens a console as the leader of a session, which is told when its terminal is closed. If a size is given for it,
    /// the controlling terminal is another one that has only the keyboard.
    pub(crate) fn start_leader(
        world: &World,
        size: (u16, u16),
        keyboard: Option<(u16, u16)>,
    ) -> Self {
        let prepared = world.command();
        let variables = prepared.get_envs();
        let variables = variables.filter_map(|(name, value)| Some((name, value?)));
        let mut command = Command::new("setsid");
        command
            .env_clear()
            .envs(variables)
            .current_dir(world.path());
        command.arg("--ctty").arg(prepared.get_program()).arg("tui");
        let Some(keyboard) = keyboard else {
            return Self::run(command, Keyboard::Present, Some(size));
        };
        let (ours, theirs) = open(Some(keyboard));
        let terminal = Self::run(command, Keyboard::Other(theirs), Some(size));
        Self {
            _keyboard: Some(ours),
            ..terminal
        }
    }

    /// Starts the program with these variables and with the terminal as its standard input too.
    pub(crate) fn start_attended(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = world.command();
        command.args(args).envs(variables.iter().copied());
        Self::run(command, Keyboard::Present, None)
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        self.ours.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Starts the program; a terminal without a size states none.
    fn run(mut command: Command, keyboard: Keyboard, size: Option<(u16, u16)>) -> Self {
        let (ours, theirs) = open(size);
        match keyboard {
            Keyboard::Present => command.stdin(theirs.try_clone().unwrap()),
            Keyboard::Other(other) => command.stdin(other),
            Keyboard::Absent => &mut command,
        };
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        // The command holds the other end of the terminal; reading ends when the last holder closes it.
        Self {
            child: command.spawn().unwrap(),
            ours,
            seen: Vec::new(),
            _keyboard: None,
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

    /// Interrupts the program, as Ctrl+C does.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.unwrap(), signal).unwrap();
    }

    /// Gives the terminal another size, tells the program, and waits until it has written these words again.
    pub(crate) fn resize(&mut self, size: (u16, u16), words: &str) {
        let count = |seen: &[u8]| String::from_utf8_lossy(seen).matches(words).count();
        let before = count(&self.seen);
        tcsetwinsize(&self.ours, window(size)).unwrap();
        self.signal(Signal::WINCH);
        while count(&self.seen) == before {
            assert!(self.read(), "{words:?} was not shown: {:?}", self.seen);
        }
    }

    /// Writes into the terminal until it takes no more, as if its reader had stopped.
    pub(crate) fn fill(&self) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let theirs = ioctl_tiocgptpeer(&self.ours, flags).unwrap();
        rustix::io::ioctl_fionbio(&theirs, true).unwrap();
        let mut theirs = File::from(theirs);
        let moment = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        // What is written moves on to the reader's side, where there is room for more.
        let has_room = |theirs: &File| {
            let mut looked = [PollFd::new(theirs, PollFlags::OUT)];
            poll(&mut looked, Some(&moment)).unwrap() > 0
        };
        while has_room(&theirs) {
            while theirs.write(&[b' '; 256]).is_ok() {}
        }
    }

    /// Closes the terminal and waits for the end of the program.
    pub(crate) fn close(self) -> ExitStatus {
        let Self {
            mut child, ours, ..
        } = self;
        drop(ours);
        child.wait().unwrap()
    }

    /// Waits for the end of the program, without reading what it writes.
    pub(crate) fn wait_unread(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits for the end of the program and returns how it ended, with everything that the terminal received.
    pub(crate) fn finish_status(mut self) -> (ExitStatus, String) {
        while self.read() {}
        let status = self.child.wait().unwrap();
        (status, String::from_utf8_lossy(&self.seen).into_owned())
    }

    /// Ends the program, which does not end by itself, and returns everything that the terminal received.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.finish_raw()
    }

    /// Waits for the end of the program and returns what the terminal received, without lines that were replaced.
    pub(crate) fn finish(self) -> String {
        let seen = self.finish_raw();
        let kept = |line: &str| line.rsplit(REPLACE).next().unwrap_or_default().to_owned();
        let lines: Vec<String> = seen.split('\n').map(kept).collect();
        lines.join("\n")
    }

    /// Waits for the end of the program and returns everything that the terminal received.
    pub(crate) fn finish_raw(mut self) -> String {
        while self.read() {}
        self.child.wait().unwrap();
        let seen = String::from_utf8(self.seen).unwrap();
        // The terminal makes two characters of each line end.
        seen.replace("\r\n", "\n")
    }
}

/// Opens a terminal and returns our end of it and that of a program.
fn open(size: Option<(u16, u16)>) -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
    if let Some(size) = size {
        tcsetwinsize(&theirs, window(size)).unwrap();
    }
    (File::from(ours), theirs)
}

const fn window((ws_col, ws_row): (u16, u16)) -> Winsize {
    Winsize {
        ws_row,
        ws_col,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Runs the program on a terminal and returns what the terminal received.
fn on_a_terminal(world: &World, args: &[&str]) -> String {
    Terminal::start(world, args).finish()
}

fn steers(text: &str) -> bool {
    let steering = holon_domain::visible::is_unseen;
    text.contains(|c| steering(c) && !matches!(c, '\n' | '\t'))
}

#[test]
fn a_token_that_is_typed_at_a_terminal_is_not_shown() {
    let world = world();
    let token = "typed-token-0123456789abcdef0123456789abcdef";
    let args = [
        "status",
        "--connect",
        "http://127.0.0.1:1",
        "--token-file",
        "-",
    ];
    let mut terminal = Terminal::start_attended(&world, &args, &[]);
    terminal.wait_for("the token, not shown while you type it");
    terminal.type_line(token);
    let seen = terminal.finish();
    assert!(seen.contains("no host can be reached at"), "{seen}");
    assert!(!seen.contains(token), "{seen}");
}

#[test]
fn words_from_outside_never_steer_a_terminal() {
    let world = world();
    let model = world.model("steering", &json!([{ "text": STEERING }]));
    let served = world.serve(&["--model", &model]);
    for args in [
        &["run", STEERING, "--agent", "main"] as &[&str],
        &["tail"],
        &["tail", "--display", "verbose"],
        &["tail", "--display", "debug"],
        &["events"],
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
fn agents_are_a_table_on_a_terminal_and_lines_in_a_pipe() {
    let world = world();
    let model = world.model("hello", &json!([{ "text": "Hello there." }]));
    let served = world.serve(&["--model", &model]);
    for name in ["scout", "a-reviewer-of-everything-that-is-ever-written"] {
        assert_eq!(world.run(&["agent", "create", name]).code, Some(0));
    }
    while world.run(&["agent", "list"]).answer().contains("booting") {}
    for args in [
        &["agent", "list"] as &[&str],
        &["agent", "list", "--all"],
        &["agent", "tree"],
    ] {
        for columns in [40, 80, 200] {
            let shown = Terminal::start_sized(&world, args, columns).finish();
            let width = usize::from(columns);
            let too_wide = shown.lines().find(|line| line.chars().count() > width);
            assert_eq!(too_wide, None, "{shown}");
            assert!(shown.starts_with("NAME  "), "{shown}");
            // A cut name has a mark of three bytes in one column.
            let columns_of = |line: &str, word| {
                line.split_once(word)
                    .map(|(before, _)| before.chars().count())
            };
            let header = columns_of(shown.lines().next().unwrap(), "STATE");
            let states = shown.lines().skip(1).map(|line| columns_of(line, "asleep"));
            assert!(states.clone().all(|at| at == header), "{shown}");
            assert_eq!(states.count(), 3, "{shown}");
            let has_model = shown.contains("MODEL") && shown.contains("scripted/");
            assert_eq!(has_model, columns >= 80, "{shown}");
        }
        let piped = world.run(args);
        assert!(!piped.answer().contains("NAME"), "{piped:?}");
        assert!(
            piped
                .answer()
                .contains("a-reviewer-of-everything-that-is-ever-written  asleep"),
            "{piped:?}"
        );
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_says_on_a_terminal_what_it_does_and_a_pipe_gets_nothing_of_it() {
    let world = world();
    for place in ["host", "here"] {
        let meeting = world.meeting(place);
        let call = json!({ "tool": "ExecCommand", "input": { "cmd": meeting.shell() } });
        let script = json!([{ "calls": [call] }, { "text": "It is done." }]);
        let model = world.model(place, &script);
        let served = (place == "host").then(|| world.serve(&["--model", &model]));
        let mut terminal = Terminal::start(&world, &["run", "hi", "--model", &model]);
        meeting.wait();
        terminal.wait_for(" s  Running: ");
        meeting.let_go();
        let shown = terminal.finish_raw();
        let (before, after) = shown.rsplit_once(REPLACE).unwrap();
        assert!(before.contains(REPLACE), "the line is replaced: {shown:?}");
        assert!(shown.contains("It is done."), "{shown:?}");
        assert!(!after.contains(" s  "), "the line is gone: {shown:?}");
        assert!(!steers(&shown.replace(REPLACE, "")), "{shown:?}");
        if let Some(served) = served {
            assert_eq!(served.terminate().0, Some(0));
        }
    }
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
        &["tail", "--json", "--display", "debug"],
        &["events", "--json"],
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

#[test]
fn an_explanation_the_doctor_and_briefs_fit_into_eighty_columns() {
    let world = world();
    let words = "word ".repeat(60);
    let model = world.model("wordy", &json!([{ "text": words }]));
    let served = world.serve(&["--model", &model]);
    let ran = world.run(&["run", &words, "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for args in [&["tail"] as &[&str], &["explain"], &["config", "doctor"]] {
        let shown = Terminal::start_sized(&world, args, 80).finish();
        for line in shown.lines().filter(|line| line.chars().count() > 80) {
            // Only a word that fills a line by itself, such as a path, stays whole.
            let longest = line.split(' ').map(str::len).max().unwrap_or_default();
            assert!(longest > 60, "{args:?}: {line}");
        }
        let piped = world.run(args);
        let long = piped.stdout.lines().any(|line| line.chars().count() > 80);
        assert!(long, "{args:?}: a pipe gets whole lines: {piped:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_typed_escape_sequence_is_not_repeated_to_the_terminal() {
    let world = world();
    let typed = "stat\u{1b}]52;c;QQ==\u{7}us";
    for args in [
        &[typed][..],
        &["help", typed],
        &["tail", "--limit", typed],
        &["daemon", "start", "--port", typed],
    ] {
        let shown = on_a_terminal(&world, args);
        assert!(shown.contains("error:"), "{args:?}: {shown:?}");
        let has_typed = shown.contains("\u{1b}]") || shown.contains('\u{7}');
        assert!(!has_typed, "{args:?}: {shown:?}");
    }
}
