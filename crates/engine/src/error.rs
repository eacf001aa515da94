//! Errors of requests to the host. Their codes, meanings and next steps are in `text`.
//!
//! A refusal of the core passes through as [`Rejection`]; this file adds the causes outside of decisions.

mod text;

use holon_core::Rejection;
use holon_domain::AgentId;
use holon_domain::guidance::SkillFault;
use holon_domain::id::AgentIdError;
use holon_domain::image::ImageFault;
use holon_domain::memory::MemoryFault;
use holon_store::StoreLost;

/// The reason why a request was not carried out. Nothing was written unless a variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The core refused the input.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// There is no such agent, or the caller may not see it.
    #[error("there is no agent {agent_id}")]
    AgentNotFound { agent_id: AgentId },
    /// Stored rows of the agent cannot be read or contradict each other, so no decision can be made about it. Other
    /// agents are not affected.
    #[error("agent {agent_id} was put aside: {reason}")]
    AgentAside {
        agent_id: AgentId,
        /// Names the row and the fault.
        reason: String,
    },
    /// A stored row of the agent that the request asks for cannot be read. The agent may be at work all the same.
    #[error("a stored row of agent {agent_id} cannot be read: {reason}")]
    AgentUnreadable {
        agent_id: AgentId,
        /// Names the row and the fault.
        reason: String,
    },
    /// The name is taken by an agent with another workspace or model.
    #[error("agent {agent_id} exists already: {reason}")]
    AgentConflict {
        agent_id: AgentId,
        /// Difference to the existing agent.
        reason: String,
    },
    /// The name is no agent id.
    #[error(transparent)]
    AgentId(#[from] AgentIdError),
    /// The directory cannot be used as a workspace.
    #[error("{message}")]
    Workspace {
        /// Names the directory, the reason and an alternative.
        message: String,
    },
    /// The template cannot be applied; nothing was made.
    #[error("{message}")]
    Template {
        /// Names the template, the reason and an alternative.
        message: String,
    },
    /// The archive is refused, or the agent has more than one may hold; nothing was made.
    #[error("{message}")]
    Archive {
        /// Names the rule or the limit, and the next step.
        message: String,
    },
    /// A skill of this name is in the agent's home.
    #[error("{message}")]
    SkillInstalled { message: String },
    /// No skill of this name is in the agent's home.
    #[error("{message}")]
    SkillMissing { message: String },
    /// The directory is no skill, or cannot be copied or linked.
    #[error("{message}")]
    SkillInvalid { message: String },
    /// The skill could not be fetched from its repository.
    #[error("{message}")]
    SkillUnreachable { message: String },
    /// Fetching the skill took too long.
    #[error("{message}")]
    SkillTimedOut { message: String },
    /// The workspace holds or lies in a directory of the host.
    #[error("the workspace {workspace} reaches {reserved}, which belongs to the host")]
    WorkspaceReserved {
        /// Execution root that was asked for.
        workspace: String,
        /// Directory of the host that conflicts with it.
        reserved: String,
    },
    /// The task cannot be written to.
    #[error("the task took no input: {reason}")]
    TaskInput {
        /// Description of the state of its command, with the next step.
        reason: String,
    },
    /// An image that an operator sends is not taken.
    #[error(transparent)]
    Image(#[from] ImageFault),
    /// No document of the agent's memory has this reference.
    #[error("there is no memory with the source_ref {source_ref:?}")]
    MemoryNotFound { source_ref: String },
    /// A file of the agent's memory is there and is not read.
    #[error("{path} is not read: {reason}")]
    MemoryUnreadable { path: String, reason: String },
    /// Another process holds the memory index.
    #[error("the memory index is locked by another process")]
    MemoryLocked,
    /// A search of memory took too long.
    #[error("the search took longer than {limit_ms} ms and was given up")]
    MemoryTooSlow { limit_ms: u64 },
    /// The memory index cannot be used.
    #[error("the memory index cannot be used: {reason}")]
    MemoryUnavailable { reason: String },
    /// The credential store took no secret, so nothing was made.
    #[error("the secret could not be stored: {reason}")]
    SecretNotKept { reason: String },
    /// The host has no key to derive the URLs of triggers from.
    #[error(
        "the host's key for URLs of triggers could not be read when it started, so no such URL works"
    )]
    NoCapabilityKey,
    /// The idempotency key of the request was used for another request of the same caller, route and agent.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The request has begun a run with a temporary agent before, and that run was cut off. It may have had effects.
    #[error("this request has begun a run before, which was cut off and has no outcome")]
    RunNotRepeated,
    /// The request was admitted before, and retention has removed its message or the answer to it.
    #[error("the request was carried out before, and its answer is kept no longer")]
    OutcomeRemoved {
        /// Absent if the request named no agent.
        agent_id: Option<AgentId>,
    },
    /// The request was carried out before, and the kept answer to it cannot be read.
    #[error(
        "the answer that is kept for this request cannot be read: its row in `kept_replies` is damaged"
    )]
    OutcomeUnreadable {
        /// Absent if the request named no agent.
        agent_id: Option<AgentId>,
    },
    /// The cursor is older than the oldest event kept.
    #[error("nothing before {oldest_seq} is kept any more")]
    CursorTooOld { oldest_seq: u64, newest_seq: u64 },
    /// The cursor belongs to an agent of the same name that was deleted.
    #[error(
        "agent {agent_id} was deleted and created again since; its events begin with {oldest_seq}"
    )]
    AgentReplaced {
        agent_id: AgentId,
        oldest_seq: u64,
        newest_seq: u64,
    },
    /// The writer's queue is full.
    #[error("the host is overloaded")]
    Overloaded,
    /// The disk is full. Work resumes by itself when there is space.
    #[error("the disk is full")]
    DiskFull,
    /// The store cannot tell whether the commit holds; the input may have taken effect.
    #[error("the commit could not be confirmed")]
    CommitUnknown,
    /// The files of the store were deleted, moved or replaced under the host, which ends. The change may exist in a
    /// file that only the host still holds open.
    #[error("{message}")]
    StoreLost {
        /// Names the file and the finding.
        message: String,
    },
    /// The host is going down.
    #[error("the host is shutting down")]
    ShuttingDown,
    /// Any other failure of the store.
    #[error("storage failed: {message}")]
    Storage { message: String },
    /// The runtime broke one of its own rules. The agent's turn was given up; other agents are not affected.
    #[error("internal fault: {message}")]
    Internal {
        /// Text of the broken rule or of the panic.
        message: String,
    },
}

