//! A decision: the facts one input leads to. `core` makes it, `store` writes it, nothing else changes an agent.

use crate::agent::{AgentRecord, AgentSettings};
use crate::attempt::AttemptRecord;
use crate::brief::BriefRow;
use crate::effect::{Effect, EffectId};
use crate::event::Event;
use crate::log::{BlobHash, LogEntry};
use crate::provider::LearnedLimits;
use crate::queue::{MessageSeq, QueueEntry, QueueStatus};
use crate::task::TaskRecord;
use crate::time::Timestamp;
use crate::timer::{DueAction, DueId, DueTime, TimerRecord};
use crate::trigger::WakeHint;
use crate::turn::LogSeq;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemRecord;

/// Position of a brief; dense, first is 1.
pub type BriefSeq = u64;
/// Position of an event; dense, first is 1.
pub type EventSeq = u64;

/// One row to write. Positions were taken from the agent's counters by the decision itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A message enters the queue.
    MessageAdmitted(QueueEntry),
    /// A queue entry changes its state; `from` guards against a decision on a stale view.
    MessageMoved {
        /// Which.
        seq: MessageSeq,
        /// From.
        from: QueueStatus,
        /// To.
        to: QueueStatus,
    },
    /// An operator message gets its one outcome; a second is an error of the decision.
    MessageSettled {
        /// Which.
        seq: MessageSeq,
        /// By which brief.
        brief: BriefSeq,
    },
    /// The log grows.
    LogAppended {
        /// Where.
        seq: LogSeq,
        /// In which turn.
        turn_index: u64,
        /// When.
        at: Timestamp,
        /// What.
        entry: LogEntry,
    },
    /// A brief is written.
    BriefWritten {
        /// Where.
        seq: BriefSeq,
        /// What.
        row: BriefRow,
    },
    /// An event is recorded.
    EventRecorded {
        /// Where.
        seq: EventSeq,
        /// When.
        at: Timestamp,
        /// What.
        event: Event,
    },
    /// Something is to be done.
    EffectOpened {
        /// Which.
        id: EffectId,
        /// Under which generation.
        generation: u64,
        /// When.
        at: Timestamp,
        /// What.
        effect: Effect,
    },
    /// Its outcome is in.
    EffectClosed {
        /// Which.
        id: EffectId,
    },
    /// Something is to happen after a pause or at a time.
    DueSet {
        /// Number of the entry, never used before.
        id: DueId,
        /// The pause or the slot.
        time: DueTime,
        /// What is to happen then.
        due: DueAction,
    },
    /// It has happened, or no longer will.
    DueCleared {
        /// Which.
        id: DueId,
    },
    /// A failed attempt of the round in hand is kept. The position is counted from 1 in the round; writing one again
    /// replaces it.
    AttemptKept {
        /// Its position.
        n: u32,
        /// The attempt.
        record: Box<AttemptRecord>,
    },
    /// The round in hand is answered or its turn is over: none of its attempts is kept any longer.
    AttemptsCleared,
    /// The agent moves to a generation that no agent of this host has had. The store refuses one that was given out
    /// before, so a name that is used again never accepts outcomes of its predecessor.
    GenerationTaken {
        /// Greater than every generation before it.
        generation: u64,
    },
    /// The agent's settings change; without it they stay as they are stored.
    SettingsWritten(Box<AgentSettings>),
    /// A task begins or changes. One that is over never changes.
    TaskWritten(Box<TaskRecord>),
    /// A work item began or changed. The index columns follow from the record.
    WorkItemWritten(Box<WorkItemRecord>),
    /// A wait began, was triggered or ended.
    WaitWritten(Box<WaitRecord>),
    /// A timer was made, fired or was cancelled.
    TimerWritten(Box<TimerRecord>),
    /// A wake hint arrived; it replaces the pending hint of the same key.
    HintWritten(Box<WakeHint>),
    /// All pending wake hints became one tick.
    HintsCleared,
    /// A provider's error taught something about a model. One row for the host; what was learned later counts.
    LimitLearned {
        /// `provider/model`.
        model_ref: String,
        /// What.
        limits: LearnedLimits,
    },
    /// A text that frames refer to by hash; keeping it twice is harmless.
    BlobKept {
        /// Its hash.
        hash: BlobHash,
        /// The text.
        body: String,
    },
}

/// What one input leads to: the agent as it is from now on, and the rows beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The agent's new row.
    pub agent: AgentRecord,
    /// In the order they happened.
    pub facts: Vec<Fact>,
    /// Whether the queue may hold more to decide on in the same commit.
    pub more: bool,
}
