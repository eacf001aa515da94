//! Refusals of an input: each variant with its message, its stable code, its meaning and the next step.
//!
//! Refusals of the core are worded only here. The engine and the server pass them on unchanged; the server adds the HTTP
//! status.

mod texts;

use holon_domain::agent::AgentRecord;
use holon_domain::failure::FailureCause;
use holon_domain::limits;
use holon_domain::refusal::RefusalText;
use holon_domain::{AgentId, RunId};
use texts::*;

/// The reason for which an input was refused. A refused input changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The agent is stopped, and only a start ends that.
    #[error("agent {agent_id} is stopped")]
    Stopped { agent_id: AgentId },
    /// The agent was stopped because its home cannot be made: something that is no directory is in its place. A start looks
    /// again. A home that is merely missing is no reason: the next effect that needs it makes it.
    #[error("agent {agent_id} is stopped because its home could not be made: {reason}")]
    NoHome {
        agent_id: AgentId,
        /// Error of the last attempt, as the file system reported it.
        reason: String,
    },
    /// The agent was archived, and takes nothing more.
    #[error("agent {agent_id} is archived")]
    Archived { agent_id: AgentId },
    /// The agent's removal has begun and cannot be taken back.
    #[error("agent {agent_id} is being removed")]
    Deleting { agent_id: AgentId },
    /// As many messages wait as `limits::QUEUE_ENTRIES` allows, so that not even an operator's is admitted.
    #[error(
        "the queue of agent {agent_id} is full: it holds {} messages",
        limits::QUEUE_ENTRIES
    )]
    QueueFull { agent_id: AgentId },
    /// As many messages wait as `limits::QUEUE_ENTRIES_OTHERS` allows, and this one is not an operator's.
    #[error(
        "the queue of agent {agent_id} holds {} messages, and the rest of its room is kept for operators",
        limits::QUEUE_ENTRIES_OTHERS
    )]
    QueueFullForOthers { agent_id: AgentId },
    /// Neither the agent nor the host has a model to ask.
    #[error("no model is configured")]
    NoModel,
    /// Every model that may be asked failed its check.
    #[error("{reason}")]
    ModelUnavailable {
        /// Error of the first model, with the next step.
        reason: String,
    },
    /// A task that the agent does not have.
    #[error("the agent has no such task")]
    NoSuchTask,
    /// The agent has no such turn, or its log is no longer stored.
    #[error("agent {agent_id} has no such turn, or its log is no longer stored")]
    NoSuchTurn { agent_id: AgentId },
    /// A pin of the turn that the agent runs.
    #[error("turn {turn_index} is not over yet, and only a turn that is over can be pinned")]
    TurnStillOpen { agent_id: AgentId, turn_index: u64 },
    /// A pin of a turn for which a recap stands.
    #[error("turn {turn_index} is not in the thread any more, because a fold took it")]
    TurnNotInThread { agent_id: AgentId, turn_index: u64 },
    /// A pin for which the pinned turns leave no room.
    #[error(
        "turn {turn_index} has about {tokens} tokens; pinned turns may take {room} together and take {pinned} already"
    )]
    PinTooLarge {
        agent_id: AgentId,
        turn_index: u64,
        /// Estimated tokens of the turn.
        tokens: u64,
        /// Estimated tokens of the turns that are pinned.
        pinned: u64,
        room: u64,
    },
    /// The agent has as many pinned turns as `limits::THREAD_PINS` allows.
    #[error(
        "the agent has {} pinned turns, which is the limit",
        limits::THREAD_PINS
    )]
    TooManyPins { agent_id: AgentId },
    /// An abort of an agent that runs nothing.
    #[error("agent {agent_id} has no current run")]
    NoCurrentRun { agent_id: AgentId },
    /// An abort of a run that is not the current one.
    #[error("run {requested} is not the current one, which is {current}")]
    StaleRun {
        agent_id: AgentId,
        /// Run that the operator named.
        requested: RunId,
        current: RunId,
    },
    /// Input for a task that has ended.
    #[error("the task is over and takes no input")]
    TaskOver,
    /// The agent has as many tasks as `limits::TASKS_PER_AGENT` allows.
    #[error(
        "the agent has {} tasks that are not over, which is the limit",
        limits::TASKS_PER_AGENT
    )]
    TooManyTasks { agent_id: AgentId },
    /// A command that no shell can run.
    #[error("{reason}")]
    InvalidCommand { reason: &'static str },
    /// The agent has no work item with this id.
    #[error("the agent has no such work item")]
    NoSuchWorkItem { agent_id: AgentId },
    /// A completed item does not change any more.
    #[error("the work item is completed and does not change any more")]
    WorkItemCompleted { agent_id: AgentId },
    /// No wait with this id is active.
    #[error("the agent has no such wait that is active")]
    NoSuchWait { agent_id: AgentId },
    /// No timer with this id is active.
    #[error("the agent has no such timer that is active")]
    NoSuchTimer { agent_id: AgentId },
    /// The agent has no active external trigger with this id.
    #[error("the agent has no such external trigger that is active")]
    NoSuchTrigger { agent_id: AgentId },
    /// An agent asked for a capability that enqueues, and no operator has made one.
    #[error("no operator has allowed external systems to enqueue messages for this agent")]
    TriggerModeNotAllowed { agent_id: AgentId },
    /// An agent asked for a capability that an operator has revoked, as far as is known.
    #[error(
        "the external trigger of this agent was revoked, and only an operator can make another"
    )]
    TriggerRevokedByOperator { agent_id: AgentId },
    /// A token that leads nowhere: it never was one, its capability was revoked or rotated, or its agent is gone.
    #[error("there is no such capability")]
    UnknownToken,
    /// A valid token on the path of the other mode.
    #[error("the capability has another delivery mode than this path")]
    TriggerModeMismatch,
    /// A work item, wait, timer or wake that cannot be made as it was asked for.
    #[error("{reason}")]
    InvalidWork {
        /// Description of the error, with the next step.
        reason: String,
    },
    /// The agent has not attached this workspace.
    #[error("no such workspace is attached to the agent")]
    WorkspaceNotAttached,
    /// The active workspace cannot be detached.
    #[error("the workspace is the active one and stays attached")]
    WorkspaceActive,
    /// The agent's home is its fallback, which can be neither left nor detached.
    #[error("the agent's home is its fallback and can be neither left nor detached")]
    WorkspaceIsHome,
    /// The agent has as many workspaces as `limits::ATTACHED_WORKSPACES` allows.
    #[error(
        "the agent has {} attached workspaces, which is the limit",
        limits::ATTACHED_WORKSPACES
    )]
    TooManyWorkspaces,
    /// The agent has no binding with this id.
    #[error("the agent has no such binding to an operator")]
    NoSuchBinding,
    /// The binding was revoked or has expired.
    #[error("the binding is revoked or has expired")]
    BindingInactive,
    /// The message is not from the operator of its binding.
    #[error("the message is not from the operator that the binding names")]
    OperatorMismatch,
    /// A message of a transport leaves out the provider or the identity that its binding names.
    #[error("the message leaves out the provider or the identity that its binding names")]
    OperatorIdentityMissing,
    /// The agent has as many active bindings as `limits::OPERATOR_BINDINGS` allows.
    #[error(
        "the agent has {} active bindings to operators, which is the limit",
        limits::OPERATOR_BINDINGS
    )]
    TooManyBindings,
    /// The profile of the agent does not let it attach directories by itself.
    #[error("the profile of this agent does not let it attach further directories")]
    AttachForbidden,
    /// The execution policy of the host does not offer what was asked for.
    #[error("the execution policy of this host offers no {missing}")]
    PolicyDenied {
        /// The ability that the host lacks.
        missing: &'static str,
    },
    /// An operator's prompt of nothing but white space. Events may be empty.
    #[error("the prompt is empty; say what the agent should do")]
    EmptyBody,
    /// A part of the input is over its size limit.
    #[error("the {what} has {bytes} bytes and the limit is {max}")]
    TooLarge {
        /// The part: message body, message metadata, request body.
        what: &'static str,
        /// Size of the part, as far as it was read.
        bytes: usize,
        max: usize,
    },
    /// A prompt with more images, or with larger ones, than one request shows.
    #[error(
        "the message has {images} images; it may have {}, with {} bytes together",
        limits::IMAGES_PER_MESSAGE,
        limits::IMAGE_REQUEST_BYTES
    )]
    TooManyImages { images: usize },
    /// An id or a name beside the body is over its size limit.
    #[error("the {what} has {characters} characters and the limit is {max}")]
    NameTooLong {
        /// The field: `correlation_id`, `causation_id`, or one of the origin.
        what: &'static str,
        characters: usize,
        max: usize,
    },
    /// A prompt whose turn may take no model round at all.
    #[error("max_turns must be at least 1")]
    NoRounds,
    /// The kind does not fit the origin, for example a `channel_event` from a webhook.
    #[error("kind and origin of the message do not belong together")]
    KindOriginMismatch,
    /// A kind that only the operator or the runtime may send, from a context that authenticates neither.
    #[error("this kind of message cannot be enqueued from outside")]
    KindNotPublic,
    /// An origin that a caller without credentials cannot prove.
    #[error("this origin cannot be claimed here")]
    OriginNotPublic,
    /// Priority `interject` on anything but a prompt of a known operator.
    #[error("only an operator may interject")]
    PriorityNotPublic,
    /// A delivery record, which only the runtime writes.
    #[error("a delivery record cannot be enqueued from outside")]
    BodyNotPublic,
}