impl From<holon_store::Error> for Error {
    fn from(error: holon_store::Error) -> Self {
        match error {
            holon_store::Error::Lost(lost) => lost.into(),
            other => Self::Storage {
                message: other.to_string(),
            },
        }
    }
}

impl From<StoreLost> for Error {
    fn from(lost: StoreLost) -> Self {
        Self::StoreLost {
            message: lost.to_string(),
        }
    }
}

impl Error {
    /// Converts a store error of an operation on one agent. An unreadable row becomes `AgentAside`.
    pub(crate) fn of_agent(agent_id: &AgentId, error: holon_store::Error) -> Self {
        let agent_id = agent_id.clone();
        match error {
            holon_store::Error::Aside { reason, .. } => Self::AgentAside { agent_id, reason },
            holon_store::Error::Row { table, key, reason } => Self::AgentAside {
                agent_id,
                reason: format!("{table} {key}: {reason}"),
            },
            other => other.into(),
        }
    }

    /// Converts a store error of a read about one agent. Reading puts no agent aside.
    pub(crate) fn of_read(agent_id: &AgentId, error: holon_store::Error) -> Self {
        match error {
            holon_store::Error::Row { table, key, reason } => Self::AgentUnreadable {
                agent_id: agent_id.clone(),
                reason: format!("{table} {key}: {reason}"),
            },
            other => Self::of_agent(agent_id, other),
        }
    }

    /// Returns true if the change may have been written all the same.
    pub(crate) const fn leaves_doubt(&self) -> bool {
        matches!(self, Self::CommitUnknown | Self::StoreLost { .. })
    }

