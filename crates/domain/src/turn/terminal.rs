//! The end of a turn and its record.

use super::LogSeq;
use crate::attempt::TokenUsage;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two ways in which a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalKind {
    /// The model finished without a further call, or asked to rest.
    Completed,
    /// A failure or an abort ended the turn.
    Aborted,
}

/// Reason for the end of a turn.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model made no further call.
    Finished,
    /// The model called `Sleep` or declared a wait.
    Slept,
    /// The round bound of its message was reached.
    MaxRounds,
    /// No model of the chain could answer.
    ProviderFailed,
    /// The prompt does not fit the model.
    ContextLengthExceeded,
    /// Too many answers in a row were cut off by the output limit.
    OutputLimit,
    /// The turn was resumed too often without progress.
    Poisoned,
    /// An operator aborted the run.
    OperatorAborted,
    /// The agent was stopped.
    AgentStopped,
    /// The runtime violated one of its own invariants and gave up the turn.
    RuntimeFault,
}

impl TerminalReason {
    /// Every reason, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::Finished,
        Self::Slept,
        Self::MaxRounds,
        Self::ProviderFailed,
        Self::ContextLengthExceeded,
        Self::OutputLimit,
        Self::Poisoned,
        Self::OperatorAborted,
        Self::AgentStopped,
        Self::RuntimeFault,
    ];

    /// Returns the word of the wire format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Slept => "slept",
            Self::MaxRounds => "max_rounds",
            Self::ProviderFailed => "provider_failed",
            Self::ContextLengthExceeded => "context_length_exceeded",
            Self::OutputLimit => "output_limit",
            Self::Poisoned => "poisoned",
            Self::OperatorAborted => "operator_aborted",
            Self::AgentStopped => "agent_stopped",
            Self::RuntimeFault => "runtime_fault",
        }
    }

    /// Returns true for a failure that the agent itself can repair in a later turn. A provider that did not answer
    /// leaves nothing to repair.
    #[must_use]
    pub const fn is_repairable(self) -> bool {
        match self {
            Self::ContextLengthExceeded
            | Self::OutputLimit
            | Self::Poisoned
            | Self::RuntimeFault => true,
            Self::Finished
            | Self::Slept
            | Self::MaxRounds
            | Self::ProviderFailed
            | Self::OperatorAborted
            | Self::AgentStopped => false,
        }
    }
}

/// Record of a turn's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TerminalRecord {
    pub turn_index: u64,
    pub kind: TerminalKind,
    pub reason: TerminalReason,
    pub completed_at: Timestamp,
    /// Milliseconds from the start of the turn to its end.
    pub duration_ms: u64,
    /// Log entry of the last assistant round, whose text is the turn's answer. Absent if a failure or an abort other
    /// than the round bound ended the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_round_entry: Option<LogSeq>,
    pub usage: TokenUsage,
    pub rounds: u32,
    /// Beginning of the last text that the model wrote in the turn. Absent if it wrote none, and in records of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_of_reasons_are_those_of_the_wire_format() {
        let words = TerminalReason::ALL.map(TerminalReason::as_str);
        let written = TerminalReason::ALL.map(|reason| serde_json::to_value(reason).unwrap());
        assert_eq!(written, words);
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }
}
