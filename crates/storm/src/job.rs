//! The jobs that prompts ask for, as tool calls. Every effect of a call leaves a token that can be counted.
//!
//! Each call gets a new token. If a model's answer is lost with the host, the next answer has other tokens, so a
//! token that is found twice proves that one call took effect twice.

use crate::lasting;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// File of a workspace to which every patch adds a line, below a first line that never changes.
pub(crate) const LEDGER: &str = "ledger";
/// First line of the ledger.
pub(crate) const LEDGER_HEAD: &str = "# one line for each patch";
/// Prefix of the text of a follow-up; its token comes next.
const LATER: &str = "Later: ";
/// Prefix of the task of a child; its token comes next.
const PART: &str = "Part ";
/// Directory of a workspace in which every patch adds files named by its token.
pub(crate) const PATCHED: &str = "patched";

/// A job of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// Answer without any call.
    Say,
    /// Several `ExecCommand` calls in one round, each command pausing between its two marks.
    Commands { pauses_ms: Vec<u64> },
    /// One `ExecCommandBatch` with a command for each pause.
    Batch { pauses_ms: Vec<u64> },
    /// One `ExecCommand` that removes everything in its agent's home between its two marks.
    Clean { method: Cleaning, pause_ms: u64 },
    /// One `ApplyPatch` that adds this many files and changes one.
    Patch { added: u64 },
    /// One `Enqueue`, whose text starts a turn of its own later.
    Later,
    /// This many `SpawnAgent` calls in one round. Each child answers, and its report comes back as the result of a task.
    Delegate { children: u64 },
    /// One `CreateWorkItem`. Ticks of the runtime let the model pick and complete the item.
    Work,
    /// One `WaitFor` a time, which ends the turn.
    Wait { after_ms: u64 },
    /// One `CreateTimer`. The first tick of a repeating timer cancels it.
    Timer { ms: u64, repeats: bool },
    /// One `ExecCommand` that continues as a task.
    Task {
        pause_ms: u64,
        yield_ms: u64,
        /// True for a terminal instead of pipes.
        tty: bool,
        then: TaskAction,
    },
}

/// The way a command empties its agent's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cleaning {
    /// `rm -rf` of the home itself.
    Remove,
    /// `git clean -fdx` in it.
    GitClean,
}

/// The next step of an agent after it has started a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskAction {
    /// Ends the turn; the result arrives as a message.
    Rest,
    /// Calls `TaskOutput`, which waits for the end.
    Read,
    Stop,
    /// Calls `TaskInput`, which writes one word and closes the input.
    Write,
    /// Calls `WaitFor`, which ends the turn until the task has ended.
    Wait,
}

impl Job {
    /// Returns true if the runtime has to come back to the job after its turn. A temporary agent is gone by then.
    pub(crate) const fn outlasts_its_turn(&self) -> bool {
        match self {
            Self::Work | Self::Wait { .. } | Self::Timer { .. } => true,
            Self::Task { then, .. } => matches!(then, TaskAction::Wait),
            Self::Say
            | Self::Commands { .. }
            | Self::Batch { .. }
            | Self::Clean { .. }
            | Self::Patch { .. }
            | Self::Delegate { .. }
            | Self::Later => false,
        }
    }
}

/// Word that is written to a task, and the suffix of the mark that the command leaves for it.
pub(crate) const WORD: &str = "i";

/// A tool call that the model makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewCall {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
}

/// Text of the prompt for this job.
pub(crate) fn prompt(number: u64) -> String {
    format!("Please do job#{number}# now.")
}

/// Numbers of all jobs that a text names, in order.
pub(crate) fn named_in(text: &str) -> Vec<u64> {
    let after_mark = text.split("job#").skip(1);
    let numbers = after_mark.filter_map(|rest| rest.split_once('#')?.0.parse().ok());
    numbers.collect()
}

/// Prefix of the tokens of this job.
pub(crate) fn token_start(number: u64) -> String {
    format!("t{number}.")
}

/// Returns the first calls of a job; `fresh` makes a new token.
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
        Job::Clean { method, pause_ms } => {
            let middle = format!("{{ {} || :; {}; }}", clean(*method), sleep(*pause_ms));
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
        Job::Delegate { children } => {
            let calls = (0..*children).map(|_| NewCall {
                tool: "SpawnAgent",
                input: json!({ "initial_message": format!("{PART}{}", fresh()) }),
            });
            calls.collect()
        }
        Job::Work => vec![lasting::create_item(&fresh())],
        Job::Wait { after_ms } => vec![lasting::wait_for_time(&fresh(), *after_ms)],
        Job::Timer { ms, repeats } => vec![lasting::create_timer(&fresh(), *ms, *repeats)],
        Job::Task {
            pause_ms,
            yield_ms,
            tty,
            then,
        } => {
            let (middle, listens) = match then {
                TaskAction::Rest | TaskAction::Read | TaskAction::Stop | TaskAction::Wait => {
                    (sleep(*pause_ms), false)
                }
                TaskAction::Write => (listen(marks), true),
            };
            let command = shell(&fresh(), marks, &middle);
            vec![exec(json!({
                "cmd": command, "yield_time_ms": yield_ms, "tty": tty, "accepts_input": listens
            }))]
        }
    }
}

