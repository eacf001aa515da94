//! Requests and replies of the host, independent of any wire format.

use holon_domain::authority::AuthorityClass;
use holon_domain::image::SentImage;
use holon_domain::message::AdmissionContext;
use holon_domain::model::ModelRef;
use holon_domain::task::TaskStatusSnapshot;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::{AgentId, MessageId, TaskId};
use std::path::PathBuf;

pub use holon_core::Ingress;

/// A message that was committed to an agent's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedMessage {
    pub agent_id: AgentId,
    pub message_id: MessageId,
    /// Position in the agent's queue, counted from 1.
    pub message_seq: u64,
    /// Length of the agent's log before the message.
    pub log_end: u64,
}

/// Input of an operator for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInputOrder {
    pub task_id: TaskId,
    /// Written as it is. May be empty if the input is closed.
    pub input: String,
    /// True if the input is closed after the write.
    pub close_input: bool,
}

/// Input that a task has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenInput {
    /// The task before the write.
    pub task: TaskStatusSnapshot,
    pub bytes_written: u64,
    /// Reason why the input was written but not closed; absent if all was done.
    pub not_closed: Option<String>,
}

/// A task after a request to stop it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStopped {
    pub task: TaskStatusSnapshot,
    /// False if the task was over before.
    pub stop_requested: bool,
    /// True if the task is killed.
    pub force_stop_requested: bool,
}

/// The workspace a caller chose for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceChoice {
    /// Root of the project; the agent's home when absent.
    pub workspace_root: Option<PathBuf>,
    /// Working directory inside the root; the root itself when absent.
    pub cwd: Option<PathBuf>,
}

impl WorkspaceChoice {
    /// Returns true if the caller chose nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.workspace_root.is_none() && self.cwd.is_none()
    }
}

/// The content of a new agent's home that a caller chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeChoice {
    /// Selector of the template, as the caller wrote it; the default template when only a seed is given.
    pub template: Option<String>,
    /// Text of the operator that is added to the agent's `AGENTS.md`.
    pub seed: Option<String>,
}

impl HomeChoice {
    /// Returns true if the caller chose nothing; then the home is made when it is first needed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.template.is_none() && self.seed.is_none()
    }
}

/// A request to create an agent.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    pub agent_id: AgentId,
    pub workspace: WorkspaceChoice,
    pub home: HomeChoice,
    /// Model override; the host's models when absent.
    pub model: Option<ModelRef>,
}

/// A request for a one-shot run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Prompt of the run.
    pub text: String,
    /// Images that go with the prompt, as [`ControlHandle::claim_images`](crate::ControlHandle::claim_images) returned them.
    pub images: Vec<SentImage>,
    /// Agent that answers; a temporary one when absent.
    pub agent_id: Option<AgentId>,
    /// True if a missing named agent is created.
    pub create_agent: bool,
    /// Content of the home of an agent that is created. For one that exists it is refused, or left out with a note if
    /// `create_agent` is set.
    pub home: HomeChoice,
    /// Model override, stored for the agent from now on; `None` leaves it unchanged.
    pub model: Option<ModelRef>,
    /// Upper bound on model rounds.
    pub max_rounds: Option<u32>,
    /// True if a temporary agent's run ends only after its tasks have ended and the agent has read their results.
    pub wait_for_tasks: bool,
    /// Workspace to use; an existing agent keeps its own when this is empty.
    pub workspace: WorkspaceChoice,
    /// Transport and authentication of the request.
    pub admission_context: AdmissionContext,
    /// Authority that the caller asks for at most; that of the transport when absent.
    pub at_most: Option<AuthorityClass>,
}

/// An operator's wake: the agent is to look although no message has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// Reason for the wake, shown to the agent.
    pub reason: String,
    /// Name of the outside system that changed. Wakes of one source coalesce, and waits for that source end.
    pub source: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
}

/// A timer that an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerOrder {
    pub first: FirstSlot,
    /// Policy for slots that pass while the host is down or the agent is stopped.
    pub missed: MissedSlotPolicy,
    /// Text of the tick message for the agent.
    pub summary: Option<String>,
}

/// The first slot of a new timer, and its repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstSlot {
    /// Counted from the commit that makes the timer.
    After {
        delay_ms: u64,
        interval_ms: Option<u64>,
    },
    /// A wall clock time or a cron expression.
    By(TimerSchedule),
}
