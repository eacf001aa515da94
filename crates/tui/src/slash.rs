//! Slash commands: their table, how a line becomes one, and completion.
//!
//! A draft is a command if its first character is a slash. `//` sends a message that begins with one slash. A command
//! that is not known is an error and never becomes a message.

mod complete;

pub(crate) use complete::{Argument, candidates, unfinished};

use holon_domain::text::nearest;
use holon_presentation::DisplayMode;
use std::borrow::Cow;

/// One command as the help shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Name without the slash.
    pub(crate) name: &'static str,
    pub(crate) args: &'static str,
    pub(crate) about: &'static str,
}

const fn usage(name: &'static str, args: &'static str, about: &'static str) -> Usage {
    Usage { name, args, about }
}

/// Every command, in the order of the help.
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Usage] = &[
    usage("help", "", "keys and commands"),
    usage("status", "", "what the agent does, waits for and needs"),
    usage("agents", "", "all agents; switch, start, stop, create"),
    usage("agent", "switch|create|start|stop ID", "the same by name"),
    usage("display", "info|verbose|debug", "how much the conversation shows (3, 4, 5)"),
    usage("image", "FILE|none", "an image for the next message, or none"),
    usage("events", "", "raw events with their payloads"),
    usage("transcript", "", "messages, model rounds and tool results"),
    usage("tasks", "[ID]", "background commands: output, input, stop"),
    usage("work", "[ID]", "work items with plan and todo"),
    usage("timers", "", "timers and waits; cancel"),
    usage("triggers", "", "URLs by which others wake the agent; show, make, revoke"),
    usage("workspace", "attach PATH|use ID|exit|detach ID", "directories the agent works in"),
    usage("model", "REF|default", "choose the model of the agent"),
    usage("usage", "", "tokens and cost by agent, work item, day and model"),
    usage("budget", "", "limits on tokens and cost, and how far each is used"),
    usage("skills", "", "skills of the agent; install, remove"),
    usage("skill-install", "NAME|PATH", "install a skill"),
    usage("skill-uninstall", "NAME", "remove a skill"),
    usage("context", "fold|clear|pin TURN|unpin TURN", "what the model is shown of earlier turns, and its size"),
    usage("debug-prompt", "", "what the model was told in the last turn"),
    usage("wake", "REASON", "wake the agent without a message"),
    usage("abort", "", "abort the current run; the queue goes on"),
    usage("refresh", "", "read everything again"),
    usage("clear", "", "clear the notice line"),
    usage("quit", "", "close the console; the agent goes on"),
];

/// Names that mean the same as another.
const ALIASES: &[(&str, &str)] = &[
    ("state", "status"),
    ("waits", "timers"),
    ("clear-status", "clear"),
    ("exit", "quit"),
    ("budgets", "budget"),
    ("q", "quit"),
    ("?", "help"),
];

/// A command that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    Help,
    Status,
    Agents,
    SwitchAgent(String),
    CreateAgent(String),
    /// Absent id: the agent of the console.
    StartAgent(Option<String>),
    StopAgent(Option<String>),
    Display(DisplayMode),
    /// Path of the file, as it was typed.
    AttachImage(String),
    DropImages,
    Events,
    Transcript,
    Tasks,
    /// Follows the output of a task at once.
    Task(String),
    Work,
    WorkItem(String),
    Timers,
    Triggers,
    Workspace,
    AttachWorkspace(String),
    UseWorkspace(String),
    ExitWorkspace,
    DetachWorkspace(String),
    Models,
    SetModel(String),
    ClearModel,
    Usage,
    Budgets,
    Skills,
    InstallSkill(String),
    UninstallSkill(String),
    Context,
    FoldContext,
    ClearContext,
    PinTurn(u64),
    UnpinTurn(u64),
    DebugPrompt,
    Wake(String),
    Abort,
    Refresh,
    Clear,
    Quit,
}

/// Meaning of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Nothing,
    Message(String),
    Command(Slash),
    /// The reason why it is neither.
    Invalid(String),
}