    /// Stable code for callers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.text().code
    }

    /// Next step for the caller; absent when the message already says it or there is nothing to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let step = self.text().next_step;
        match self {
            Self::Rejected(rejection) => rejection.hint(),
            Self::AgentNotFound { agent_id } if agent_id.is_child() => Some(
                "a private child is known through its parent only: holon agent tree; \
                 holon task show and holon task stop act on it"
                    .to_owned(),
            ),
            Self::AgentNotFound { agent_id }
            | Self::AgentAside { agent_id, .. }
            | Self::AgentUnreadable { agent_id, .. } => {
                step.hint_with("{agent_id}", agent_id.as_str())
            }
            Self::CursorTooOld { oldest_seq, .. } | Self::AgentReplaced { oldest_seq, .. } => {
                let after_seq = oldest_seq.saturating_sub(1).to_string();
                step.hint_with("{after_seq}", &after_seq)
            }
            Self::AgentConflict { .. }
            | Self::AgentId(_)
            | Self::Workspace { .. }
            | Self::Template { .. }
            | Self::Archive { .. }
            | Self::SkillInstalled { .. }
            | Self::SkillMissing { .. }
            | Self::SkillInvalid { .. }
            | Self::SkillUnreachable { .. }
            | Self::SkillTimedOut { .. }
            | Self::WorkspaceReserved { .. }
            | Self::TaskInput { .. }
            | Self::Image(_)
            | Self::MemoryNotFound { .. }
            | Self::MemoryLocked
            | Self::MemoryTooSlow { .. }
            | Self::MemoryUnreadable { .. }
            | Self::MemoryUnavailable { .. }
            | Self::SecretNotKept { .. }
            | Self::NoCapabilityKey
            | Self::KeyReused
            | Self::RunNotRepeated
            | Self::OutcomeRemoved { .. }
            | Self::OutcomeUnreadable { .. }
            | Self::Overloaded
            | Self::DiskFull
            | Self::CommitUnknown
            | Self::StoreLost { .. }
            | Self::ShuttingDown
            | Self::Storage { .. }
            | Self::Internal { .. } => step.hint().map(str::to_owned),
        }
    }

    /// The agent concerned, if the error concerns one.
    #[must_use]
    pub const fn agent_id(&self) -> Option<&AgentId> {
        match self {
            Self::Rejected(rejection) => rejection.agent_id(),
            Self::AgentNotFound { agent_id }
            | Self::AgentAside { agent_id, .. }
            | Self::AgentUnreadable { agent_id, .. }
            | Self::AgentReplaced { agent_id, .. }
            | Self::AgentConflict { agent_id, .. } => Some(agent_id),
            Self::OutcomeRemoved { agent_id } | Self::OutcomeUnreadable { agent_id } => {
                agent_id.as_ref()
            }
            Self::AgentId(_)
            | Self::Workspace { .. }
            | Self::Template { .. }
            | Self::Archive { .. }
            | Self::SkillInstalled { .. }
            | Self::SkillMissing { .. }
            | Self::SkillInvalid { .. }
            | Self::SkillUnreachable { .. }
            | Self::SkillTimedOut { .. }
            | Self::WorkspaceReserved { .. }
            | Self::TaskInput { .. }
            | Self::Image(_)
            | Self::MemoryNotFound { .. }
            | Self::MemoryLocked
            | Self::MemoryTooSlow { .. }
            | Self::MemoryUnreadable { .. }
            | Self::MemoryUnavailable { .. }
            | Self::SecretNotKept { .. }
            | Self::NoCapabilityKey
            | Self::KeyReused
            | Self::RunNotRepeated
            | Self::CursorTooOld { .. }
            | Self::Overloaded
            | Self::DiskFull
            | Self::CommitUnknown
            | Self::StoreLost { .. }
            | Self::ShuttingDown
            | Self::Storage { .. }
            | Self::Internal { .. } => None,
        }
    }

    /// Returns one error of every kind, including the core's refusals, for the reference and for tests over all of
    /// them.
    #[must_use]
    pub fn examples(agent_id: &AgentId) -> Vec<Self> {
        let own = [
            Self::AgentNotFound {
                agent_id: agent_id.clone(),
            },
            Self::AgentAside {
                agent_id: agent_id.clone(),
                reason: "log 7: expected value at line 1 column 1".to_owned(),
            },
            Self::AgentUnreadable {
                agent_id: agent_id.clone(),
                reason: "briefs 7: expected value at line 1 column 1".to_owned(),
            },
            Self::AgentConflict {
                agent_id: agent_id.clone(),
                reason: "it works in /srv/other".to_owned(),
            },
            Self::AgentId(AgentIdError::LeadingDot),
            Self::Workspace {
                message: "/srv/missing does not exist".to_owned(),
            },
            Self::Template {
                message: "there is no template \"x\"".to_owned(),
            },
            Self::Archive {
                message: "the archive is refused: it ends before its end mark".to_owned(),
            },
            Self::SkillInstalled {
                message: "skill \"x\" is installed already".to_owned(),
            },
            Self::SkillMissing {
                message: "skill \"x\" is not installed".to_owned(),
            },
            Self::SkillInvalid {
                message: "/srv/x is no skill".to_owned(),
            },
            Self::SkillUnreachable {
                message: "https://github.com/a/b cannot be read".to_owned(),
            },
            Self::SkillTimedOut {
                message: "fetching from https://github.com/a/b was given up".to_owned(),
            },
            Self::WorkspaceReserved {
                workspace: "/srv".to_owned(),
                reserved: "/srv/holon/state".to_owned(),
            },
            Self::TaskInput {
                reason: "its input is closed".to_owned(),
            },
            Self::MemoryNotFound {
                source_ref: "brief:none".to_owned(),
            },
            Self::MemoryLocked,
            Self::MemoryTooSlow { limit_ms: 5_000 },
            Self::MemoryUnreadable {
                path: "memory/self.md".to_owned(),
                reason: "it is a symbolic link".to_owned(),
            },
            Self::MemoryUnavailable {
                reason: "disk I/O error".to_owned(),
            },
            Self::SecretNotKept {
                reason: "the file is not a regular file".to_owned(),
            },
            Self::NoCapabilityKey,
            Self::KeyReused,
            Self::RunNotRepeated,
            Self::OutcomeRemoved {
                agent_id: Some(agent_id.clone()),
            },
            Self::OutcomeUnreadable {
                agent_id: Some(agent_id.clone()),
            },
            Self::CursorTooOld {
                oldest_seq: 5,
                newest_seq: 9,
            },
            Self::AgentReplaced {
                agent_id: agent_id.clone(),
                oldest_seq: 7,
                newest_seq: 9,
            },
            Self::Overloaded,
            Self::DiskFull,
            Self::CommitUnknown,
            Self::StoreLost {
                message: "the store is no longer there: state/holon.sqlite3 was deleted".to_owned(),
            },
            Self::ShuttingDown,
            Self::Storage {
                message: "disk I/O error".to_owned(),
            },
            Self::Internal {
                message: "a turn without a message".to_owned(),
            },
        ];
        let rejected = Rejection::examples(agent_id)
            .into_iter()
            .map(Self::Rejected);
        let images = ImageFault::examples().into_iter().map(Self::Image);
        rejected.chain(own).chain(images).collect()
    }
}

