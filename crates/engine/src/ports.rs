//! The ports: everything the engine needs from the world, as traits it defines and others implement.
//!
//! The engine has no type parameters; a port is an `Arc<dyn Trait>`.

use crate::request::WorkspaceChoice;
use async_trait::async_trait;
use holon_domain::command::{CommandFailure, TaskStreams};
use holon_domain::file_change::PatchResult;
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::task::TaskReport;
use holon_domain::tool::ToolError;
use holon_domain::work_item::PlanArtifact;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp, WorkItemId};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub use holon_domain::command::{
    AliveCommand, CommandContext, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefusal,
    LatePolicy, OutputRetention,
};

/// Asks models.
#[async_trait]
pub trait ModelClient: Send + Sync + std::fmt::Debug {
    /// One attempt at one round. Returns soon after `cancel` fires; what it returns then is dropped.
    async fn call(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure>;

    /// Whether a call to this model could work at all: a known provider, a readable script. Touches no network.
    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure>;

    /// The figures this model is asked by, before anything was learned from its provider.
    fn policy(&self, model: &ModelRef) -> ModelPolicy;
}

/// Runs commands, each under a process of its own that outlives this one. A command of one key is started once.
#[async_trait]
pub trait CommandHost: Send + Sync + std::fmt::Debug {
    /// Whether a command of this key was begun, whatever came of it.
    async fn was_begun(&self, key: &CommandKey) -> bool;

    /// Starts the command, or finds the one that was started, and waits for its end or until it is late.
    /// After `cancel` it returns soon, with `Cancelled` and the command left as it is.
    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure>;

    /// The state of a command, found out without reading anything it printed and within a bounded time.
    async fn probe(&self, key: &CommandKey) -> CommandProbe;

    /// Whether the command is proven to run.
    async fn is_alive(&self, key: &CommandKey) -> bool {
        matches!(self.probe(key).await, CommandProbe::Running(_))
    }

    /// Waits for the end of a command that was begun. Dropping the future changes nothing for the command.
    async fn watch(&self, key: &CommandKey) -> TaskReport;

    /// Asks every process of the command to end, kills after `grace_ms` those that have not, and reports.
    /// A command that was never begun never will be.
    async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport;

    /// Writes to a command. Input of a number that was given before is not given again.
    async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal>;

    /// What a command printed, as far as the query asks for it: at most `max_bytes` of each stream.
    async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskStreams, String>;

    /// The outcome of a command is on record: what was kept to find it may go, and its output unless that is kept.
    async fn forget(&self, key: &CommandKey, output: OutputRetention);

    /// Ends and forgets what was begun for the agent with this home under a name that is not among these.
    async fn sweep(&self, agent_home: &str, known: &[String]);
}

/// Changes files.
#[async_trait]
pub trait FileHost: Send + Sync + std::fmt::Debug {
    /// Applies a patch beneath the workspace's execution root, all of it or nothing; also over a crash.
    async fn apply_patch(
        &self,
        context: CommandContext,
        call: CallId,
        patch: String,
    ) -> Result<PatchResult, ToolError>;

    /// What came of a patch that was being applied when a process died; none when that cannot be proven.
    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &str,
    ) -> Option<Result<PatchResult, ToolError>>;

    /// The outcome of a patch is on record: what was kept to prove it may go.
    async fn forget_patch(&self, agent_home: &str, call: &CallId);

    /// Brings a patch whose call nobody waits for any more to its end or takes it back, and removes its journal.
    /// Harmless when there is no journal. Only called while [`FileHost::apply_patch`] is not at work for the call.
    ///
    /// # Errors
    /// When the files or the journal cannot be brought to a consistent state now; it can be tried again.
    async fn finish_patch(&self, agent_home: &str, call: &CallId) -> Result<(), String>;
}

/// Keeps the plan files of work items, in their agents' homes. The agent edits them too, so anything may stand in their
/// place; an implementation follows no link and reads no more than `limits::PLAN_BYTES`.
#[async_trait]
pub trait PlanHost: Send + Sync + std::fmt::Debug {
    /// Writes the plan of an item, whole or not at all, and describes it. A missing home is made first, unless the call
    /// was cancelled: the agent may be on its way out.
    ///
    /// # Errors
    /// Why it could not be written, for the model.
    async fn write(
        &self,
        agent_home: &str,
        item: &WorkItemId,
        text: String,
        cancel: CancellationToken,
    ) -> Result<PlanArtifact, String>;

    /// The plan of an item as it is now; `None` where no file can be read.
    async fn read(&self, agent_home: &str, item: &WorkItemId) -> Option<PlanArtifact>;

    /// The items that have a folder in a home.
    ///
    /// # Errors
    /// Why the folders could not be listed.
    async fn list(&self, agent_home: &str) -> Result<Vec<WorkItemId>, String>;

    /// Removes the plan of an item that was never made; harmless when it is gone.
    ///
    /// # Errors
    /// Why it could not be removed.
    async fn remove(&self, agent_home: &str, item: &WorkItemId) -> Result<(), String>;
}

/// Looks after agents' homes. A home is made by the command or the patch that first needs it.
#[async_trait]
pub trait HomeHost: Send + Sync + std::fmt::Debug {
    /// Looks whether the home is there or can be made, and notes which directory the agent works in.
    async fn prepare(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// Removes the home, and what was kept to prove that the agent's commands and patches ran; harmless when they are
    /// gone.
    async fn remove(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// The workspace a caller chose, checked: it exists, and its directory lies inside it.
    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String>;
}

/// Tells the time and waits for it.
#[async_trait]
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment of this process, by a clock that never jumps: for durations, and to notice steps of
    /// the wall clock.
    fn elapsed(&self) -> Duration;
    /// Returns once [`Clock::elapsed`] has reached `elapsed`, whatever the wall clock does meanwhile.
    async fn sleep_until(&self, elapsed: Duration);
}

/// Hands out randomness, a fresh source for each commit.
pub trait EntropySource: Send + Sync + std::fmt::Debug {
    /// A source for one decision.
    fn source(&self) -> Box<dyn Entropy + Send>;
}

/// All ports, bound.
#[derive(Debug, Clone)]
pub struct Ports {
    /// Models.
    pub model: Arc<dyn ModelClient>,
    /// Commands.
    pub command: Arc<dyn CommandHost>,
    /// Files.
    pub file: Arc<dyn FileHost>,
    /// Plans of work items.
    pub plan: Arc<dyn PlanHost>,
    /// Homes.
    pub home: Arc<dyn HomeHost>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn EntropySource>,
}
