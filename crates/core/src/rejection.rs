//! Refusals: why nothing follows from an input, each cause by name.

/// Why an input was refused. Nothing follows from a refused input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The agent is stopped.
    #[error("the agent is stopped")]
    Stopped,
    /// The agent is being removed.
    #[error("the agent is being removed")]
    Deleting,
    /// The end of a task that the agent does not have, or that is over.
    #[error("the agent has no such task that is not over")]
    NoSuchTask,
    /// The queue is at its limit.
    #[error("the agent's queue is full")]
    QueueFull,
    /// A prompt without words.
    #[error("the prompt is empty; say what the agent should do")]
    EmptyBody,
    /// Over a size limit.
    #[error(
        "the {what} has {bytes} bytes and the limit is {max}; put large content into a file and name its path"
    )]
    TooLarge {
        /// What.
        what: &'static str,
        /// How large.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A kind its origin cannot have.
    #[error("this kind of message cannot have this origin")]
    KindOriginMismatch,
    /// A kind only the runtime or the operator may send.
    #[error(
        "this kind of message is not accepted here; from outside use channel_event or webhook_event"
    )]
    KindNotPublic,
    /// A priority only the operator may use.
    #[error("priority interject is for operator prompts; use next, normal or background")]
    PriorityNotPublic,
}