impl From<MemoryFault> for Error {
    fn from(fault: MemoryFault) -> Self {
        match fault {
            MemoryFault::NotFound { source_ref } => Self::MemoryNotFound { source_ref },
            MemoryFault::Locked => Self::MemoryLocked,
            MemoryFault::TooSlow { limit_ms } => Self::MemoryTooSlow { limit_ms },
            MemoryFault::Unreadable { path, reason } => Self::MemoryUnreadable { path, reason },
            MemoryFault::Unavailable { reason } => Self::MemoryUnavailable { reason },
        }
    }
}

impl From<SkillFault> for Error {
    fn from(fault: SkillFault) -> Self {
        match fault {
            SkillFault::AlreadyInstalled { message } => Self::SkillInstalled { message },
            SkillFault::NotInstalled { message } => Self::SkillMissing { message },
            SkillFault::Refused { message } => Self::SkillInvalid { message },
            SkillFault::Unreachable { message } => Self::SkillUnreachable { message },
            SkillFault::TimedOut { message } => Self::SkillTimedOut { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_example_of_every_variant() {
        let agent_id = AgentId::parse("main").expect("a name");
        let variants = include_str!("error.rs").matches("    #[error(").count();
        let of_core = Rejection::examples(&agent_id).len();
        let wrapped = of_core + ImageFault::examples().len();
        // Excludes the variants that wrap refusals of others, and the line that counts.
        assert_eq!(Error::examples(&agent_id).len() - wrapped, variants - 3);
    }
}
