//! The agent: its identity, profile and lifecycle, and the one row that holds its scheduling state.
//!
//! Status, posture and closure are not stored: `core::assess` computes them from this row.

mod home;
mod legacy;
mod run_terms;
mod settings;
mod stored;
mod work;

pub use home::{HomeState, RemovalRetry};
pub use run_terms::{RunEnd, RunTerms};
pub use settings::AgentSettings;
pub use stored::AgentRow;
pub use work::{AgentWait, CurrentItem, FailedTurn, ItemCounts, WorkState};

use crate::attempt::TokenUsage;
use crate::authority::AuthorityClass;
use crate::continuation::ContinuationResolution;
use crate::delegation::WorktreeEnd;
use crate::delivery::Outbox;
use crate::effect::EffectId;
use crate::failure::{FailureArtifact, FailureCause};
use crate::guidance::ActiveSkill;
use crate::id::{AgentId, RunId};
use crate::queue::MessageSeq;
use crate::summary::Posture;
use crate::thread::ThreadState;
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::tool::ToolFamily;
use crate::tool_times::ToolTimes;
use crate::turn::{OpenTurn, TerminalRecord};
use crate::usage::{CallEstimate, Spending};
use crate::workspace::Occupancy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Role of an agent on its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// The agent that a request without a name is for. There is one on each host.
    Default,
    /// An agent that an operator created under a name.
    Named,
    /// An agent that another agent created, or a temporary one.
    Child,
}

/// Audience to which an agent is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Listed for every client with access.
    Public,
    /// Shown to its supervisor only.
    Private,
}

/// Party that supervises an agent and decides about its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    SelfOwned,
    ParentSupervised,
}

/// Preset of tool families that an agent may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfilePreset {
    /// Every tool family of the host.
    PublicNamed,
    /// All tool families except the creation of agents and the expansion of its own authority.
    PrivateChild,
}

impl ProfilePreset {
    /// Returns true if the preset grants a family of tools.
    #[must_use]
    pub const fn grants(self, family: ToolFamily) -> bool {
        match self {
            Self::PublicNamed => true,
            Self::PrivateChild => match family {
                ToolFamily::Core
                | ToolFamily::LocalEnvironment
                | ToolFamily::Web
                | ToolFamily::ExternalTrigger => true,
                ToolFamily::AgentCreation | ToolFamily::AuthorityExpansion => false,
            },
        }
    }
}

/// Identity of an agent. Set when the agent is created and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIdentity {
    pub agent_id: AgentId,
    pub kind: AgentKind,
    pub visibility: Visibility,
    pub ownership: Ownership,
    pub profile_preset: ProfilePreset,
    /// Agent that created this one, for audit. Absent for agents of operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage_parent_agent_id: Option<AgentId>,
    /// Root of the tree of agents to which this one belongs. Absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_agent_id: Option<AgentId>,
}

/// Tells a live agent from one that is being removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityStatus {
    #[default]
    Active,
    /// The agent is being removed and accepts no input.
    Archived,
}

/// An identity as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityView {
    /// The identity itself. Its fields are serialised beside the others.
    #[serde(flatten)]
    pub identity: AgentIdentity,
    #[serde(default)]
    pub status: IdentityStatus,
    /// True if requests without an agent name go to this agent.
    #[serde(default)]
    pub is_default_agent: bool,
    /// True if the agent is removed once its one run is over.
    #[serde(default)]
    pub temporary: bool,
    /// Home directory of the agent on the machine of its host. Absent if it cannot be read, and in responses of older
    /// hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_home: Option<String>,
    /// In the response to a creation, false if the agent existed already. Absent in all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
}

impl IdentityView {
    /// Returns the view of a permanent agent that is not being removed.
    #[must_use]
    pub fn active(identity: AgentIdentity) -> Self {
        Self {
            status: IdentityStatus::Active,
            is_default_agent: identity.kind == AgentKind::Default,
            identity,
            temporary: false,
            agent_home: None,
            created: None,
        }
    }

    /// Returns the view of an agent that a request has just made.
    #[must_use]
    pub fn created(identity: AgentIdentity, agent_home: String) -> Self {
        Self {
            agent_home: Some(agent_home),
            created: Some(true),
            ..Self::active(identity)
        }
    }
}

impl std::ops::Deref for IdentityView {
    type Target = AgentIdentity;
    fn deref(&self) -> &AgentIdentity {
        &self.identity
    }
}

/// Status as clients see it. Computed from the stored facts, never stored itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// The home directory is being prepared.
    Booting,
    /// Ready, with queued input or runnable work.
    AwakeIdle,
    /// A turn is open.
    AwakeRunning,
    /// At rest until something arrives.
    Asleep,
    /// An operator stopped it, or it is being removed.
    Stopped,
}

/// Tells whether an agent may run. This is the only stored part of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// The home directory is being prepared. Input is admitted and waits.
    Booting,
    /// The agent may run. Input is admitted.
    Runnable,
    /// An operator stopped it. Input is refused.
    Stopped,
    /// It is being removed. Input is refused.
    Deleting,
}

impl Lifecycle {
    pub const ALL: [Self; 4] = [Self::Booting, Self::Runnable, Self::Stopped, Self::Deleting];
}

/// A rest that the agent asked for with `Sleep`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestRecord {
    pub since: Timestamp,
    /// Reason in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time at which the rest ends, with its due entry. Absent if the agent rests until something arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<RestWake>,
    /// Authority of the turn that asked for the rest. The tick at its end has no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
}

/// Time at which a rest or a pause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestWake {
    pub at: Timestamp,
    /// Entry of the due-queue that ends it. Absent once it has fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
}

