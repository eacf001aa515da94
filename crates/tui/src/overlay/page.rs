//! Subjects of overlays, and the keys of each.

use crate::msg::Question;

/// Subject of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Page {
    Help,
    Status,
    Agents,
    Events,
    Transcript,
    Tasks,
    Work,
    Timers,
    Triggers,
    Workspace,
    Models,
    Usage,
    Budgets,
    /// Choice of the reasoning effort for a model.
    Effort {
        model: String,
    },
    Skills,
    Context,
    DebugPrompt,
}

/// Something that a key does in an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    SwitchAgent,
    StartAgent,
    StopAgent,
    NewAgent,
    FollowTask,
    WriteToTask,
    StopTask,
    ReadWorkItem,
    CompleteWorkItem,
    ResumeWorkItem,
    NewWorkItem,
    Cancel,
    RevealTrigger,
    NewTrigger,
    NewMailbox,
    RotateTrigger,
    RevokeTrigger,
    AttachWorkspace,
    UseWorkspace,
    UseIsolated,
    ExitWorkspace,
    DetachWorkspace,
    ChooseModel,
    ChooseEffort,
    InstallSkill,
    UninstallSkill,
    PinTurn,
    UnpinTurn,
    FoldContext,
    ClearContext,
    Reload,
}

/// A key of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// `\n` is the enter key.
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) act: Act,
    /// True if the key must be pressed twice.
    pub(crate) asks: bool,
}

const fn key(key: char, label: &'static str, act: Act) -> Key {
    Key {
        key,
        label,
        act,
        asks: false,
    }
}

const fn asking(pressed: char, label: &'static str, act: Act) -> Key {
    Key {
        asks: true,
        ..key(pressed, label, act)
    }
}

const RELOAD: Key = key('r', "reload", Act::Reload);

impl Page {
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Help => "Help".to_owned(),
            Self::Status => "Status".to_owned(),
            Self::Agents => "Agents".to_owned(),
            Self::Events => "Raw events".to_owned(),
            Self::Transcript => "Transcript".to_owned(),
            Self::Tasks => "Tasks".to_owned(),
            Self::Work => "Work items".to_owned(),
            Self::Timers => "Timers and waits".to_owned(),
            Self::Triggers => "External triggers".to_owned(),
            Self::Workspace => "Workspaces".to_owned(),
            Self::Models => "Model of the agent".to_owned(),
            Self::Usage => "Usage".to_owned(),
            Self::Budgets => "Budgets".to_owned(),
            Self::Effort { model } => format!("Reasoning effort of {model}"),
            Self::Skills => "Skills".to_owned(),
            Self::Context => "Conversation of the model".to_owned(),
            Self::DebugPrompt => "Prompt of the last turn".to_owned(),
        }
    }

    /// Returns the request that fills the page; `None` if the console has all of it.
    pub(crate) const fn question(&self) -> Option<Question> {
        match self {
            Self::Help | Self::Events | Self::Effort { .. } => None,
            Self::Status => Some(Question::Explain),
            Self::Agents => Some(Question::Agents),
            Self::Transcript => Some(Question::Transcript),
            Self::Tasks => Some(Question::Tasks),
            Self::Work => Some(Question::WorkItems),
            Self::Timers => Some(Question::Timers),
            Self::Triggers => Some(Question::Triggers),
            Self::Workspace => Some(Question::Status),
            Self::Models => Some(Question::Models),
            Self::Usage => Some(Question::Usage),
            Self::Budgets => Some(Question::Budgets),
            Self::Skills => Some(Question::Skills),
            Self::Context => Some(Question::Context),
            Self::DebugPrompt => Some(Question::DebugPrompt),
        }
    }

    /// Returns true if the page is about one agent.
    pub(crate) const fn is_of_agent(&self) -> bool {
        !matches!(
            self,
            Self::Help | Self::Agents | Self::Usage | Self::Budgets
        )
    }

    /// Returns true if the page is a text without a list.
    pub(crate) const fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Help | Self::Status | Self::Transcript | Self::DebugPrompt
        )
    }

    /// Returns true if letters select by a filter and do nothing else.
    pub(crate) const fn filters(&self) -> bool {
        matches!(self, Self::Models)
    }

    pub(crate) const fn keys(&self) -> &'static [Key] {
        match self {
            Self::Help | Self::Events => const { &[] },
            Self::Status | Self::Transcript | Self::DebugPrompt | Self::Usage | Self::Budgets => {
                const { &[RELOAD] }
            }
            Self::Agents => {
                const {
                    &[
                        key('\n', "switch", Act::SwitchAgent),
                        asking('s', "start", Act::StartAgent),
                        asking('x', "stop", Act::StopAgent),
                        key('n', "new", Act::NewAgent),
                        RELOAD,
                    ]
                }
            }
            Self::Tasks => {
                const {
                    &[
                        key('\n', "follow output", Act::FollowTask),
                        key('i', "input", Act::WriteToTask),
                        asking('x', "stop", Act::StopTask),
                        RELOAD,
                    ]
                }
            }
            Self::Work => {
                const {
                    &[
                        key('\n', "plan and todo", Act::ReadWorkItem),
                        key('n', "new", Act::NewWorkItem),
                        asking('c', "complete", Act::CompleteWorkItem),
                        key('u', "resume", Act::ResumeWorkItem),
                        RELOAD,
                    ]
                }
            }
            Self::Timers => const { &[asking('x', "cancel", Act::Cancel), RELOAD] },
            Self::Triggers => {
                const {
                    &[
                        key('\n', "show the URL", Act::RevealTrigger),
                        key('n', "new that wakes", Act::NewTrigger),
                        key('m', "new that sends messages", Act::NewMailbox),
                        asking('o', "other URL", Act::RotateTrigger),
                        asking('x', "revoke", Act::RevokeTrigger),
                        RELOAD,
                    ]
                }
            }
            Self::Workspace => {
                const {
                    &[
                        key('\n', "use", Act::UseWorkspace),
                        key('w', "use in a worktree", Act::UseIsolated),
                        key('a', "attach", Act::AttachWorkspace),
                        asking('e', "exit", Act::ExitWorkspace),
                        asking('d', "detach", Act::DetachWorkspace),
                    ]
                }
            }
            Self::Models => const { &[key('\n', "choose", Act::ChooseModel)] },
            Self::Effort { .. } => const { &[key('\n', "choose", Act::ChooseEffort)] },
            Self::Context => {
                const {
                    &[
                        key('p', "pin", Act::PinTurn),
                        key('u', "unpin", Act::UnpinTurn),
                        asking('f', "fold", Act::FoldContext),
                        asking('c', "clear", Act::ClearContext),
                        RELOAD,
                    ]
                }
            }
            Self::Skills => {
                const {
                    &[
                        key('i', "install", Act::InstallSkill),
                        asking('x', "remove", Act::UninstallSkill),
                        RELOAD,
                    ]
                }
            }
        }
    }
}
