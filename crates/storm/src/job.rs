//! What one prompt asks an agent to do, as tool calls whose every effect leaves a token that can be counted.
//!
//! A token is new with every call a model makes. When a model's answer is lost with the host, the next answer carries
//! other tokens, so a token that is found twice always means that one call took effect twice.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file of a workspace to which every patch adds a line, below a first line that never changes.
pub(crate) const LEDGER: &str = "ledger";
/// The first line of that file.
pub(crate) const LEDGER_HEAD: &str = "# one line for each patch";
/// How the text of a follow-up begins; its token comes next.
const LATER: &str = "Later: ";
/// The directory of a workspace in which every patch adds a file named by its token.
pub(crate) const PATCHED: &str = "patched";

/// What an agent is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// Answer without calling anything.
    Say,
    /// `ExecCommand` several times in one round, each command pausing between its two marks.
    Commands { pauses_ms: Vec<u64> },
    /// One `ExecCommandBatch`.
    Batch { pauses_ms: Vec<u64> },
    /// One `ExecCommand` that removes everything in its agent's home between its two marks.
    Clean { way: Cleaning, pause_ms: u64 },
    /// One `ApplyPatch` that adds so many files and changes one.
    Patch { added: u64 },
    /// One `Enqueue`, whose text is a turn of its own later.
    Later,
    /// `ExecCommand` that goes on as a task.
    Task {
        pause_ms: u64,
        yield_ms: u64,
        /// On a terminal instead of pipes.
        tty: bool,
        then: Then,
    },
}

/// How a command empties its agent's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cleaning {
    /// `rm -rf` of the home itself.
    Remove,
    /// `git clean -fdx` in it.
    GitClean,
}

/// What an agent does about a task it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// End the turn; the result arrives as a message.
    Rest,
    /// `TaskOutput`, which waits for the end.
    Read,
    /// `TaskStop`.
    Stop,
    /// `TaskInput`, which writes one word and ends the input.
    Write,
}

/// The word that is written to a task, and the end of the mark that a command leaves for it.
pub(crate) const WORD: &str = "i";

/// A tool call a model makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewCall {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
}

/// The words of a prompt for this job.
pub(crate) fn prompt(number: u64) -> String {
    format!("Please do job#{number}# now.")
}

/// The numbers of all jobs that a text names, in order.
pub(crate) fn named_in(text: &str) -> Vec<u64> {
    let after_mark = text.split("job#").skip(1);
    let numbers = after_mark.filter_map(|rest| rest.split_once('#')?.0.parse().ok());
    numbers.collect()
}

/// What a token of this job begins with.
pub(crate) fn token_start(number: u64) -> String {
    format!("t{number}.")
}

/// The calls a job begins with; `fresh` makes a token that was never used.
pub(crate) fn first_calls(
    job: &Job,
    marks: &Path,
    mut fresh: impl FnMut() -> String,
) -> Vec<NewCall> {
    let mut command = |pause_ms: u64| shell(&fresh(), marks, &sleep(pause_ms));
    match job {
        Job::Say => Vec::new(),
        Job::Commands { pauses_ms } => pauses_ms
            .iter()
            .map(|pause| exec(json!({ "cmd": command(*pause), "yield_time_ms": 60_000 })))
            .collect(),
        Job::Batch { pauses_ms } => {
            let items = pauses_ms
                .iter()
                .map(|pause| json!({ "cmd": command(*pause) }));
            vec![NewCall {
                tool: "ExecCommandBatch",
                input: json!({ "items": items.collect::<Vec<_>>() }),
            }]
        }
        Job::Clean { way, pause_ms } => {
            let middle = format!("{{ {} || :; {}; }}", clean(*way), sleep(*pause_ms));
            let command = shell(&fresh(), marks, &middle);
            vec![exec(json!({ "cmd": command, "yield_time_ms": 60_000 }))]
        }
        Job::Patch { added } => vec![NewCall {
            tool: "ApplyPatch",
            input: json!({ "patch": patch(&fresh(), *added) }),
        }],
        Job::Later => vec![NewCall {
            tool: "Enqueue",
            input: json!({ "text": format!("{LATER}{}", fresh()) }),
        }],
        Job::Task {
            pause_ms,
            yield_ms,
            tty,
            then,
        } => {
            let (middle, listens) = match then {
                Then::Rest | Then::Read | Then::Stop => (sleep(*pause_ms), false),
                Then::Write => (listen(marks), true),
            };
            let command = shell(&fresh(), marks, &middle);
            vec![exec(json!({
                "cmd": command, "yield_time_ms": yield_ms, "tty": tty, "accepts_input": listens
            }))]
        }
    }
}

/// What follows once the job's command goes on as this task.
pub(crate) fn follow_up(then: Then, task_id: &str) -> Option<NewCall> {
    match then {
        Then::Rest => None,
        Then::Read => Some(NewCall {
            tool: "TaskOutput",
            input: json!({ "task_id": task_id, "timeout_ms": 3_000 }),
        }),
        Then::Stop => Some(NewCall {
            tool: "TaskStop",
            input: json!({ "task_id": task_id }),
        }),
        Then::Write => Some(NewCall {
            tool: "TaskInput",
            input: json!({ "task_id": task_id, "input": format!("{WORD}\n"), "close_input": true }),
        }),
    }
}

fn exec(input: Value) -> NewCall {
    NewCall {
        tool: "ExecCommand",
        input,
    }
}

