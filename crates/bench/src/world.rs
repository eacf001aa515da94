//! A host in process with instant or held models, for what is measured without HTTP.

use async_trait::async_trait;
use holon_domain::command::{
    CapturedStream, CommandEnd, CommandFailure, CommandOutput, TaskPrinted,
};
use holon_domain::file_change::PatchApplied;
use holon_domain::intent::{ApplyPatch, TaskInput, TaskOutput};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{
    ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::task::TaskReport;
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp, attempt::TokenUsage};
use holon_engine::ports::{
    Clock, CommandContext, CommandHost, CommandKey, CommandOrder, CommandRun, EntropySource,
    FileHost, HomeHost, InputRefused, KeptOutput, ModelClient, Ports,
};
use holon_engine::request::{CreateAgent, Ingress, WorkspaceChoice};
use holon_engine::{Host, HostConfig};
use holon_store::Db;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// A window nothing measured here fills.
pub(crate) const ROOMY: ModelPolicy = ModelPolicy {
    context_window_tokens: 1_000_000,
    effective_context_window_percent: 90,
    max_output_tokens: 8_192,
    source: PolicySource::ConfigOverride,
    output_source: PolicySource::ConfigOverride,
    freeform_tools: false,
};

/// What the model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    /// Never answers: the turn stays open and the queue grows.
    Held,
    /// Answers at once.
    Text,
    /// Asks for one command, then answers.
    OneTool,
}

#[async_trait]
impl ModelClient for Model {
    async fn call(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let text = ReplyBlock::Text {
            text: "done".to_owned(),
        };
        let (blocks, stop_reason) = match (self, request.round) {
            (Self::Held, _) => {
                cancel.cancelled().await;
                (vec![text], StopReason::EndTurn)
            }
            (Self::OneTool, 1) => {
                let input = serde_json::json!({ "cmd": "true" });
                let call = RequestedCall {
                    provider_id: None,
                    name: "ExecCommand".to_owned(),
                    input,
                };
                (vec![ReplyBlock::Call(call)], StopReason::ToolUse)
            }
            (Self::Text | Self::OneTool, _) => (vec![text], StopReason::EndTurn),
        };
        Ok(ModelReply {
            blocks,
            stop_reason,
            usage: TokenUsage::new(1_000, 10),
        })
    }

    async fn check(&self, _: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _: &ModelRef) -> ModelPolicy {
        ROOMY
    }
}

#[derive(Debug)]
struct Instantly;

fn nothing() -> CommandOutput {
    CommandOutput {
        end: CommandEnd::Exited { status: 0 },
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
        duration_ms: 0,
        leftovers: 0,
        survivors: 0,
        stopped: false,
    }
}

#[async_trait]
impl CommandHost for Instantly {
    async fn was_begun(&self, _: &CommandKey) -> bool {
        false
    }
    async fn run(
        &self,
        _: CommandOrder,
        _: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        Ok(CommandRun::Ended(nothing()))
    }
    async fn is_alive(&self, _: &CommandKey) -> bool {
        false
    }
    async fn watch(&self, _: &CommandKey) -> TaskReport {
        TaskReport::Ended(nothing())
    }
    async fn stop(&self, _: &CommandKey, _: u64) -> TaskReport {
        TaskReport::Ended(CommandOutput {
            stopped: true,
            ..nothing()
        })
    }
    async fn input(&self, _: &CommandKey, input: &TaskInput) -> Result<u64, InputRefused> {
        Ok(input.input.len() as u64)
    }
    async fn printed(
        &self,
        _: &CommandKey,
        _: &TaskOutput,
        _: usize,
    ) -> Result<TaskPrinted, String> {
        Ok(TaskPrinted::default())
    }
    async fn forget(&self, _: &CommandKey, _: KeptOutput) {}
    async fn sweep(&self, _: &str, _: &[String]) {}
}

#[async_trait]
impl FileHost for Instantly {
    async fn apply_patch(
        &self,
        _: CommandContext,
        _: CallId,
        _: ApplyPatch,
    ) -> Result<PatchApplied, ToolError> {
        Ok(PatchApplied::default())
    }
    async fn settle_patch(
        &self,
        _: &str,
        _: &CallId,
        _: &ApplyPatch,
    ) -> Option<Result<PatchApplied, ToolError>> {
        None
    }
    async fn forget_patch(&self, _: &str, _: &CallId) {}
}

#[async_trait]
impl HomeHost for Instantly {
    async fn prepare(&self, _: &AgentId, _: &str) -> Result<(), String> {
        Ok(())
    }
    async fn remove(&self, _: &AgentId, _: &str) -> Result<(), String> {
        Ok(())
    }
    async fn workspace(
        &self,
        _: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(agent_home))
    }
}

#[derive(Debug)]
struct WallClock(Instant);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
    async fn sleep_until(&self, at: Timestamp) {
        tokio::time::sleep(Duration::from_millis(at.millis_since(self.now()))).await;
    }
}

/// Numbers, spread over all bits: ids are unique and look like ids.
#[derive(Debug, Default)]
struct Counter(Arc<AtomicU64>);

impl EntropySource for Counter {
    fn source(&self) -> Box<dyn Entropy + Send> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        let n = u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1;
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }
}

/// Ports without a world behind them.
pub(crate) fn ports(model: Model) -> Ports {
    Ports {
        model: Arc::new(model),
        command: Arc::new(Instantly),
        file: Arc::new(Instantly),
        home: Arc::new(Instantly),
        clock: Arc::new(WallClock(Instant::now())),
        entropy: Arc::new(Counter::default()),
    }
}

/// Starts a host on a database file.
pub(crate) async fn host(db_path: &Path, model: Model) -> Result<Host, Box<dyn std::error::Error>> {
    let chain = ModelChain::only(ModelRef::parse("bench/instant")?);
    host_with(db_path, ports(model), chain).await
}

/// Starts a host with these ports, whose agents ask these models.
pub(crate) async fn host_with(
    db_path: &Path,
    ports: Ports,
    models: ModelChain,
) -> Result<Host, Box<dyn std::error::Error>> {
    let config = HostConfig {
        db_path: db_path.to_owned(),
        agents_dir: "/agents".to_owned(),
        default_agent: AgentId::parse("main")?,
        models,
        conduct: holon_engine::Conduct::default(),
    };
    Ok(Host::start(config, ports, Db::open(db_path)?).await?)
}

/// Makes an agent and waits until it may run.
pub(crate) async fn agent(host: &Host, name: &str) -> Result<AgentId, Box<dyn std::error::Error>> {
    let agent_id = AgentId::parse(name)?;
    let mut news = host.reads().subscribe();
    let request = CreateAgent {
        agent_id: agent_id.clone(),
        workspace: WorkspaceChoice::default(),
        model: None,
    };
    host.acts().create_agent(request).await?;
    loop {
        let status = host.reads().status(&agent_id).await?;
        if status.agent.lifecycle == holon_domain::agent::Lifecycle::Runnable {
            return Ok(agent_id);
        }
        tokio::select! {
            _ = news.recv() => {}
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
}

/// A short operator prompt.
pub(crate) fn prompt() -> Ingress {
    Ingress::operator_prompt(
        "say hello to the operator".to_owned(),
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )
}
