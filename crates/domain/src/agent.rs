//! The agent: identity, profile, lifecycle, and the one row that holds its scheduling facts.
//!
//! Status, posture and closure are not here: they are computed from these facts by `core::assess`.

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
pub use work::{AgentWait, CurrentItem, ItemCounts, WorkState};

use crate::attempt::TokenUsage;
use crate::authority::AuthorityClass;
use crate::continuation::ContinuationResolution;
use crate::effect::EffectId;
use crate::failure::{FailureArtifact, FailureCause};
use crate::id::{AgentId, RunId};
use crate::queue::MessageSeq;
use crate::summary::Posture;
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::turn::{OpenTurn, TerminalRecord};
use serde::{Deserialize, Serialize};

/// What kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// The one that is meant when none is named.
    Default,
    /// One an operator named.
    Named,
    /// One another agent made, or a temporary one.
    Child,
}

/// Who sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everyone with access.
    Public,
    /// Its supervisor.
    Private,
}

/// Who answers for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// Itself.
    SelfOwned,
    /// Its parent.
    ParentSupervised,
}

/// Which tools it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfilePreset {
    /// All families.
    PublicNamed,
    /// Without making agents.
    PrivateChild,
}

/// Who an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// Its name.
    pub agent_id: AgentId,
    /// Its kind.
    pub kind: AgentKind,
    /// Who sees it.
    pub visibility: Visibility,
    /// Who answers for it.
    pub ownership: Ownership,
    /// Which tools it has.
    pub profile_preset: ProfilePreset,
    /// Who caused it to be, for audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage_parent_agent_id: Option<AgentId>,
}

/// Whether an agent is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityStatus {
    /// It is.
    #[default]
    Active,
    /// It is being removed: it takes nothing in any more.
    Archived,
}

/// An identity as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityView {
    /// The identity itself; its fields stand beside the others.
    #[serde(flatten)]
    pub identity: AgentIdentity,
    /// Whether the agent is there or on its way out.
    #[serde(default)]
    pub status: IdentityStatus,
    /// Whether it is meant when none is named.
    #[serde(default)]
    pub is_default_agent: bool,
    /// Whether the agent is removed once its one run is over.
    #[serde(default)]
    pub temporary: bool,
}

impl IdentityView {
    /// A lasting agent that is there.
    #[must_use]
    pub fn active(identity: AgentIdentity) -> Self {
        Self {
            status: IdentityStatus::Active,
            is_default_agent: identity.kind == AgentKind::Default,
            identity,
            temporary: false,
        }
    }
}

impl std::ops::Deref for IdentityView {
    type Target = AgentIdentity;
    fn deref(&self) -> &AgentIdentity {
        &self.identity
    }
}

/// Status as shown; computed, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Its home is being made.
    Booting,
    /// Ready, with something to do next.
    AwakeIdle,
    /// A turn runs.
    AwakeRunning,
    /// At rest.
    Asleep,
    /// Not allowed to run.
    Stopped,
}

/// Whether an agent may run at all; the only stored part of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Its home is being made; input is admitted and waits.
    Booting,
    /// It may run.
    Runnable,
    /// An operator stopped it; input is refused.
    Stopped,
    /// It is being removed; input is refused.
    Deleting,
}

impl Lifecycle {
    /// Every lifecycle state.
    pub const ALL: [Self; 4] = [Self::Booting, Self::Runnable, Self::Stopped, Self::Deleting];
}

/// An explicit rest the agent asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestRecord {
    /// Since when.
    pub since: Timestamp,
    /// Why, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when, and the due entry that ends it; none means until something arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<RestWake>,
    /// Authority of the turn that asked for it; what ends it is worth no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
}

/// The end of a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestWake {
    /// When.
    pub at: Timestamp,
    /// By which entry of the due-queue; none once it has fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
}

/// The last number given out in each of an agent's sequences. All are dense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Messages.
    pub messages: u64,
    /// Events.
    pub events: u64,
    /// Log entries.
    pub log: u64,
    /// Briefs.
    pub briefs: u64,
    /// Effects and due entries, which share one sequence.
    pub effects: u64,
    /// Turns.
    pub turns: u64,
}

/// What an agent has used and done over its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Tokens.
    pub usage: TokenUsage,
    /// Model rounds answered.
    pub model_rounds: u64,
    /// Tokens of the last turn that reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TokenUsage>,
}

/// The last failure of a turn or of the agent's home, kept for inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "legacy::StoredFailure")]
pub struct LastFailure {
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The kind of failure as decisions read it; the artifact beside it is written for people.
    pub cause: FailureCause,
    /// The same for people and clients.
    pub failure_artifact: FailureArtifact,
}

/// One agent: its settings, the ends of its sequences, and its scheduling state.
///
/// Only the scheduling state is serialised with it; it is small and rewritten by each decision. Settings have a column
/// of their own that is written when they change, counters a column each; [`AgentRecord::from_row`] puts the three
/// together. Settings are read through the record (`agent.identity`) and changed by name (`agent.settings.workspace`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRecord {
    /// What rarely changes.
    #[serde(skip)]
    pub settings: AgentSettings,
    /// The last number given out in each of its sequences.
    #[serde(skip)]
    pub counters: Counters,
    /// Whether it may run.
    pub lifecycle: Lifecycle,
    /// Fencing generation: raised by recovery, stop and abort.
    pub generation: u64,
    /// Its home.
    pub home: HomeState,
    /// Effects that deliver what its decisions sent to other agents and one commit had no room for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<EffectId>,
    /// Effects that bring patches of turns which were called off to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<EffectId>,
    /// Its one open turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_turn: Option<OpenTurn>,
    /// The rest it asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestRecord>,
    /// What it has used.
    pub totals: Totals,
    /// Turns in a row that nothing but the agent itself caused.
    pub self_caused_turns: u32,
    /// How many queued messages nothing but the agent itself caused.
    pub self_caused_queued: u64,
    /// How many of its tasks are not over. Changes with the decisions that begin and end one, in their commit.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_tasks: u32,
    /// Its messages that are held, in the order they are told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<MessageSeq>,
    /// Unsettled prompts whose operator was told that they wait for a provider.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<MessageSeq>,
    /// Queued messages of runs whose caller no longer waits for the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_by_caller: Vec<MessageSeq>,
    /// The pause before the next such turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<RestWake>,
    /// Its work items, waits, wake hints and timers, as far as the scheduler needs them.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub work: WorkState,
    /// How its last turn ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TerminalRecord>,
    /// Its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// What the last message that was taken from the queue meant for the agent. Kept for inspection; no decision reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_continuation: Option<ContinuationResolution>,
    /// Where the agent stood before a decision that another follows in the same commit. The last one of the commit tells
    /// the change since then and clears it, so it is absent between commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsignalled: Option<StateSignal>,
    /// What woke it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_wake_reason: Option<String>,
    /// When it last had something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_brief_at: Option<Timestamp>,
}

/// What of an agent's assessed state is told as a signal when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSignal {
    /// Its status.
    pub status: AgentStatus,
    /// Its scheduling posture.
    pub posture: Posture,
    /// The run that is open, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

impl AgentRecord {
    /// The open effects that no turn, task or home waits for. They outlive the turn that opened them, so each new
    /// generation opens them again, and the agent's home is removed only when none is left.
    pub fn detached_effects(&self) -> impl Iterator<Item = EffectId> {
        self.deliveries.iter().chain(&self.patches).copied()
    }
}

impl std::ops::Deref for AgentRecord {
    type Target = AgentSettings;
    fn deref(&self) -> &AgentSettings {
        &self.settings
    }
}