/// A command that leaves one mark at its beginning and one at its end, and only then says that it ran.
fn shell(token: &str, marks: &Path, middle: &str) -> String {
    let marks = marks.display();
    format!(
        "T={token}; printf '%s\\n' $T.b >> {marks} && {middle} && printf '%s\\n' $T.e >> {marks} && echo \"ran:$T:\""
    )
}

fn sleep(pause_ms: u64) -> String {
    format!("sleep {}.{:03}", pause_ms / 1_000, pause_ms % 1_000)
}

/// Empties the home of the agent that runs it. Where it fails, because another command of the agent writes there, the
/// command goes on.
const fn clean(way: Cleaning) -> &'static str {
    match way {
        Cleaning::Remove => "rm -rf \"$HOLON_AGENT_HOME\"",
        Cleaning::GitClean => "( cd \"$HOLON_AGENT_HOME\" && git init -q . && git clean -q -fdx )",
    }
}

/// Leaves a mark for every word of the input, until it ends. A turn that was given up writes nothing to it, so it does
/// not wait for ever.
fn listen(marks: &Path) -> String {
    let marks = marks.display();
    format!(
        "{{ timeout --foreground 10 cat | while read word; do printf '%s\\n' $T.$word >> {marks}; done; }}"
    )
}

/// The token of a command of [`shell`].
pub(crate) fn token_of_command(command: &str) -> Option<&str> {
    Some(command.strip_prefix("T=")?.split_once(';')?.0)
}

/// The tokens of all commands whose last words stand in this text.
pub(crate) fn reported_in(text: &str) -> Vec<&str> {
    tokens_after("ran:", text)
}

/// The tokens of all patches that a model's last words name.
pub(crate) fn patches_in(text: &str) -> Vec<&str> {
    tokens_after("patched:", text)
}

fn tokens_after<'a>(mark: &str, text: &'a str) -> Vec<&'a str> {
    let after_mark = text.split(mark).skip(1);
    let tokens = after_mark.filter_map(|rest| Some(rest.split_once(':')?.0));
    tokens.filter(|token| is_token(token)).collect()
}

fn is_token(word: &str) -> bool {
    let number = word.strip_prefix('t').unwrap_or_default();
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Adds a line with the token and the number of files to the ledger, and these files: all of it must be there, or none.
fn patch(token: &str, added: u64) -> String {
    let ledger = format!(
        "--- a/{LEDGER}\n+++ b/{LEDGER}\n@@ -1 +1,2 @@\n {LEDGER_HEAD}\n+{token} {added}\n"
    );
    let files = (0..added).map(|number| {
        let path = format!("{PATCHED}/{}", patched_file(token, number));
        format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{token}\n")
    });
    files.chain([ledger]).collect()
}

/// The name of one of the files that a patch adds.
pub(crate) fn patched_file(token: &str, number: u64) -> String {
    format!("{token}+{number}")
}

/// The token in the name of a file that a patch added.
pub(crate) fn token_of_file(name: &str) -> &str {
    name.split('+').next().unwrap_or_default()
}

/// The token of a patch of [`patch`].
pub(crate) fn token_of_patch(patch: &str) -> Option<&str> {
    let path = patch.lines().find_map(|line| line.strip_prefix("+++ b/"))?;
    let name = path.strip_prefix(PATCHED)?.strip_prefix('/')?;
    Some(token_of_file(name))
}

/// The token of a patch whose first file a line of a result says was added.
pub(crate) fn token_of_result_line(line: &str) -> Option<&str> {
    let path = line.strip_prefix("A ")?;
    let name = path.strip_prefix(PATCHED)?.strip_prefix('/')?;
    name.strip_suffix("+0")
}

/// The token of a follow-up.
pub(crate) fn token_of_follow_up(text: &str) -> Option<&str> {
    text.strip_prefix(LATER)
}

/// Makes a workspace that patches apply to.
pub(crate) fn make_workspace(dir: &Path) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join(LEDGER), format!("{LEDGER_HEAD}\n"))?;
    Ok(dir.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_its_job_and_nothing_else_does() {
        let text = format!("x {} y {} job#z#", prompt(4), prompt(17));
        assert_eq!(named_in(&text), [4, 17]);
    }

    #[test]
    fn a_command_gives_its_token_away_and_reports_it_only_in_its_output() {
        let command = shell("t4.9", Path::new("/m"), &sleep(1_020));
        assert_eq!(token_of_command(&command), Some("t4.9"));
        assert!(command.contains("sleep 1.020 "), "{command}");
        assert!(reported_in(&command).is_empty());
        assert_eq!(reported_in("ran:t4.9:\nelse ran:t4.10:"), ["t4.9", "t4.10"]);
    }

    #[test]
    fn a_patch_and_a_follow_up_give_their_tokens_away() {
        assert_eq!(token_of_patch(&patch("t4.9", 3)), Some("t4.9"));
        assert_eq!(token_of_result_line("A patched/t4.9+0"), Some("t4.9"));
        assert_eq!(token_of_result_line("A patched/t4.9+1"), None);
        let later = first_calls(&Job::Later, Path::new("/m"), || "t4.9".to_owned());
        let text = later[0].input["text"].as_str().unwrap();
        assert_eq!(token_of_follow_up(text), Some("t4.9"));
    }

    #[test]
    fn a_job_makes_a_new_token_for_every_effect() {
        let mut made = 0;
        let fresh = || {
            made += 1;
            format!("t1.{made}")
        };
        let job = Job::Batch {
            pauses_ms: vec![1, 2, 3],
        };
        let calls = first_calls(&job, Path::new("/m"), fresh);
        assert_eq!(calls[0].input["items"].as_array().map(Vec::len), Some(3));
        assert_eq!(made, 3);
    }
}
