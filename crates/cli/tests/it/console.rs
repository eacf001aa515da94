//! The console, driven in a real terminal: tmux starts it, types into it and reads its screen.

mod bare;
mod hangs;
mod trouble;

use crate::support::{until, world};
use holon_testkit::World;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// If this variable is set, a missing program fails the test instead of skipping it.
const NEEDED: &str = "HOLON_TESTS_NEED_PROGRAMS";

/// Returns true if tmux is installed, and prints a message if it is not.
#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what is not tested has to be said, and what may be left out is no setting of the product"
)]
fn has_tmux() -> bool {
    let found = Command::new("tmux").arg("-V").stdin(Stdio::null()).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let is_needed = std::env::var_os(NEEDED).is_some_and(|value| !value.is_empty());
        assert!(!is_needed, "tmux is not installed");
        println!("the console is not tested in a terminal, tmux is not installed");
    }
    found
}

/// A terminal with a tmux server of its own, which ends with it.
struct Tmux<'a> {
    world: &'a World,
    /// Socket of the server; each terminal has its own, because a server that ends still holds its socket for a while.
    socket: PathBuf,
}

impl<'a> Tmux<'a> {
    /// Starts a shell line in a terminal of this size.
    fn start(world: &'a World, columns: u16, rows: u16, line: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::SeqCst);
        let socket = world.path().join(format!("tmux-{number}.sock"));
        let tmux = Self { world, socket };
        tmux.run(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
            line,
        ]);
        tmux
    }

    /// Opens a console. The shell says what it ended with and whether the terminal is as it was.
    fn console(world: &'a World, columns: u16, rows: u16, args: &str) -> Self {
        let program = world.command();
        let program = program.get_program().to_string_lossy().into_owned();
        let line = format!(
            "'{program}' tui {args}; echo \"closed $?\"; stty -a | grep -o ' icanon'; read end"
        );
        Self::start(world, columns, rows, &line)
    }

    fn run(&self, args: &[&str]) -> String {
        let prepared = self.world.command();
        let variables = prepared.get_envs();
        let variables = variables.filter_map(|(name, value)| Some((name, value?)));
        let output = Command::new("tmux")
            .env_clear()
            .envs(variables)
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .current_dir(self.world.path())
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Opens a console of the usual size and waits until it can be written to.
    fn open_console(world: &'a World) -> Self {
        let tmux = Self::console(world, 80, 24, "");
        tmux.sees("message to main");
        tmux
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    fn key(&self, name: &str) {
        self.run(&["send-keys", name]);
    }

    fn write(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    fn enter(&self, text: &str) {
        self.write(text);
        // The completions close with the text; one key more would choose another.
        self.sees(text);
        self.key("Enter");
    }

    fn sees(&self, words: &str) {
        let mut shown = String::new();
        let mut is_there = || {
            shown = self.screen();
            shown.contains(words)
        };
        let what = format!("the screen shows {words:?}");
        let seen =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| until(&what, &mut is_there)));
        assert!(seen.is_ok(), "{what} not:\n{shown}");
    }

    fn sees_no(&self, words: &str) {
        until(&format!("{words:?} is gone"), || {
            !self.screen().contains(words)
        });
    }

    fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &rows]);
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // The server may have ended with its last terminal.
        let ended = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .stderr(Stdio::null())
            .status();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