/// Tells a message from a command by its first characters.
pub(crate) fn read(draft: &str) -> Input {
    if draft.trim().is_empty() {
        return Input::Nothing;
    }
    if let Some(rest) = draft.strip_prefix("//") {
        return Input::Message(format!("/{rest}"));
    }
    match draft.strip_prefix('/') {
        None => Input::Message(draft.to_owned()),
        Some(command) if command.trim_end().contains('\n') => Input::Invalid(
            "a command has one line; begin with // to send this as a message".to_owned(),
        ),
        Some(command) => match parse(command.trim()) {
            Ok(slash) => Input::Command(slash),
            Err(reason) => Input::Invalid(reason),
        },
    }
}

/// Returns what must be written to send this message.
pub(crate) fn escape(message: &str) -> Cow<'_, str> {
    if message.starts_with('/') {
        Cow::Owned(format!("/{message}"))
    } else {
        Cow::Borrowed(message)
    }
}

fn parse(command: &str) -> Result<Slash, String> {
    let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
    let rest = rest.trim();
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, meant)| meant);
    let word = || -> Result<String, String> {
        match rest {
            "" => Err(format!("/{name} needs {}", args_of(name))),
            rest => Ok(rest.to_owned()),
        }
    };
    let plain = |slash: Slash| match rest {
        "" => Ok(slash),
        rest => Err(format!("/{name} takes no argument, not {rest:?}")),
    };
    match name {
        "help" => Ok(Slash::Help),
        "status" => plain(Slash::Status),
        "agents" => plain(Slash::Agents),
        "agent" => parse_agent(rest),
        "display" => match rest {
            "" => Err("/display needs info, verbose or debug (or 3, 4, 5); raw events: /events".to_owned()),
            rest => rest
                .parse()
                .map(Slash::Display)
                .map_err(|_| format!("{rest:?} is no display mode; use info, verbose or debug (or 3, 4, 5); raw events: /events")),
        },
        "image" => word().map(|file| match file.as_str() {
            "none" => Slash::DropImages,
            _ => Slash::AttachImage(file),
        }),
        "events" => plain(Slash::Events),
        "transcript" => plain(Slash::Transcript),
        "tasks" => Ok(word().map_or(Slash::Tasks, Slash::Task)),
        "work" => Ok(word().map_or(Slash::Work, Slash::WorkItem)),
        "timers" => plain(Slash::Timers),
        "triggers" => plain(Slash::Triggers),
        "workspace" => parse_workspace(rest),
        "model" => Ok(match rest {
            "" => Slash::Models,
            "default" => Slash::ClearModel,
            model => Slash::SetModel(model.to_owned()),
        }),
        "usage" => plain(Slash::Usage),
        "budget" => plain(Slash::Budgets),
        "skills" => plain(Slash::Skills),
        "skill-install" => word().map(Slash::InstallSkill),
        "skill-uninstall" => word().map(Slash::UninstallSkill),
        "context" => parse_context(rest),
        "debug-prompt" => plain(Slash::DebugPrompt),
        "wake" => word().map(Slash::Wake),
        "abort" => plain(Slash::Abort),
        "refresh" => plain(Slash::Refresh),
        "clear" => plain(Slash::Clear),
        "quit" => plain(Slash::Quit),
        unknown => Err(refuse(unknown)),
    }
}

fn refuse(unknown: &str) -> String {
    let names = COMMANDS.iter().map(|usage| usage.name);
    let advice = nearest(unknown, names).map_or_else(
        || "/help lists the commands".to_owned(),
        |name| format!("did you mean /{name}"),
    );
    format!("/{unknown} is no command; {advice}; begin with // to send it as a message")
}

fn args_of(name: &str) -> &'static str {
    let found = COMMANDS.iter().find(|usage| usage.name == name);
    found.map_or("an argument", |usage| usage.args)
}

fn parse_agent(rest: &str) -> Result<Slash, String> {
    let (verb, id) = rest.split_once(' ').unwrap_or((rest, ""));
    let id = id.trim().to_owned();
    match (verb, id.is_empty()) {
        ("switch", false) => Ok(Slash::SwitchAgent(id)),
        ("create", false) => Ok(Slash::CreateAgent(id)),
        ("start", is_here) => Ok(Slash::StartAgent((!is_here).then_some(id))),
        ("stop", is_here) => Ok(Slash::StopAgent((!is_here).then_some(id))),
        ("pause", _) => Err("/agent pause is gone; use /agent stop".to_owned()),
        ("resume", _) => Err("/agent resume is gone; use /agent start".to_owned()),
        ("", _) => Ok(Slash::Agents),
        _ => Err(format!("/agent needs {}", args_of("agent"))),
    }
}

