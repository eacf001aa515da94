//! Commands of operators and tools about one part of an agent.

use holon_domain::guidance::{SkillInstallation, SkillSourceKind};
use holon_domain::intent::{NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::operator_transport::OperatorTransportBinding;
use holon_domain::task::NewCommandTask;
use holon_domain::thread::ThreadCommand;
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::trigger::DeliveryMode;
use holon_domain::turn::LogSeq;
use holon_domain::workspace::{AttachedWorkspace, SelectedWorkspace};
use holon_domain::{BindingId, TaskId, TimerId, TriggerId, WaitId, WorkItemId, WorkspaceId};

/// A command of an operator about the deliveries of an agent that wait on one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneCommand {
    /// Gives all of them up, because the route is gone.
    End { reason: String },
    /// Ends the pause before the next attempt.
    RetryNow,
}

/// A command of an operator about the bindings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorCommand {
    /// Makes a binding, or replaces the one with the same id.
    Bind(OperatorTransportBinding),
    Revoke {
        binding_id: BindingId,
    },
}

/// What the agent does after its run was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAbort {
    /// It goes on with its queue, and its tasks run on.
    GoOn,
    /// Its tasks are stopped, and it takes no queued message until it is started.
    Stop,
}

/// A command of an operator about one task of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCommand {
    /// Starts a command as a task, without a turn.
    Start(Box<NewCommandTask>),
    /// Asks the task to end; the second time it is killed.
    Stop { task_id: TaskId },
    /// Numbers an input, which the shell writes after the commit.
    Input { task_id: TaskId },
}

/// A command of an operator about the ways into an agent from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerCommand {
    /// Makes a capability of this mode, unless there is one.
    Create {
        delivery_mode: DeliveryMode,
    },
    /// Gives a capability another URL.
    Rotate {
        trigger_id: TriggerId,
    },
    Revoke {
        trigger_id: TriggerId,
    },
    /// Says whether webhooks without a signature are accepted.
    ConfigureWebhook {
        allow_unsigned: bool,
    },
}

/// A change of an agent's skills. They are files of its home, and the shell has changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillCommand {
    Installed(SkillInstallation),
    Uninstalled {
        name: String,
        /// Absent if the runtime did not install it.
        kind: Option<SkillSourceKind>,
    },
}

/// A command of an operator about the thread of an agent's earlier turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextCommand {
    /// Asks the next turn to fold or clear the thread. A later one replaces it.
    Ask(ThreadCommand),
    /// Keeps a turn whole through folds.
    Pin {
        turn_index: u64,
        /// The turn as the log holds it. Absent if the log holds nothing of it.
        measured: Option<MeasuredTurn>,
        /// Estimated tokens that all pinned turns may take together.
        room: u64,
    },
    /// Takes a pin back. The turn is shown until a later turn folds the thread.
    Unpin { turn_index: u64 },
    /// Bounds the thread of this agent; `None` if the setting of the host shall hold again.
    Limit { thread_tokens: Option<u32> },
}

/// An ended turn whose size the shell has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredTurn {
    /// Log position of its first entry.
    pub first_entry: LogSeq,
    /// Estimated tokens of the turn as requests show it. Absent if the thread does not show it.
    pub tokens: Option<u64>,
}

/// A command of an operator about an agent's workspaces. The shell has looked at the directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceCommand {
    Attach(AttachedWorkspace),
    /// Makes a workspace active from the next turn on.
    Use(SelectedWorkspace),
    /// Leaves the active workspace for the agent's home.
    Exit,
    Detach(WorkspaceId),
}

/// A command of an operator about an agent's work, outside of the agent's own calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCommand {
    /// Creates an item. Only the agent itself picks it.
    Create(NewWorkItem),
    Update {
        work_item_id: WorkItemId,
        change: WorkItemChange,
    },
    Complete {
        work_item_id: WorkItemId,
    },
    /// Makes a stalled item runnable again.
    Resume {
        work_item_id: WorkItemId,
    },
    CancelWait {
        wait_id: WaitId,
    },
    CreateTimer(NewTimer),
    /// Creates a timer whose first slot is counted from the commit.
    CreateTimerAfter {
        delay_ms: u64,
        /// `None` for a timer that fires once.
        interval_ms: Option<u64>,
        missed: MissedSlotPolicy,
        summary: Option<String>,
    },
    CancelTimer {
        timer_id: TimerId,
    },
}