#[test]
fn an_operator_works_in_the_console_over_a_restart_of_the_host() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let meeting = world.meeting("tool");
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": format!("{}; echo 'seen \u{1b}[31m'", meeting.shell()) } });
    let model = world.model(
        "worker",
        &json!([
            { "text": "I look.", "calls": [call] },
            { "text": "**First** answer." },
            { "text": "Second answer." },
        ]),
    );
    let served = world.serve(&["--model", &model]);
    let tmux = Tmux::console(&world, 100, 30, "--display verbose");
    tmux.sees("message to main");
    tmux.enter("please look");
    meeting.wait();
    tmux.sees("echo here");
    meeting.let_go();
    tmux.sees("First answer.");
    assert_eq!(
        tmux.screen().matches("please look").count(),
        1,
        "{}",
        tmux.screen()
    );
    for (command, words) in [
        ("/help", "── Help main"),
        ("/status", "── Status main"),
        ("/agents", "── Agents main"),
        ("/events", "── Raw events main"),
        ("/transcript", "── Transcript main"),
        ("/tasks", "── Tasks main"),
        ("/work", "── Work items main"),
        ("/timers", "── Timers and waits main"),
        ("/triggers", "── External triggers main"),
        ("/workspace", "── Workspaces main"),
        ("/model", "── Model of the agent main"),
        ("/usage", "── Usage all agents"),
        ("/budget", "── Budgets all agents"),
        ("/skills", "── Skills main"),
        ("/debug-prompt", "── Prompt of the last turn main"),
    ] {
        tmux.enter(command);
        tmux.sees(words);
        tmux.key("Escape");
        tmux.sees("First answer.");
    }
    tmux.resize(1, 1);
    tmux.resize(100, 30);
    tmux.sees("First answer.");
    assert_eq!(served.terminate().0, Some(0));
    tmux.sees("no connection");
    tmux.write("and then");
    tmux.sees("and then");
    let served = world.serve(&["--model", &model]);
    tmux.sees_no("no connection");
    tmux.key("Enter");
    tmux.sees("Second answer.");
    // Until the turn ends, its newest words stand in the status line too.
    tmux.sees_no("Assistant progress");
    tmux.sees("Second answer.");
    let shown = tmux.screen();
    for words in ["please look", "First answer.", "and then", "Second answer."] {
        assert_eq!(shown.matches(words).count(), 1, "{words}:\n{shown}");
    }
    tmux.key("C-c");
    tmux.sees("closed 0");
    tmux.sees("icanon");
    assert!(world.run(&["status"]).answer().contains("agent      main"));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn tasks_are_followed_written_to_and_stopped_from_the_console() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let cmd = "echo ready; while read line; do echo \"got $line\"; done";
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": cmd, "yield_time_ms": 0, "accepts_input": true } });
    let model = world.model(
        "starter",
        &json!([{ "text": "I start.", "calls": [call] }, { "text": "Started." }]),
    );
    let served = world.serve(&["--model", &model]);
    let tmux = Tmux::console(&world, 100, 30, "--no-alt-screen");
    tmux.sees("message to main");
    tmux.enter("start it");
    tmux.sees("Started.");
    tmux.enter("/tasks");
    tmux.sees("running");
    tmux.key("Enter");
    tmux.sees("ready");
    tmux.key("i");
    tmux.sees("input of the task");
    tmux.write("hello");
    tmux.key("Enter");
    tmux.sees("got hello");
    tmux.key("x");
    tmux.sees("x once more");
    tmux.key("x");
    tmux.sees("is asked to end");
    tmux.key("C-c");
    tmux.sees("Started.");
    tmux.key("C-c");
    tmux.sees("closed 0");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn without_a_host_or_a_terminal_the_console_says_so() {
    let world = world();
    let piped = world.run(&["tui"]);
    assert_eq!(piped.code, Some(2), "{piped:?}");
    assert!(piped.stderr.contains("holon tail --follow"), "{piped:?}");
    if !has_tmux() {
        return;
    }
    let tmux = Tmux::console(&world, 100, 20, "");
    tmux.sees("no host is running");
    tmux.sees("closed 3");
}

/// Starts a shell with job control, in which `sh start` opens a console.
fn from_shell<'a>(world: &'a World, args: &str) -> Tmux<'a> {
    let tmux = Tmux::start(world, 80, 24, "PS1='shell> ' sh -i");
    let program = world.command();
    let program = program.get_program().to_string_lossy().into_owned();
    std::fs::write(
        world.path().join("start"),
        format!("echo $$ > pid\nexec '{program}' tui {args}\n"),
    )
    .unwrap();
    tmux.sees("shell>");
    tmux
}

fn signal(world: &World, name: &str) {
    let pid = std::fs::read_to_string(world.path().join("pid")).unwrap();
    let sent = Command::new("kill").args([name, pid.trim()]).status();
    assert!(sent.unwrap().success());
}

