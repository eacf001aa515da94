//! Completes the commands that a hint proposes: under `--connect` or `--home` they have to name the same host.
//!
//! Who writes a hint passes it through [`hint`]. Texts of agents and operators are not passed: they stay as they were
//! stored.
//! Under `--connect`, commands that work on the machine of the host only stay as they are.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

/// Options that name the host of this process's command. Absent if the environment or the defaults name it. A process
/// runs one command, so they are set once, before anything is printed.
static HOST_OPTIONS: OnceLock<HostOptions> = OnceLock::new();

/// Options that name a host.
#[derive(Debug)]
pub(crate) struct HostOptions {
    words: String,
    /// True for a host at a URL, which only a part of the commands can be given.
    is_remote: bool,
}

impl HostOptions {
    /// Names the host at a URL. The path of the token file is made absolute: the command may be run in another directory.
    /// `-` stands for the standard input.
    pub(crate) fn of_url(url: &str, token_file: &Path) -> Self {
        let absolute = match token_file == Path::new("-") {
            true => token_file.to_owned(),
            false => std::path::absolute(token_file).unwrap_or_else(|_| token_file.to_owned()),
        };
        let file = absolute.display().to_string();
        Self {
            words: format!("--connect {} --token-file {}", quoted(url), quoted(&file)),
            is_remote: true,
        }
    }

    /// Names the host of a home. The path is made absolute: the command may be run in another directory.
    pub(crate) fn of_home(home: &Path) -> Self {
        let absolute = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        Self {
            words: format!("--home {}", quoted(&absolute.display().to_string())),
            is_remote: false,
        }
    }

    /// Returns true if these words are a command of this program that can be given these options.
    fn fit(&self, command: &str) -> bool {
        let word = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = command.find(|c| !word(c)).unwrap_or(command.len());
        let name = command.get(..end).unwrap_or_default();
        REMOTE.contains(&name) || !self.is_remote && OF_A_HOME.contains(&name)
    }
}

/// Sets the options that name the host of this process's command.
pub(crate) fn set_host(options: HostOptions) {
    HOST_OPTIONS.get_or_init(|| options);
}

/// Returns a hint in which proposed commands name the host of this process's command.
pub(crate) fn hint(words: impl Into<String>) -> String {
    let words = words.into();
    match HOST_OPTIONS.get() {
        None => words,
        Some(options) => complete(&words, options),
    }
}

/// What stands before a proposed command. The name of the program in the middle of a sentence is not a command.
const BEFORE: [&str; 8] = [": ", "; ", ", ", "(", "`", "then ", "with ", " or "];

/// Quotes a word for a shell if it needs that.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:[]".contains(c);
    match word.chars().all(plain) && !word.is_empty() {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', "'\\''"))),
    }
}

/// Adds the options of the host to each proposed command that takes them.
fn complete(text: &str, options: &HostOptions) -> String {
    const PROGRAM: &str = "holon ";
    let mut completed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, from) = rest.split_at(at);
        let command = from.get(PROGRAM.len()..).unwrap_or_default();
        completed.push_str(before);
        completed.push_str(PROGRAM);
        if is_proposed(&completed) && options.fit(command) {
            completed.push_str(&options.words);
            completed.push(' ');
        }
        rest = command;
    }
    completed.push_str(rest);
    completed
}

/// Returns true if the program that a text ends with is the beginning of a command.
fn is_proposed(text: &str) -> bool {
    let before = text.strip_suffix("holon ").unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.trim().is_empty() || BEFORE.iter().any(|mark| before.ends_with(mark))
}

/// Commands that take `--connect`.
#[rustfmt::skip]
const REMOTE: [&str; 29] = [
    "run", "prompt", "status", "tail", "tui", "events", "transcript", "explain", "control", "debug", "context", "work",
    "task", "wait", "timer", "workspace", "worktree", "wake", "agent", "memory", "skills", "delivery", "usage", "budget",
    "storage", "binding", "trigger", "webhook", "token",
];

/// Commands that work on a home of this machine and take no `--connect`.
#[rustfmt::skip]
const OF_A_HOME: [&str; 10] = [
    "init", "serve", "daemon", "service", "solve", "template", "config", "backup", "restore", "doctor",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory as _;

    #[test]
    fn a_proposed_command_names_the_host_that_was_asked() {
        let options = HostOptions::of_url("http://10.0.0.5:7878", Path::new("/users/jo/my token"));
        let host = "--connect http://10.0.0.5:7878 --token-file '/users/jo/my token'";
        assert_eq!(options.words, host);
        let here = std::env::current_dir().expect("a directory");
        for (file, named) in [("jo", here.join("jo")), ("-", "-".into())] {
            let words = HostOptions::of_url("http://box:1", Path::new(file)).words;
            let file = quoted(&named.display().to_string()).into_owned();
            assert_eq!(words, format!("--connect http://box:1 --token-file {file}"));
        }
        for (text, expected) in [
            (
                "list them: holon agent list",
                format!("list them: holon {host} agent list"),
            ),
            (
                "see: holon status; or (holon tail --follow), then holon work list",
                format!(
                    "see: holon {host} status; or (holon {host} tail --follow), then holon {host} work list"
                ),
            ),
            (
                "holon budget show\n  holon run x",
                format!("holon {host} budget show\n  holon {host} run x"),
            ),
            (
                "on that machine: holon daemon status",
                "on that machine: holon daemon status".to_owned(),
            ),
            ("holon config doctor", "holon config doctor".to_owned()),
            (
                "what holon status shows",
                "what holon status shows".to_owned(),
            ),
            ("run: holon", "run: holon".to_owned()),
            ("the holon ", "the holon ".to_owned()),
        ] {
            assert_eq!(complete(text, &options), expected);
        }
    }

    #[test]
    fn a_proposed_command_names_the_home_that_was_named() {
        let options = HostOptions::of_home(Path::new("/users/jo/my home"));
        let home = "--home '/users/jo/my home'";
        for (text, expected) in [
            (
                "start it with: holon daemon start",
                format!("start it with: holon {home} daemon start"),
            ),
            (
                "set it with holon init or holon config set KEY VALUE",
                format!("set it with holon {home} init or holon {home} config set KEY VALUE"),
            ),
            (
                "(holon prompt --agent main \"...\")",
                format!("(holon {home} prompt --agent main \"...\")"),
            ),
            (
                "without a key try: holon demo",
                "without a key try: holon demo".to_owned(),
            ),
            (
                "the files of holon agent homes",
                "the files of holon agent homes".to_owned(),
            ),
        ] {
            assert_eq!(complete(text, &options), expected);
        }
        let beside = HostOptions::of_home(Path::new("jo"));
        let here = std::env::current_dir().expect("a directory");
        let whole = quoted(&here.join("jo").display().to_string()).into_owned();
        assert_eq!(beside.words, format!("--home {whole}"));
    }

    #[test]
    fn every_command_is_known_to_take_another_host_or_not() {
        const WITHOUT: [&str; 4] = ["explain-error", "demo", "completions", "man-pages"];
        let commands = Args::command();
        let mut names: Vec<&str> = commands
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let mut known: Vec<&str> = REMOTE.into_iter().chain(OF_A_HOME).chain(WITHOUT).collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
