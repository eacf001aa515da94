//! The ports: everything the engine needs from the world, as traits it defines and others implement.
//!
//! The engine has no type parameters; a port is an `Arc<dyn Trait>`.

use crate::request::WorkspaceChoice;
use async_trait::async_trait;
use holon_domain::command::{CommandFailure, CommandOutput};
use holon_domain::file_change::PatchApplied;
use holon_domain::intent::{ApplyPatch, ExecCommand};
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

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

/// What a command is told about the agent it runs for.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// For whom.
    pub agent_id: AgentId,
    /// Its home.
    pub agent_home: String,
    /// Where.
    pub workspace: WorkspaceEntry,
}

/// Runs commands.
#[async_trait]
pub trait CommandHost: Send + Sync + std::fmt::Debug {
    /// Runs a command to its end, its timeout, or `cancel`, whichever is first.
    async fn run(
        &self,
        context: CommandContext,
        command: ExecCommand,
        cancel: CancellationToken,
    ) -> Result<CommandOutput, CommandFailure>;
}

/// Changes files.
#[async_trait]
pub trait FileHost: Send + Sync + std::fmt::Debug {
    /// Applies a patch beneath the workspace's execution root, all of it or nothing; also over a crash.
    async fn apply_patch(
        &self,
        context: CommandContext,
        call: CallId,
        patch: ApplyPatch,
    ) -> Result<PatchApplied, ToolError>;

    /// What came of a patch that was being applied when a process died; none when that cannot be proven.
    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &ApplyPatch,
    ) -> Option<Result<PatchApplied, ToolError>>;

    /// The outcome of a patch is on record: what was kept to prove it may go.
    async fn forget_patch(&self, agent_home: &str, call: &CallId);
}

/// Makes and removes agents' homes.
#[async_trait]
pub trait HomeHost: Send + Sync + std::fmt::Debug {
    /// Makes the home, whole or not at all; harmless when it exists.
    async fn prepare(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// Removes it; harmless when it is gone.
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
    /// Time since some fixed moment, by a clock that never jumps; for durations.
    fn elapsed(&self) -> Duration;
    /// Returns once the wall clock has reached `at`, also when it jumped.
    async fn sleep_until(&self, at: Timestamp);
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
    /// Homes.
    pub home: Arc<dyn HomeHost>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn EntropySource>,
}
