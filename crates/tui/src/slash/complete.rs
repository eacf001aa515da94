//! Completion: the commands that a draft may become, and the argument that is being written.

use super::{ALIASES, COMMANDS, Usage};
use crate::msg::Question;

/// Kind of an argument that can be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    AgentVerb,
    Agent,
    Display,
    WorkspaceVerb,
    ContextVerb,
    Workspace,
    Model,
    Skill,
    Task,
    WorkItem,
}

impl Argument {
    /// Returns the request that lists what the argument may be; `None` if the words are fixed.
    pub(crate) const fn question(self) -> Option<Question> {
        match self {
            Self::AgentVerb | Self::WorkspaceVerb | Self::ContextVerb | Self::Display => None,
            Self::Agent => Some(Question::Agents),
            Self::Workspace => Some(Question::Status),
            Self::Model => Some(Question::Models),
            Self::Skill => Some(Question::Skills),
            Self::Task => Some(Question::Tasks),
            Self::WorkItem => Some(Question::WorkItems),
        }
    }

    /// Words that are always the same.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::AgentVerb => &["switch", "create", "start", "stop"],
            Self::WorkspaceVerb => &["attach", "use", "exit", "detach"],
            Self::ContextVerb => &["fold", "clear", "pin", "unpin"],
            Self::Display => &["info", "verbose", "debug"],
            Self::Model => &["default"],
            Self::Agent | Self::Workspace | Self::Skill | Self::Task | Self::WorkItem => &[],
        }
    }

    /// Returns true if the command is whole with this argument.
    pub(crate) const fn is_last(self) -> bool {
        !matches!(
            self,
            Self::AgentVerb | Self::WorkspaceVerb | Self::ContextVerb
        )
    }
}

/// An argument that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unfinished<'a> {
    pub(crate) argument: Argument,
    /// Draft before the argument.
    pub(crate) head: &'a str,
    /// Argument as far as it is written.
    pub(crate) word: &'a str,
}

/// Returns the commands that a draft may become. Empty once the name is complete and its arguments begin.
pub(crate) fn candidates(draft: &str) -> Vec<&'static Usage> {
    let Some(name) = draft.strip_prefix('/') else {
        return Vec::new();
    };
    if name.starts_with('/') || name.contains(char::is_whitespace) {
        return Vec::new();
    }
    COMMANDS
        .iter()
        .filter(|usage| usage.name.starts_with(name))
        .collect()
}

/// Returns the argument at the end of a draft, if it can be completed.
pub(crate) fn unfinished(draft: &str) -> Option<Unfinished<'_>> {
    if draft.starts_with("//") || draft.contains('\n') {
        return None;
    }
    let (name, rest) = draft.strip_prefix('/')?.split_once(' ')?;
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let (verb, word) = match rest.split_once(' ') {
        Some((verb, word)) => (Some(verb), word),
        None => (None, rest),
    };
    let argument = match (alias.map_or(name, |(_, meant)| meant), verb) {
        ("agent", None) => Argument::AgentVerb,
        ("agent", Some("switch" | "start" | "stop")) => Argument::Agent,
        ("workspace", None) => Argument::WorkspaceVerb,
        ("workspace", Some("use" | "detach")) => Argument::Workspace,
        ("context", None) => Argument::ContextVerb,
        ("display", None) => Argument::Display,
        ("model", None) => Argument::Model,
        ("skill-uninstall", None) => Argument::Skill,
        ("tasks", None) => Argument::Task,
        ("work", None) => Argument::WorkItem,
        _ => return None,
    };
    let head = draft.strip_suffix(word)?;
    (!word.contains(' ')).then_some(Unfinished {
        argument,
        head,
        word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_offers_the_names_that_fit() {
        let names = |draft| {
            candidates(draft)
                .iter()
                .map(|usage| usage.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("/t"), ["transcript", "tasks", "timers", "triggers"]);
        assert_eq!(names("/").len(), COMMANDS.len());
        assert!(names("/display ").is_empty());
        assert!(names("//t").is_empty());
        assert!(names("t").is_empty());
    }

    #[test]
    fn the_argument_at_the_end_is_known_by_its_command() {
        for (draft, argument, word) in [
            ("/agent ", Argument::AgentVerb, ""),
            ("/agent switch sc", Argument::Agent, "sc"),
            ("/workspace use ", Argument::Workspace, ""),
            ("/tasks task_", Argument::Task, "task_"),
            ("/work w", Argument::WorkItem, "w"),
            ("/model a/", Argument::Model, "a/"),
        ] {
            let found = unfinished(draft).unwrap();
            assert_eq!((found.argument, found.word), (argument, word), "{draft}");
            assert_eq!(format!("{}{}", found.head, found.word), draft);
        }
        for draft in [
            "/agent",
            "//agent switch x",
            "agent x",
            "/agent create x",
            "/wake a",
            "/tasks a b",
        ] {
            assert_eq!(unfinished(draft), None, "{draft}");
        }
    }
}