impl Rejection {
    /// Builds the refusal of a stopped agent, with the cause if no operator stopped it or it was archived.
    pub(crate) fn stopped(agent: &AgentRecord) -> Self {
        let agent_id = agent.identity.agent_id.clone();
        if agent.archived_at.is_some() {
            return Self::Archived { agent_id };
        }
        match &agent.last_failure {
            Some(failure) if failure.cause == FailureCause::HomeNotMade => Self::NoHome {
                agent_id,
                reason: failure.failure_artifact.summary.clone(),
            },
            Some(_) | None => Self::Stopped { agent_id },
        }
    }

    /// Builds the refusal of an agent that is being removed.
    pub(crate) fn deleting(agent: &AgentRecord) -> Self {
        Self::Deleting {
            agent_id: agent.identity.agent_id.clone(),
        }
    }

    /// Returns the code, meaning and next step of this kind of refusal.
    #[must_use]
    pub const fn text(&self) -> RefusalText {
        match self {
            Self::Stopped { .. } => STOPPED,
            Self::NoHome { .. } => NO_HOME,
            Self::Archived { .. } => ARCHIVED,
            Self::Deleting { .. } => DELETING,
            Self::QueueFull { .. } => QUEUE_FULL,
            Self::QueueFullForOthers { .. } => QUEUE_FULL_FOR_OTHERS,
            Self::NoModel => NO_MODEL,
            Self::ModelUnavailable { .. } => MODEL_UNAVAILABLE,
            Self::NoSuchTask => NO_SUCH_TASK,
            Self::NoSuchTurn { .. } => NO_SUCH_TURN,
            Self::TurnStillOpen { .. } => TURN_STILL_OPEN,
            Self::TurnNotInThread { .. } => TURN_NOT_IN_THREAD,
            Self::PinTooLarge { .. } => PIN_TOO_LARGE,
            Self::TooManyPins { .. } => TOO_MANY_PINS,
            Self::NoCurrentRun { .. } => NO_CURRENT_RUN,
            Self::StaleRun { .. } => STALE_RUN,
            Self::TaskOver => TASK_OVER,
            Self::TooManyTasks { .. } => TOO_MANY_TASKS,
            Self::InvalidCommand { .. } => INVALID_COMMAND,
            Self::NoSuchWorkItem { .. } => NO_SUCH_WORK_ITEM,
            Self::WorkItemCompleted { .. } => WORK_ITEM_COMPLETED,
            Self::NoSuchWait { .. } => NO_SUCH_WAIT,
            Self::NoSuchTimer { .. } => NO_SUCH_TIMER,
            Self::NoSuchTrigger { .. } => NO_SUCH_TRIGGER,
            Self::TriggerModeNotAllowed { .. } => TRIGGER_MODE_NOT_ALLOWED,
            Self::TriggerRevokedByOperator { .. } => TRIGGER_REVOKED_BY_OPERATOR,
            Self::UnknownToken => UNKNOWN_TOKEN,
            Self::TriggerModeMismatch => TRIGGER_MODE_MISMATCH,
            Self::InvalidWork { .. } => INVALID_WORK,
            Self::WorkspaceNotAttached => WORKSPACE_NOT_ATTACHED,
            Self::WorkspaceActive => WORKSPACE_ACTIVE,
            Self::WorkspaceIsHome => WORKSPACE_IS_HOME,
            Self::TooManyWorkspaces => TOO_MANY_WORKSPACES,
            Self::NoSuchBinding => NO_SUCH_BINDING,
            Self::BindingInactive => BINDING_INACTIVE,
            Self::OperatorMismatch => OPERATOR_MISMATCH,
            Self::OperatorIdentityMissing => OPERATOR_IDENTITY_MISSING,
            Self::TooManyBindings => TOO_MANY_BINDINGS,
            Self::AttachForbidden => ATTACH_FORBIDDEN,
            Self::PolicyDenied { .. } => POLICY_DENIED,
            Self::EmptyBody => EMPTY_BODY,
            Self::TooLarge { .. } => TOO_LARGE,
            Self::TooManyImages { .. } => TOO_MANY_IMAGES,
            Self::NameTooLong { .. } => NAME_TOO_LONG,
            Self::NoRounds => NO_ROUNDS,
            Self::KindOriginMismatch => KIND_ORIGIN_MISMATCH,
            Self::KindNotPublic => KIND_NOT_PUBLIC,
            Self::OriginNotPublic => ORIGIN_NOT_PUBLIC,
            Self::PriorityNotPublic => PRIORITY_NOT_PUBLIC,
            Self::BodyNotPublic => BODY_NOT_PUBLIC,
        }
    }

