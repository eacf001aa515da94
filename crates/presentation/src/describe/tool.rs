//! Tool calls and skills. A call is told once, by its end; its request adds the command.

use super::{Description, Merge, duration};
use crate::item::Role;
use crate::shell;
use crate::text::one_line;
use holon_domain::event::{
    BatchItemEnd, CommandBatchStopped, Event, SkillActivated, SkillChanged, SkillInstalled,
    SkillUninstalled, ToolExecuted, ToolExecutionFailed,
};

/// Most commands of one call that its row shows.
const SHOWN_COMMANDS: usize = 8;

/// A command that a call asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandRequest {
    pub(crate) cmd: String,
    pub(crate) workdir: Option<String>,
}

/// Group to which a tool belongs on a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolUse {
    Command,
    Change,
    Read,
    /// Another event tells its effect, so that a row of its own would repeat it.
    ToldElsewhere,
    Other,
}

impl ToolUse {
    /// Returns the group of a tool by its name.
    fn of(tool_name: &str) -> Self {
        match tool_name {
            "ExecCommand" | "ExecCommandBatch" => Self::Command,
            "ApplyPatch" => Self::Change,
            "AgentGet" | "GetWorkItem" | "ListWorkItems" | "ListTimers" | "TaskList"
            | "TaskStatus" | "TaskOutput" | "ViewImage" | "WebFetch" | "WebSearch"
            | "MemorySearch" | "MemoryGet" => Self::Read,
            "CreateWorkItem"
            | "UpdateWorkItem"
            | "PickWorkItem"
            | "CompleteWorkItem"
            | "WaitFor"
            | "CancelExternalTrigger"
            | "CancelWait"
            | "CreateTimer"
            | "CancelTimer"
            | "Sleep"
            | "UseWorkspace"
            | "TaskStop"
            | "SpawnAgent"
            | "NotifyOperator" => Self::ToldElsewhere,
            _ => Self::Other,
        }
    }
}

pub(super) fn describe(event: &Event) -> Option<Description> {
    Some(match event {
        Event::ProcessExecutionRequested(e) => Description::step("Running")
            .body(&e.cmd_preview)
            .with("call", &e.tool_call_id)
            .with_some("directory", e.workdir.as_ref()),
        Event::CommandBatchStopped(e) => batch_stopped(e),
        Event::ToolExecuted(e) => executed(e, &[]),
        Event::ToolExecutionFailed(e) => failed(e, &[]),
        Event::SkillActivated(e) => activated(e),
        Event::SkillChanged(e) => changed(e),
        Event::SkillInstalled(e) => installed(e),
        Event::SkillUninstalled(e) => uninstalled(e),
        _ => return None,
    })
}

/// Describes the end of a batch whose run was aborted: what became of each of its items.
fn batch_stopped(e: &CommandBatchStopped) -> Description {
    let words = |end: &BatchItemEnd| match end {
        BatchItemEnd::Ran => "had ended before",
        BatchItemEnd::Stopped => "was stopped",
        BatchItemEnd::NotBegun => "had not begun",
        BatchItemEnd::Unknown => "may have run: nothing shows how it ended",
    };
    let lines = e.items.iter().zip(1..);
    let lines = lines.map(|(end, number)| format!("command {number} {}", words(end)));
    Description::outcome("Batch of an aborted run ended")
        .body(lines.collect::<Vec<_>>().join("; "))
        .with("call", &e.tool_call_id)
}

/// Describes the end of a call together with the commands that it asked for.
pub(crate) fn executed(e: &ToolExecuted, requests: &[CommandRequest]) -> Description {
    let commands = command_lines(requests, e.exec_command_cmd.as_deref());
    let took = duration(e.duration_ms);
    let described = match ToolUse::of(&e.tool_name) {
        ToolUse::Command if commands.is_empty() => {
            Description::step("Ran").line(&e.summary).body(&e.summary)
        }
        ToolUse::Command => ran(&e.summary, &commands, &took),
        ToolUse::Change => Description::step("Changed")
            .body(&e.summary)
            .merge(Merge::Change(e.summary.clone())),
        ToolUse::Read => Description::step(format!("Read with {}", e.tool_name))
            .body(&e.summary)
            .merge(Merge::Read(format!("{}: {}", e.tool_name, e.summary))),
        ToolUse::ToldElsewhere => {
            Description::detail(format!("Called {}", e.tool_name)).body(&e.summary)
        }
        ToolUse::Other => Description::step(format!("Called {}", e.tool_name)).body(&e.summary),
    };
    let directory = requests.iter().find_map(|request| request.workdir.clone());
    described
        .with("call", &e.tool_call_id)
        .with_some("directory", directory.as_ref())
        .with("took", took)
}

