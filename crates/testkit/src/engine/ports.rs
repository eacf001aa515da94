//! The ports of a test engine: a model that answers at once, a clock that stands still, and no commands or files.

use async_trait::async_trait;
use holon_domain::attempt::TokenUsage;
use holon_domain::command::{CommandFailure, TaskPrinted};
use holon_domain::file_change::PatchApplied;
use holon_domain::intent::{ApplyPatch, TaskInput, TaskOutput};
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, ReplyBlock, StopReason,
};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::task::TaskReport;
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp};
use holon_engine::ports::{
    Clock, CommandContext, CommandHost, CommandKey, CommandOrder, CommandRun, EntropySource,
    FileHost, HomeHost, InputRefused, KeptOutput, ModelClient,
};
use holon_engine::request::WorkspaceChoice;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A prompt with this text is never answered.
pub const ENDLESS: &str = "for ever";

/// Answers "done" to everything but [`ENDLESS`]. Knows every provider but `elsewhere`.
#[derive(Debug)]
pub(super) struct ScriptedModel;

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn call(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let asked = request.frame.context_blocks.last();
        if asked.is_some_and(|block| block.text.contains(ENDLESS)) {
            cancel.cancelled().await;
        }
        Ok(ModelReply {
            blocks: vec![ReplyBlock::Text {
                text: "done".to_owned(),
            }],
            stop_reason: StopReason::EndTurn,
            usage: TokenUsage::new(10, 2),
        })
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        if model.to_string().starts_with("elsewhere/") {
            let words = "provider \"elsewhere\" is not known here; run `holon init`";
            return Err(ModelFailure::new(
                ModelFailureKind::UnsupportedTransport,
                words,
            ));
        }
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: 4_096,
            source: PolicySource::UnknownFallback,
            output_source: PolicySource::UnknownFallback,
            freeform_tools: false,
        }
    }
}

/// Runs nothing: the scripted model calls no tool.
#[derive(Debug)]
pub(super) struct NoCommands;

#[async_trait]
impl CommandHost for NoCommands {
    async fn was_begun(&self, _key: &CommandKey) -> bool {
        false
    }

    async fn run(
        &self,
        _order: CommandOrder,
        _cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        unreachable!("no model here runs a command")
    }

    async fn is_alive(&self, _key: &CommandKey) -> bool {
        false
    }

    async fn watch(&self, _key: &CommandKey) -> TaskReport {
        unreachable!("no command was begun")
    }

    async fn stop(&self, _key: &CommandKey, _grace_ms: u64) -> TaskReport {
        unreachable!("no command was begun")
    }

    async fn input(&self, _key: &CommandKey, _input: &TaskInput) -> Result<u64, InputRefused> {
        unreachable!("no command was begun")
    }

    async fn printed(
        &self,
        _key: &CommandKey,
        _query: &TaskOutput,
        _max_bytes: usize,
    ) -> Result<TaskPrinted, String> {
        unreachable!("no command was begun")
    }

    async fn forget(&self, _key: &CommandKey, _output: KeptOutput) {}

    async fn sweep(&self, _agent_home: &str, _known: &[String]) {}
}

/// Changes nothing: the scripted model calls no tool.
#[derive(Debug)]
pub(super) struct NoFiles;

#[async_trait]
impl FileHost for NoFiles {
    async fn apply_patch(
        &self,
        _context: CommandContext,
        _call: CallId,
        _patch: ApplyPatch,
    ) -> Result<PatchApplied, ToolError> {
        unreachable!("no model here applies a patch")
    }

    async fn settle_patch(
        &self,
        _agent_home: &str,
        _call: &CallId,
        _patch: &ApplyPatch,
    ) -> Option<Result<PatchApplied, ToolError>> {
        None
    }

    async fn forget_patch(&self, _agent_home: &str, _call: &CallId) {}
}

/// Homes that are made by saying so. Every agent works in its home; a project of its own cannot be had.
#[derive(Debug)]
pub(super) struct TrustedHomes;

#[async_trait]
impl HomeHost for TrustedHomes {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }

    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }

    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        match &choice.workspace_root {
            Some(root) => Err(format!("{} does not exist", root.display())),
            None => Ok(WorkspaceEntry::agent_home(agent_home)),
        }
    }
}

/// A clock that stands still until the test moves it.
#[derive(Debug)]
pub(super) struct StillClock {
    now: AtomicI64,
    moved: Notify,
}

impl Default for StillClock {
    fn default() -> Self {
        Self {
            now: AtomicI64::new(1_800_000_000_000),
            moved: Notify::new(),
        }
    }
}

impl StillClock {
    /// Moves the clock and wakes everyone whose time has come.
    pub(super) fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::SeqCst).unsigned_abs())
    }

    async fn sleep_until(&self, at: Timestamp) {
        loop {
            let moved = self.moved.notified();
            if self.now() >= at {
                return;
            }
            moved.await;
        }
    }
}

/// Numbers that never come twice, in a fixed order.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    next: AtomicU64,
}

#[derive(Debug)]
struct Counting(u128);

impl Entropy for Counting {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

impl EntropySource for Numbers {
    fn source(&self) -> Box<dyn Entropy + Send> {
        let source = self.next.fetch_add(1, Ordering::Relaxed);
        Box::new(Counting(u128::from(source) << 40))
    }
}