    /// Returns the stable code of this refusal, as clients see it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.text().code
    }

    /// Returns the next step for the caller; `None` if the message already contains it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let step = self.text().next_step;
        match self.agent_id() {
            Some(agent_id) => step.hint_with("{agent_id}", agent_id.as_str()),
            None => step.hint().map(str::to_owned),
        }
    }

    /// Returns the agent whose state is the reason; `None` if the input itself or the host is the reason.
    #[must_use]
    pub const fn agent_id(&self) -> Option<&AgentId> {
        match self {
            Self::Stopped { agent_id }
            | Self::NoHome { agent_id, .. }
            | Self::Archived { agent_id }
            | Self::Deleting { agent_id }
            | Self::QueueFull { agent_id }
            | Self::QueueFullForOthers { agent_id }
            | Self::NoSuchWorkItem { agent_id }
            | Self::WorkItemCompleted { agent_id }
            | Self::NoSuchWait { agent_id }
            | Self::NoSuchTimer { agent_id }
            | Self::NoSuchTurn { agent_id }
            | Self::TurnStillOpen { agent_id, .. }
            | Self::TurnNotInThread { agent_id, .. }
            | Self::PinTooLarge { agent_id, .. }
            | Self::TooManyPins { agent_id }
            | Self::NoSuchTrigger { agent_id }
            | Self::TriggerModeNotAllowed { agent_id }
            | Self::TriggerRevokedByOperator { agent_id }
            | Self::NoCurrentRun { agent_id }
            | Self::TooManyTasks { agent_id }
            | Self::StaleRun { agent_id, .. } => Some(agent_id),
            Self::NoModel
            | Self::ModelUnavailable { .. }
            | Self::NoSuchTask
            | Self::TaskOver
            | Self::InvalidCommand { .. }
            | Self::UnknownToken
            | Self::TriggerModeMismatch
            | Self::InvalidWork { .. }
            | Self::WorkspaceNotAttached
            | Self::WorkspaceActive
            | Self::WorkspaceIsHome
            | Self::TooManyWorkspaces
            | Self::NoSuchBinding
            | Self::BindingInactive
            | Self::OperatorMismatch
            | Self::OperatorIdentityMissing
            | Self::TooManyBindings
            | Self::AttachForbidden
            | Self::PolicyDenied { .. }
            | Self::EmptyBody
            | Self::TooLarge { .. }
            | Self::TooManyImages { .. }
            | Self::NameTooLong { .. }
            | Self::NoRounds
            | Self::KindOriginMismatch
            | Self::KindNotPublic
            | Self::OriginNotPublic
            | Self::PriorityNotPublic
            | Self::BodyNotPublic => None,
        }
    }

    /// Returns one refusal of every kind, for the reference and for tests over all of them.
    #[must_use]
    #[expect(
        clippy::too_many_lines,
        reason = "a list with one entry for each refusal"
    )]
    pub fn examples(agent_id: &AgentId) -> Vec<Self> {
        let agent_id = || agent_id.clone();
        vec![
            Self::Stopped {
                agent_id: agent_id(),
            },
            Self::NoHome {
                agent_id: agent_id(),
                reason: "Permission denied (os error 13)".to_owned(),
            },
            Self::Archived {
                agent_id: agent_id(),
            },
            Self::Deleting {
                agent_id: agent_id(),
            },
            Self::QueueFull {
                agent_id: agent_id(),
            },
            Self::QueueFullForOthers {
                agent_id: agent_id(),
            },
            Self::NoModel,
            Self::ModelUnavailable {
                reason: "provider \"elsewhere\" is not known here".to_owned(),
            },
            Self::NoSuchTask,
            Self::NoSuchTurn {
                agent_id: agent_id(),
            },
            Self::TurnStillOpen {
                agent_id: agent_id(),
                turn_index: 8,
            },
            Self::TurnNotInThread {
                agent_id: agent_id(),
                turn_index: 2,
            },
            Self::PinTooLarge {
                agent_id: agent_id(),
                turn_index: 7,
                tokens: 5_000,
                pinned: 29_000,
                room: 32_000,
            },
            Self::TooManyPins {
                agent_id: agent_id(),
            },
            Self::NoCurrentRun {
                agent_id: agent_id(),
            },
            Self::StaleRun {
                agent_id: agent_id(),
                requested: RunId::from_stored("run_1"),
                current: RunId::from_stored("run_2"),
            },
            Self::TaskOver,
            Self::TooManyTasks {
                agent_id: agent_id(),
            },
            Self::InvalidCommand {
                reason: "the command is empty",
            },
            Self::NoSuchWorkItem {
                agent_id: agent_id(),
            },
            Self::WorkItemCompleted {
                agent_id: agent_id(),
            },
            Self::NoSuchWait {
                agent_id: agent_id(),
            },
            Self::NoSuchTimer {
                agent_id: agent_id(),
            },
            Self::NoSuchTrigger {
                agent_id: agent_id(),
            },
            Self::TriggerModeNotAllowed {
                agent_id: agent_id(),
            },
            Self::TriggerRevokedByOperator {
                agent_id: agent_id(),
            },
            Self::UnknownToken,
            Self::TriggerModeMismatch,
            Self::InvalidWork {
                reason: "interval_ms must be at least 1".to_owned(),
            },
            Self::WorkspaceNotAttached,
            Self::WorkspaceActive,
            Self::WorkspaceIsHome,
            Self::TooManyWorkspaces,
            Self::NoSuchBinding,
            Self::BindingInactive,
            Self::OperatorMismatch,
            Self::OperatorIdentityMissing,
            Self::TooManyBindings,
            Self::AttachForbidden,
            Self::PolicyDenied {
                missing: "managed worktrees",
            },
            Self::EmptyBody,
            Self::TooLarge {
                what: "message body",
                bytes: 2,
                max: 1,
            },
            Self::TooManyImages { images: 9 },
            Self::NameTooLong {
                what: "correlation_id",
                characters: 2,
                max: 1,
            },
            Self::NoRounds,
            Self::KindOriginMismatch,
            Self::KindNotPublic,
            Self::OriginNotPublic,
            Self::PriorityNotPublic,
            Self::BodyNotPublic,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_example_of_every_variant() {
        let agent_id = AgentId::parse("main").expect("a name");
        let variants = include_str!("rejection.rs").matches("    #[error(").count();
        // The search pattern in this test is itself one more match.
        assert_eq!(Rejection::examples(&agent_id).len(), variants - 1);
    }
}