/// Describes commands that ran: one line for one command, and a line each for several.
fn ran(summary: &str, commands: &[String], took: &str) -> Description {
    let outcome = match commands {
        [command] => outcome_before(summary, command),
        _ => None,
    };
    let outcome = outcome.map_or_else(|| format!("{summary}, {took}"), str::to_owned);
    let line = format!("{} ({outcome})", commands.join("; "));
    let described = Description::step("Ran");
    let described = match commands {
        [_] => described.body(line),
        many => described
            .line(line)
            .body(format!("{}\n{outcome}", many.join("\n"))),
    };
    if commands.iter().all(|command| shell::is_read(command)) {
        described.merge(Merge::Read(commands.join("; ")))
    } else {
        described
    }
}

/// Returns the outcome in a summary that ends with the command, as `exit 0 after 10 ms: ls` does.
fn outcome_before<'a>(summary: &'a str, command: &str) -> Option<&'a str> {
    let command = one_line(command);
    let repeats = |rest: &str| {
        let rest = one_line(rest);
        let rest = rest.trim_end_matches('…');
        !rest.is_empty() && (command.starts_with(rest) || rest.starts_with(&command))
    };
    summary
        .match_indices(": ")
        .map(|(at, colon)| (summary.get(..at), summary.get(at + colon.len()..)))
        .find_map(|(outcome, rest)| rest.filter(|rest| repeats(rest)).and(outcome))
}

/// Describes a call that failed together with the commands that it asked for.
pub(crate) fn failed(e: &ToolExecutionFailed, requests: &[CommandRequest]) -> Description {
    let commands = command_lines(requests, None);
    let mut body = commands.join("\n");
    if !body.is_empty() {
        body.push('\n');
    }
    body.push_str(&e.error);
    let line = match commands.first() {
        Some(command) => format!("{} ({command})", e.error),
        None => e.error.clone(),
    };
    Description::failure(format!("{} failed", e.tool_name))
        .line(line)
        .body(body)
        .with("call", &e.tool_call_id)
        .with("took", duration(e.duration_ms))
}

/// Returns the commands of a call, one line each; more than a few are counted.
fn command_lines(requests: &[CommandRequest], fallback: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = requests
        .iter()
        .take(SHOWN_COMMANDS)
        .map(|request| request.cmd.clone())
        .collect();
    if requests.len() > SHOWN_COMMANDS {
        lines.push(format!("… and {} more", requests.len() - SHOWN_COMMANDS));
    }
    if lines.is_empty() {
        lines.extend(fallback.map(str::to_owned));
    }
    lines
}

fn activated(e: &SkillActivated) -> Description {
    let loaded = if e.repeated {
        Description::detail("Used a skill again")
    } else {
        Description::step("Loaded a skill")
    };
    loaded
        .body(&e.skill_name)
        .with("skill", &e.skill_id)
        .with("path", &e.path)
}

fn changed(e: &SkillChanged) -> Description {
    Description::failure("Skill not loaded")
        .body(format!("{}: {}", e.skill_name, e.change))
        .with("skill", &e.skill_id)
        .with("path", &e.path)
}

fn installed(e: &SkillInstalled) -> Description {
    Description::outcome("Skill installed")
        .role(Role::Activity)
        .body(&e.skill_name)
        .with_some("commit", e.fetched_from.as_ref().map(|from| &from.commit))
}

fn uninstalled(e: &SkillUninstalled) -> Description {
    Description::outcome("Skill removed").body(&e.skill_name)
}
