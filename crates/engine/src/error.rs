//! What can go wrong when something is asked of the host: each cause by name, each with a code and a next step.

use holon_domain::AgentId;
use holon_domain::id::AgentIdError;
use holon_domain::model::ModelFailure;

/// Why a request was not carried out. Nothing was written unless a variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such agent, or one the caller may not see.
    #[error("there is no agent {agent_id}")]
    AgentNotFound {
        /// The name asked for.
        agent_id: AgentId,
    },
    /// It may not run.
    #[error("agent {agent_id} is stopped")]
    AgentStopped {
        /// Which.
        agent_id: AgentId,
    },
    /// It is being removed.
    #[error("agent {agent_id} is being removed")]
    AgentDeleting {
        /// Which.
        agent_id: AgentId,
    },
    /// The name is taken by an agent that was made differently.
    #[error("agent {agent_id} exists already: {reason}")]
    AgentConflict {
        /// Which.
        agent_id: AgentId,
        /// How it differs.
        reason: String,
    },
    /// The name is no agent id.
    #[error(transparent)]
    AgentId(#[from] AgentIdError),
    /// Admission refused the message.
    #[error("{message}")]
    Rejected {
        /// Stable and machine-readable.
        code: &'static str,
        /// Why.
        message: String,
    },
    /// The message is over the size limit.
    #[error("{message}")]
    TooLarge {
        /// What, and the limit.
        message: String,
    },
    /// The agent's queue is at its limit.
    #[error("the queue of agent {agent_id} is full")]
    QueueFull {
        /// Which.
        agent_id: AgentId,
    },
    /// The workspace cannot be used.
    #[error("{message}")]
    Workspace {
        /// Why.
        message: String,
    },
    /// The model cannot be asked.
    #[error("{0}")]
    Model(ModelFailure),
    /// No model was chosen anywhere.
    #[error("no model is configured")]
    NoModel,
    /// The cursor is older than the oldest event kept.
    #[error("events before {oldest_seq} are no longer kept")]
    CursorTooOld {
        /// The oldest kept.
        oldest_seq: u64,
        /// The newest.
        newest_seq: u64,
    },
    /// Too much is waiting to be written.
    #[error("the host is overloaded")]
    Overloaded,
    /// The disk is full. Work goes on by itself when there is space again.
    #[error("the disk is full")]
    DiskFull,
    /// Whether the commit holds could not be found out.
    #[error("the commit could not be confirmed")]
    CommitUnknown,
    /// The host is going down.
    #[error("the host is shutting down")]
    ShuttingDown,
    /// Storage failed.
    #[error("storage failed: {message}")]
    Storage {
        /// How.
        message: String,
    },
    /// The runtime broke one of its own rules; the agent's turn was given up, the others go on.
    #[error("internal fault: {message}")]
    Internal {
        /// Which.
        message: String,
    },
}

impl From<holon_store::Error> for Error {
    fn from(error: holon_store::Error) -> Self {
        Self::Storage {
            message: error.to_string(),
        }
    }
}

impl Error {
    /// Stable code for callers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AgentNotFound { .. } => "agent_not_found",
            Self::AgentStopped { .. } => "agent_stopped",
            Self::AgentDeleting { .. } => "agent_deleting",
            Self::AgentConflict { .. } => "agent_conflict",
            Self::AgentId(_) => "invalid_agent_id",
            Self::Rejected { code, .. } => code,
            Self::TooLarge { .. } => "too_large",
            Self::QueueFull { .. } => "queue_full",
            Self::Workspace { .. } => "invalid_workspace",
            Self::Model(_) => "model_unavailable",
            Self::NoModel => "no_model",
            Self::CursorTooOld { .. } => "cursor_too_old",
            Self::Overloaded => "overloaded",
            Self::DiskFull => "disk_full",
            Self::CommitUnknown => "commit_unknown",
            Self::ShuttingDown => "shutting_down",
            Self::Storage { .. } => "storage_failed",
            Self::Internal { .. } => "internal",
        }
    }

    /// What to do next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::AgentNotFound { agent_id } => {
                Some(format!("create it with: holon agent create {agent_id}; list agents with: holon agent list"))
            }
            Self::AgentStopped { agent_id } => Some(format!("start it with: holon agent start {agent_id}")),
            Self::QueueFull { .. } => Some("wait until the agent has worked some of it off, then try again".into()),
            Self::NoModel => Some(
                "choose one with --model PROVIDER/MODEL or HOLON_MODEL; without a key try: holon demo".into(),
            ),
            Self::CursorTooOld { oldest_seq, .. } => {
                Some(format!("read /status afresh, then continue with after_seq={}", oldest_seq.saturating_sub(1)))
            }
            Self::Overloaded => Some("try again in a moment".into()),
            Self::CommitUnknown => {
                Some("it may have been taken: look at the transcript before you send it again".into())
            }
            Self::DiskFull => Some("free some space; the host goes on by itself".into()),
            Self::AgentConflict { .. } => {
                Some("choose another name, or ask for the same workspace and model".into())
            }
            Self::AgentDeleting { .. }
            | Self::AgentId(_)
            | Self::Rejected { .. }
            | Self::TooLarge { .. }
            | Self::Workspace { .. }
            | Self::Model(_)
            | Self::ShuttingDown
            | Self::Storage { .. }
            | Self::Internal { .. } => None,
        }
    }
}