fn parse_context(rest: &str) -> Result<Slash, String> {
    let (verb, turn) = rest.split_once(' ').unwrap_or((rest, ""));
    match (verb, turn.trim().parse()) {
        ("", _) => Ok(Slash::Context),
        ("fold", _) if turn.is_empty() => Ok(Slash::FoldContext),
        ("clear", _) if turn.is_empty() => Ok(Slash::ClearContext),
        ("pin", Ok(turn)) => Ok(Slash::PinTurn(turn)),
        ("unpin", Ok(turn)) => Ok(Slash::UnpinTurn(turn)),
        _ => Err(format!("/context needs {}", args_of("context"))),
    }
}

fn parse_workspace(rest: &str) -> Result<Slash, String> {
    let (verb, what) = rest.split_once(' ').unwrap_or((rest, ""));
    let what = what.trim().to_owned();
    match (verb, what.is_empty()) {
        ("", _) => Ok(Slash::Workspace),
        ("attach", false) => Ok(Slash::AttachWorkspace(what)),
        ("use", false) => Ok(Slash::UseWorkspace(what)),
        ("exit", true) => Ok(Slash::ExitWorkspace),
        ("detach", false) => Ok(Slash::DetachWorkspace(what)),
        _ => Err(format!("/workspace needs {}", args_of("workspace"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_table_is_understood() {
        for usage in COMMANDS {
            let bare = read(&format!("/{}", usage.name));
            let first = usage.args.split('|').next().unwrap_or_default();
            let full = read(&format!("/{} {first}", usage.name));
            assert!(
                matches!(bare, Input::Command(_)) || matches!(full, Input::Command(_)),
                "{}: {bare:?} {full:?}",
                usage.name
            );
        }
        for (alias, meant) in ALIASES {
            assert_eq!(read(&format!("/{alias}")), read(&format!("/{meant}")));
        }
    }

    #[test]
    fn a_conversation_is_shown_or_changed() {
        for (words, slash) in [
            ("", Slash::Context),
            (" fold", Slash::FoldContext),
            (" clear", Slash::ClearContext),
            (" pin 7", Slash::PinTurn(7)),
            (" unpin  12", Slash::UnpinTurn(12)),
        ] {
            assert_eq!(read(&format!("/context{words}")), Input::Command(slash));
        }
        for words in ["pin", "pin x", "fold 3", "drop"] {
            let Input::Invalid(reason) = read(&format!("/context {words}")) else {
                panic!("{words} is no change");
            };
            assert!(reason.contains("pin TURN"), "{reason}");
        }
    }

    #[test]
    fn a_mode_is_named_or_numbered() {
        for (word, mode) in [("4", DisplayMode::Verbose), ("debug", DisplayMode::Debug)] {
            let read = read(&format!("/display {word}"));
            assert_eq!(read, Input::Command(Slash::Display(mode)));
        }
        for word in ["", " trace", " 7"] {
            let Input::Invalid(reason) = read(&format!("/display{word}")) else {
                panic!("{word} is no mode");
            };
            assert!(reason.contains("/events"), "{reason}");
        }
    }

    #[test]
    fn two_slashes_send_one_and_an_unknown_command_is_never_sent() {
        assert_eq!(
            read("//etc is full"),
            Input::Message("/etc is full".to_owned())
        );
        assert_eq!(read("a /b"), Input::Message("a /b".to_owned()));
        assert_eq!(read("  \n"), Input::Nothing);
        let Input::Invalid(reason) = read("/tsaks") else {
            panic!("not a command");
        };
        assert!(
            reason.contains("/tasks") && reason.contains("//"),
            "{reason}"
        );
        assert!(matches!(read("/help\nme"), Input::Invalid(_)));
        assert!(
            matches!(read("/agent pause x"), Input::Invalid(reason) if reason.contains("stop"))
        );
    }
}