/// Last number used in each of an agent's sequences. All sequences are dense and begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    pub messages: u64,
    pub events: u64,
    pub log: u64,
    pub briefs: u64,
    /// Effects, due entries and sends to other agents share this sequence.
    pub effects: u64,
    pub turns: u64,
}

/// Usage of an agent over its whole life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    pub usage: TokenUsage,
    pub model_rounds: u64,
    /// Recaps that stood in for rounds of the agent's turns: the compression epoch of its prompts.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub compactions: u64,
    /// Messages of turns that the thread does not show any more. Counted with each fold.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub compacted_messages: u64,
    /// Tokens of the last turn that reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TokenUsage>,
    /// Estimate of the last request that was answered, from which the next one is guessed. Absent before the first
    /// answer, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<CallEstimate>,
    /// Everything that was charged. Rows of earlier builds count from then on.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub spending: Spending,
}

/// The last failure of a turn or of the agent's home, kept for inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "legacy::StoredFailure")]
#[schemars(!from)]
pub struct LastFailure {
    pub occurred_at: Timestamp,
    /// Kind of failure that decisions read. The artifact beside it is written for people.
    pub cause: FailureCause,
    /// Description of the same failure for people and clients.
    pub failure_artifact: FailureArtifact,
}

/// Most bytes of the operator's words that stand beside what their turn made.
pub const ORDER_BYTES: usize = 600;

/// One agent: its settings, the last numbers of its sequences, and its scheduling state.
///
/// Only the scheduling state is serialised with it; it is small and rewritten by each decision. Settings have a
/// column of their own that is written when they change, counters a column each; [`AgentRecord::from_row`] puts the
/// three together. Settings are read through the record (`agent.identity`) and changed by name
/// (`agent.settings.workspace`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRecord {
    #[serde(skip)]
    pub settings: AgentSettings,
    #[serde(skip)]
    pub counters: Counters,
    pub lifecycle: Lifecycle,
    /// Fencing generation. Recovery, stop and abort raise it; outcomes of an older generation are dropped.
    pub generation: u64,
    pub home: HomeState,
    /// Open effects that deliver sends to other agents for which one commit had no room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<EffectId>,
    /// Open effects that end what calls of aborted turns have begun: they finish or undo patches and stop batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<EffectId>,
    /// Open effects that remove the worktree of an ended child.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleanups: Vec<EffectId>,
    /// What became of the worktree of an ended child. Absent before that, and for every other agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_end: Option<WorktreeEnd>,
    /// Deliveries to operators that have not ended, by route, and the bound on notifications.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub outbox: Outbox,
    /// The turn in progress. An agent has at most one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_turn: Option<OpenTurn>,
    /// Present while the agent rests because it called `Sleep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestRecord>,
    pub totals: Totals,
    /// Turns in a row that only the agent itself caused. Pacing counts them.
    pub self_caused_turns: u32,
    /// Queued messages that only the agent itself caused.
    pub self_caused_queued: u64,
    /// Tasks that have not ended. Changes in the same commit as the tasks.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_tasks: u32,
    /// Messages held for the next turn, in the order in which it receives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<MessageSeq>,
    /// Unsettled prompts for which a brief told the operator that they wait for a provider.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<MessageSeq>,
    /// Queued messages of one-shot runs whose caller has disconnected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_by_caller: Vec<MessageSeq>,
    /// Pause before the next turn that only the agent itself caused. Absent if none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<RestWake>,
    /// Work items, waits, wake hints and timers, as far as the scheduler needs them.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub work: WorkState,
    /// Beginning of the thread that requests show.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub thread: ThreadState,
    /// Skills that the agent has opened, in the order of their last use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub active_skills: Vec<ActiveSkill>,
    /// Execution root that the agent occupies. Absent in its own home and once a stopped agent has released it, and in
    /// rows of earlier builds until their next decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Time at which an operator archived the agent. It stays stopped from then on, takes nothing and is not listed; its
    /// history can be read. Absent if it is not archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// Outcome of the last turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TerminalRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// Newest message of the operator that a turn took, so that prompts show it after any number of events. Absent before
    /// the first one, and in records of earlier builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_seq: Option<MessageSeq>,
    /// The newest words of an operator that the newest turn has, cut in the middle to
    /// [`ORDER_BYTES`]. What the turn makes
    /// keeps them, so that its order stands beside it. Absent if something else began the turn and no operator joined it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Classification of the last message taken from the queue. For inspection only; no decision reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_continuation: Option<ContinuationResolution>,
    /// State before the first decision of a commit that makes several. The last decision of the commit records the
    /// change since then and clears the field. Between commits it is present only while the queue holds more than one
    /// commit can process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsignalled: Option<StateSignal>,
    /// Trigger that last woke the agent, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_wake_reason: Option<String>,
    /// Time of the last brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_brief_at: Option<Timestamp>,
    /// Times of the calls of each tool over the agent's life, by its name. Rows of earlier builds count from then on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_times: BTreeMap<String, ToolTimes>,
}

/// Part of an agent's computed state whose changes are recorded as events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSignal {
    pub status: AgentStatus,
    pub posture: Posture,
    /// Open run. Absent if none is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

impl AgentRecord {
    /// Iterates over the open effects that no turn, task or home waits for. They outlive the turn that opened them:
    /// each new generation opens them again, and the agent's home is removed only when none is left.
    pub fn detached_effects(&self) -> impl Iterator<Item = EffectId> {
        let detached = self.deliveries.iter().chain(&self.patches);
        detached.chain(&self.cleanups).copied()
    }
}

impl std::ops::Deref for AgentRecord {
    type Target = AgentSettings;
    fn deref(&self) -> &AgentSettings {
        &self.settings
    }
}