/// Lets the shell say whether it has its terminal again.
fn checks_terminal(tmux: &Tmux<'_>, word: &str) {
    until("the shell asks for a line", || {
        tmux.screen().trim_end().ends_with("shell>")
    });
    tmux.write(&format!(
        "stty -a | grep -o ' icanon' | sed s/icanon/{word}-again/"
    ));
    tmux.key("Enter");
    tmux.sees(&format!(" {word}-again\n"));
}

#[test]
fn every_signal_that_ends_the_console_restores_the_terminal() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let served = world.serve(&["--model", &crate::support::hello(&world)]);
    let tmux = from_shell(&world, "");
    for name in ["TERM", "QUIT", "USR1", "HUP", "INT", "USR2", "ALRM"] {
        tmux.write("sh start");
        tmux.key("Enter");
        tmux.sees("message to main");
        signal(&world, &format!("-{name}"));
        // The screen of the shell is back, without that of the console.
        tmux.sees_no("message to main");
        checks_terminal(&tmux, name);
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_suspended_console_gives_the_terminal_back_and_comes_back() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let served = world.serve(&["--model", &crate::support::hello(&world)]);
    for args in ["", "--no-alt-screen"] {
        let tmux = from_shell(&world, args);
        tmux.write("sh start");
        tmux.key("Enter");
        tmux.sees("message to main");
        tmux.write("half a thought");
        tmux.sees("half a thought");
        let mut draft = "half a thought".to_owned();
        for way in ["key", "signal"] {
            match way {
                "key" => tmux.key("C-z"),
                _ => signal(&world, "-TSTP"),
            }
            checks_terminal(&tmux, way);
            tmux.write("clear; fg");
            tmux.key("Enter");
            tmux.sees(&draft);
            tmux.write(way);
            draft.push_str(way);
            tmux.sees(&draft);
        }
        tmux.key("C-c");
        tmux.sees_no("thoughtkeysignal");
        tmux.key("C-c");
        checks_terminal(&tmux, "end");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_that_no_shell_can_continue_is_not_suspended() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let served = world.serve(&["--model", &crate::support::hello(&world)]);
    let tmux = Tmux::open_console(&world);
    tmux.key("C-z");
    tmux.sees("not suspended");
    tmux.key("C-c");
    tmux.sees("closed 0");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn what_was_entered_comes_back_in_the_next_console() {
    use std::os::unix::fs::PermissionsExt as _;
    if !has_tmux() {
        return;
    }
    let world = world();
    let served = world.serve(&["--model", &crate::support::hello(&world)]);
    let tmux = Tmux::open_console(&world);
    tmux.enter("remember me");
    tmux.sees("Hello there.");
    tmux.key("C-c");
    tmux.sees("closed 0");
    drop(tmux);
    let file = world.home().join("run").join("console.history");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let tmux = Tmux::open_console(&world);
    tmux.key("Up");
    tmux.sees("❯ remember me");
    tmux.key("C-c");
    tmux.key("C-c");
    tmux.sees("closed 0");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_long_output_is_shown_from_its_end() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let meeting = world.meeting("task");
    let cmd = format!("seq 1 300000; {}", meeting.shell());
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": cmd, "yield_time_ms": 0 } });
    let model = world.model(
        "starter",
        &json!([{ "text": "I start.", "calls": [call] }, { "text": "Started." }]),
    );
    let served = world.serve(&["--model", &model]);
    let tmux = Tmux::console(&world, 100, 30, "");
    tmux.sees("message to main");
    tmux.enter("start it");
    tmux.sees("Started.");
    meeting.wait();
    tmux.enter("/tasks");
    tmux.sees("running");
    tmux.key("Enter");
    tmux.sees("\n300000");
    tmux.key("Home");
    tmux.sees("bytes stand before");
    meeting.let_go();
    tmux.key("C-c");
    tmux.key("C-c");
    tmux.sees("closed 0");
    assert_eq!(served.terminate().0, Some(0));
}