/// Returns the call that follows once the job's command, which has this token, runs as this task.
pub(crate) fn follow_up(then: TaskAction, token: &str, task_id: &str) -> Option<NewCall> {
    match then {
        TaskAction::Rest => None,
        TaskAction::Read => Some(NewCall {
            tool: "TaskOutput",
            input: json!({ "task_id": task_id, "timeout_ms": 3_000 }),
        }),
        TaskAction::Stop => Some(NewCall {
            tool: "TaskStop",
            input: json!({ "task_id": task_id }),
        }),
        TaskAction::Write => Some(NewCall {
            tool: "TaskInput",
            input: json!({ "task_id": task_id, "input": format!("{WORD}\n"), "close_input": true }),
        }),
        TaskAction::Wait => Some(lasting::wait_for_task(token, task_id)),
    }
}

fn exec(input: Value) -> NewCall {
    NewCall {
        tool: "ExecCommand",
        input,
    }
}

/// Builds a command that leaves one mark at its start and one at its end, and then prints that it ran.
fn shell(token: &str, marks: &Path, middle: &str) -> String {
    let marks = marks.display();
    format!(
        "T={token}; printf '%s\\n' $T.b >> {marks} && {middle} && printf '%s\\n' $T.e >> {marks} && echo \"ran:$T:\""
    )
}

fn sleep(pause_ms: u64) -> String {
    format!("sleep {}.{:03}", pause_ms / 1_000, pause_ms % 1_000)
}

/// Shell text that empties the agent's home. If it fails, because another command of the agent writes there, the
/// command continues.
const fn clean(method: Cleaning) -> &'static str {
    match method {
        Cleaning::Remove => "rm -rf \"$HOLON_AGENT_HOME\"",
        Cleaning::GitClean => "( cd \"$HOLON_AGENT_HOME\" && git init -q . && git clean -q -fdx )",
    }
}

/// Shell text that leaves a mark for every word of the input, until it ends. It has a timeout, because an aborted
/// turn writes nothing.
fn listen(marks: &Path) -> String {
    let marks = marks.display();
    format!(
        "{{ timeout --foreground 10 cat | while read word; do printf '%s\\n' $T.$word >> {marks}; done; }}"
    )
}

/// Parses the token of a command made by [`shell`].
pub(crate) fn token_of_command(command: &str) -> Option<&str> {
    Some(command.strip_prefix("T=")?.split_once(';')?.0)
}

/// Tokens of all commands whose final line is in this text.
pub(crate) fn reported_in(text: &str) -> Vec<&str> {
    tokens_after("ran:", text)
}

/// Tokens of all patches that a model's final text names.
pub(crate) fn patches_in(text: &str) -> Vec<&str> {
    tokens_after("patched:", text)
}

/// Tokens between this mark and a colon.
pub(crate) fn tokens_after<'a>(mark: &str, text: &'a str) -> Vec<&'a str> {
    let after_mark = text.split(mark).skip(1);
    let tokens = after_mark.filter_map(|rest| Some(rest.split_once(':')?.0));
    tokens.filter(|token| is_token(token)).collect()
}

fn is_token(word: &str) -> bool {
    let number = word.strip_prefix('t').unwrap_or_default();
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Builds a patch that adds a line with the token and the number of files to the ledger, and these files. It must be
/// applied whole or not at all.
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

/// Name of one of the files that a patch adds.
pub(crate) fn patched_file(token: &str, number: u64) -> String {
    format!("{token}+{number}")
}

/// Parses the token from the name of a file that a patch added.
pub(crate) fn token_of_file(name: &str) -> &str {
    name.split('+').next().unwrap_or_default()
}

/// Parses the token of a patch made by [`patch`].
pub(crate) fn token_of_patch(patch: &str) -> Option<&str> {
    let path = patch.lines().find_map(|line| line.strip_prefix("+++ b/"))?;
    let name = path.strip_prefix(PATCHED)?.strip_prefix('/')?;
    Some(token_of_file(name))
}

/// Parses the token from a result line about the first file that a patch added.
pub(crate) fn token_of_result_line(line: &str) -> Option<&str> {
    let path = line.strip_prefix("A ")?;
    let name = path.strip_prefix(PATCHED)?.strip_prefix('/')?;
    name.strip_suffix("+0")
}

/// Parses the token of a follow-up.
pub(crate) fn token_of_follow_up(text: &str) -> Option<&str> {
    text.strip_prefix(LATER)
}

/// Parses the token of a child's task.
pub(crate) fn token_of_part(text: &str) -> Option<&str> {
    text.strip_prefix(PART).filter(|token| is_token(token))
}

/// Creates a workspace to which the patches apply.
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
        let job = Job::Delegate { children: 1 };
        let parts = first_calls(&job, Path::new("/m"), || "t4.9".to_owned());
        let text = parts[0].input["initial_message"].as_str().unwrap();
        assert_eq!(token_of_part(text), Some("t4.9"));
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
