//! A decision: the facts that follow from one input. `core` makes it and `store` writes it; nothing else changes an
//! agent.

use crate::agent::{AgentRecord, AgentSettings};
use crate::attempt::AttemptRecord;
use crate::brief::BriefRow;
use crate::budget::Reservation;
use crate::delegation::SpawnRecord;
use crate::delivery::{DeliveryOutcome, DeliveryRecord, DeliveryRoute, DeliverySeq};
use crate::effect::{Effect, EffectId};
use crate::event::Event;
use crate::id::AgentId;
use crate::log::{BlobHash, LogEntry};
use crate::memory::{EpisodeRecord, WorkingMemoryState};
use crate::provider::{AskedServer, LearnedLimits};
use crate::queue::{MessageSeq, QueueEntry, QueueStatus};
use crate::task::TaskRecord;
use crate::time::Timestamp;
use crate::timer::{DueAction, DueId, DueTime, TimerRecord};
use crate::trigger::{TriggerRecord, WakeHint};
use crate::turn::LogSeq;
use crate::usage::UsageCharge;
use crate::wait::WaitRecord;
use crate::work_item::{DeliverySummaryRow, WorkItemRecord};
use crate::workspace::{AttachedWorkspace, Occupancy};

/// Position of a brief among its agent's briefs. Dense, the first is 1.
pub type BriefSeq = u64;
/// Position of an event among its agent's events. Dense, the first is 1.
pub type EventSeq = u64;

/// One change to write. The decision itself has taken the positions from the agent's counters.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A message enters the queue.
    MessageAdmitted(QueueEntry),
    /// A queue entry changes its status. `from` guards against a decision on a stale view.
    MessageMoved {
        seq: MessageSeq,
        from: QueueStatus,
        to: QueueStatus,
    },
    /// An operator message gets its one outcome. A second outcome is an error of the decision.
    MessageSettled {
        seq: MessageSeq,
        brief: BriefSeq,
    },
    LogAppended {
        seq: LogSeq,
        turn_index: u64,
        at: Timestamp,
        entry: LogEntry,
    },
    BriefWritten {
        seq: BriefSeq,
        row: BriefRow,
    },
    EventRecorded {
        seq: EventSeq,
        at: Timestamp,
        event: Event,
    },
    /// The shell is asked to perform an effect.
    EffectOpened {
        id: EffectId,
        /// Fencing generation under which the effect is performed.
        generation: u64,
        at: Timestamp,
        effect: Effect,
    },
    /// The outcome of the effect was committed, or the effect was cancelled.
    EffectClosed {
        id: EffectId,
    },
    /// An action is planned for the end of a pause or for a point in time.
    DueSet {
        /// Number of the entry, never used before.
        id: DueId,
        time: DueTime,
        due: DueAction,
    },
    /// The entry has fired or was cancelled.
    DueCleared {
        id: DueId,
    },
    /// A failed attempt of the current round is stored. Writing the same position again replaces it.
    AttemptKept {
        /// Position in the round, counted from 1.
        n: u32,
        record: Box<AttemptRecord>,
    },
    /// The current round was answered or its turn ended, so its failed attempts are removed.
    AttemptsCleared,
    /// The agent moves to a new fencing generation. The store refuses a generation that any agent of this host has had,
    /// so an agent that reuses a name never accepts outcomes of its predecessor.
    GenerationTaken {
        /// Greater than every generation before it.
        generation: u64,
    },
    /// The agent's settings change. Without this fact they stay as they are stored.
    SettingsWritten(Box<AgentSettings>),
    /// A task was created or changed. An ended task never changes.
    TaskWritten(Box<TaskRecord>),
    /// A work item was created or changed. The store derives the index columns from the record.
    WorkItemWritten(Box<WorkItemRecord>),
    /// A work item was completed with a report. An item has one delivery summary, which is not changed by decisions.
    DeliverySummaryWritten(Box<DeliverySummaryRow>),
    /// A wait began, was triggered or ended.
    WaitWritten(Box<WaitRecord>),
    /// A timer was created, fired or was cancelled.
    TimerWritten(Box<TimerRecord>),
    /// A wake hint arrived. It replaces the pending hint of the same key.
    HintWritten(Box<WakeHint>),
    /// Something is to be delivered to an operator. The row is never changed; its status is written beside it.
    DeliveryWritten(Box<DeliveryRecord>),
    /// A delivery ended. The row stays for inspection.
    DeliverySettled {
        route: DeliveryRoute,
        seq: DeliverySeq,
        outcome: Box<DeliveryOutcome>,
    },
    /// Deliveries of a lane up to this position that have ended are removed.
    DeliveriesTrimmed {
        route: DeliveryRoute,
        through: DeliverySeq,
    },
    /// An external trigger capability was made, used, rotated or revoked.
    TriggerWritten(Box<TriggerRecord>),
    /// The agent made another agent, which counts in its tree from now on.
    AgentSpawned(Box<SpawnRecord>),
    /// An agent that another one made has ended, or was not made after all. It does not count among the live ones any
    /// more.
    SpawnEnded {
        child: AgentId,
    },
    /// All pending wake hints became one tick.
    HintsCleared,
    /// The agent was given a workspace. There is one row per workspace for the host; a later one replaces an earlier
    /// one.
    WorkspaceRegistered {
        workspace: AttachedWorkspace,
        at: Timestamp,
    },
    /// The agent occupies an execution root. It replaces the one that it occupied before.
    OccupancyTaken(Box<Occupancy>),
    /// The agent occupies no execution root any more.
    OccupancyReleased,
    /// A provider revealed limits of a model. There is one row per model for the host; a later limit replaces an
    /// earlier one, and one of another endpoint replaces the whole row.
    LimitLearned {
        model_ref: String,
        server: AskedServer,
        limits: LearnedLimits,
        /// Shown to the operator; nothing is decided by it.
        at: Timestamp,
    },
    /// A model call was answered, failed or was lost, and is charged. Charges of one day, agent, item and model are summed
    /// up in one row of the host.
    UsageCharged(Box<UsageCharge>),
    /// A model call is opened under a budget and reserves what it may use. It replaces an earlier reservation of the agent.
    CallReserved(Box<Reservation>),
    /// The call that had reserved something is over. What it used is a charge of its own.
    ReservationReleased,
    /// The working memory was derived again. It replaces the row of the agent.
    WorkingMemoryWritten(Box<WorkingMemoryState>),
    /// An episode was finalized. It is never changed.
    EpisodeArchived(Box<EpisodeRecord>),
    /// A text that the frame at a position of the log refers to by hash. Storing it twice is harmless.
    BlobKept {
        hash: BlobHash,
        body: String,
        entry: LogSeq,
    },
}

/// Result of one input: the agent's new state and the rows to write with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub agent: AgentRecord,
    /// Changes in the order in which they happened.
    pub facts: Vec<Fact>,
    /// True if the queue may hold more to decide on in the same commit.
    pub more: bool,
}
