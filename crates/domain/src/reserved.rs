//! Words of the contract that nothing produces. They stay readable in rows and on the wire.
//!
//! `cargo xtask tidy` holds the table against the code: a word of a listed vocabulary and a kind of event is either
//! produced or reserved, and never both, and no code fills a reserved field.

/// A word, or a field, that this build reads and never writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedWord {
    /// Enum or struct that declares it. `Event` for a kind of event.
    pub vocabulary: &'static str,
    /// Name of the variant or of the field, as the code spells it.
    pub name: &'static str,
    /// Why nothing produces it.
    pub reason: &'static str,
}

/// Enums whose every variant is produced or reserved.
pub const VOCABULARIES: [&str; 18] = [
    "AccessMode",
    "Body",
    "DelegationState",
    "DeliveryStatus",
    "DeliverySurface",
    "Event",
    "FailureCategory",
    "FailurePhase",
    "MessageKind",
    "RootOwnership",
    "RunEnd",
    "SchedulerChoice",
    "SkillLoadReason",
    "TaskKind",
    "TaskRecoverySpec",
    "TranscriptKind",
    "WaitPolicy",
    "WakeSource",
];

/// Words of the contract that this build reads and never writes.
pub const RESERVED: [ReservedWord; 24] = [
    word(
        "AccessMode",
        "SharedRead",
        "every agent may write in its execution root",
    ),
    word(
        "Body",
        "Brief",
        "a brief is a row of its own and no message",
    ),
    word(
        "DeliveryStatus",
        "Pending",
        "a delivery without an end has no outcome",
    ),
    word(
        "Event",
        "TerminalDeliveryRoundCompleted",
        "a report is taken from the round that was there, and no round is asked for it alone",
    ),
    word("FailureCategory", "Unknown", "every failure has an area"),
    word(
        "MessageKind",
        "BriefAck",
        "briefs are rows; a delivery of one is in the outbox",
    ),
    word(
        "MessageKind",
        "BriefResult",
        "briefs are rows; a delivery of one is in the outbox",
    ),
    word(
        "MessageKind",
        "Control",
        "a lifecycle command is an input and never queued",
    ),
    word(
        "RootOwnership",
        "TaskOwned",
        "a worktree of a child's task is made and recorded like any other",
    ),
    word(
        "RunEnd",
        "Keep",
        "an agent that stays has no terms of a run",
    ),
    word(
        "SchedulerChoice",
        "Noop",
        "a decision that changes nothing is not recorded",
    ),
    word(
        "SchedulerChoice",
        "Stop",
        "an agent is stopped by a command and not by its scheduler",
    ),
    word(
        "SkillLoadReason",
        "PromptInjection",
        "a prompt lists skills and never holds their text",
    ),
    word(
        "Skills",
        "agent_templates_catalog",
        "templates belong to the user and not to an agent",
    ),
    word(
        "Skills",
        "attached_skills",
        "a skill is attached by its root alone",
    ),
    word(
        "TaskKind",
        "SleepJob",
        "a rest is part of the agent's record",
    ),
    word("TaskKind", "SubagentTask", "older name of a child's task"),
    word(
        "TaskKind",
        "WorktreeSubagentTask",
        "older name of a child's task",
    ),
    word(
        "TaskRecoverySpec",
        "SubagentTask",
        "older name of a child's task",
    ),
    word(
        "TaskRecoverySpec",
        "WorktreeSubagentTask",
        "older name of a child's task",
    ),
    word(
        "TranscriptKind",
        "SubagentAssistantRound",
        "a child has a transcript of its own",
    ),
    word(
        "TranscriptKind",
        "SubagentPrompt",
        "a child has a transcript of its own",
    ),
    word(
        "WaitPolicy",
        "Blocking",
        "no task keeps the scheduler waiting",
    ),
    word(
        "WakeSource",
        "SystemTick",
        "a tick tells of a wake and is none",
    ),
];

const fn word(vocabulary: &'static str, name: &'static str, reason: &'static str) -> ReservedWord {
    ReservedWord {
        vocabulary,
        name,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_each_word_once() {
        assert!(VOCABULARIES.is_sorted_by(|one, next| one < next));
        let names = RESERVED.map(|word| (word.vocabulary, word.name));
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for word in RESERVED {
            assert!(!word.reason.is_empty(), "{word:?}");
        }
    }
}
