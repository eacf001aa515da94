//! Ports that do almost nothing, for tests of the shell itself. The fakes of `testkit` implement the traits of another
//! build of this crate, so a unit test cannot use them.

use crate::ports::{
    AliveCommand, Clock, CommandContext, CommandHost, CommandKey, CommandOrder, CommandProbe,
    CommandRun, EntropySource, FileHost, GuidanceHost, HomeHost, InputRefusal, ModelClient,
    OutputRetention, PlanHost, WorkspaceHost, WorktreeUsers,
};
use crate::request::{HomeChoice, WorkspaceChoice};
use async_trait::async_trait;
use holon_domain::command::{
    CapturedStream, CommandFailure, FoundRunning, RunningCommand, TaskStreams,
};
use holon_domain::delta::TextSink;
use holon_domain::file_change::PatchResult;
use holon_domain::guidance::{
    Guidance, GuidanceRoots, InstalledSkill, SkillFault, SkillInstallation, SkillSource,
    SkillSourceKind,
};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ModelPolicy, PolicySource, ReasoningPolicy};
use holon_domain::task::TaskReport;
use holon_domain::token_ratio::TokenRatio;
use holon_domain::tool::ToolError;
use holon_domain::work_item::PlanArtifact;
use holon_domain::workspace::{
    AttachedWorkspace, CleanVerdict, SelectedWorkspace, WorkspaceEntry, WorkspaceErrorKind,
    WorkspaceFailure, WorkspaceOrder, WorktreeReport,
};
use holon_domain::{AgentId, CallId, Entropy, Timestamp, WorkItemId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// A model request and the sender for its reply.
type PendingRequest = (ModelRequest, oneshot::Sender<ModelReply>);

/// Ports that do almost nothing: model requests are handed to the test, and commands run forever.
#[derive(Debug)]
pub(in crate::shell) struct QuietPorts {
    asked: mpsc::UnboundedSender<PendingRequest>,
    numbers: AtomicU64,
    /// Number of watchers of each command, by the command's name.
    followed: watch::Sender<BTreeMap<String, usize>>,
}

impl QuietPorts {
    pub(in crate::shell) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<PendingRequest>) {
        let (asked, requests) = mpsc::unbounded_channel();
        let quiet = Self {
            asked,
            numbers: AtomicU64::new(1),
            followed: watch::Sender::default(),
        };
        (Arc::new(quiet), requests)
    }

    fn follow(&self, key: &CommandKey) -> Watcher<'_> {
        let name = key.name.clone();
        self.followed
            .send_modify(|counts| *counts.entry(name.clone()).or_default() += 1);
        Watcher { quiet: self, name }
    }

    /// Returns once exactly these commands are watched, each by one watcher.
    pub(super) async fn follows(&self, names: &[&str]) {
        let wanted: BTreeMap<String, usize> =
            names.iter().map(|name| ((*name).to_owned(), 1)).collect();
        let mut followed = self.followed.subscribe();
        followed.wait_for(|counts| *counts == wanted).await.unwrap();
    }
}

/// A watcher of a command, counted until it is dropped.
struct Watcher<'a> {
    quiet: &'a QuietPorts,
    name: String,
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.quiet.followed.send_modify(|counts| {
            let count = counts.get_mut(&self.name).expect("it was counted");
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.name);
            }
        });
    }
}

#[async_trait]
impl ModelClient for QuietPorts {
    async fn call(
        &self,
        request: &ModelRequest,
        _text: TextSink<'_>,
        _cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let (answer, waiting) = oneshot::channel();
        drop(self.asked.send((request.clone(), answer)));
        match waiting.await {
            Ok(reply) => Ok(reply),
            Err(_) => std::future::pending().await,
        }
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: 4_096,
            source: PolicySource::UnknownFallback,
            output_source: PolicySource::UnknownFallback,
            freeform_tools: false,
            image_input: false,
            reasoning: ReasoningPolicy::NONE,
            token_ratio: TokenRatio::ONE,
        }
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }
}

#[async_trait]
impl CommandHost for QuietPorts {
    async fn was_begun(&self, _: &CommandKey) -> bool {
        false
    }

    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        if order.command.yield_time_ms == 0 {
            return Ok(CommandRun::Running(RunningCommand {
                workdir: order.context.workspace.cwd,
                started_at: self.now(),
                found: FoundRunning::AfterWait,
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
            }));
        }
        let _following = self.follow(&order.key);
        cancel.cancelled().await;
        Err(CommandFailure::Cancelled)
    }

    async fn probe(&self, _: &CommandKey) -> CommandProbe {
        CommandProbe::Running(AliveCommand {
            started_at: Timestamp::from_millis(0),
            output_path: None,
            stderr_path: None,
        })
    }

    async fn watch(&self, key: &CommandKey) -> TaskReport {
        let _following = self.follow(key);
        std::future::pending().await
    }

    async fn stop(&self, key: &CommandKey, _: u64) -> TaskReport {
        let _following = self.follow(key);
        std::future::pending().await
    }

    async fn input(&self, _: &CommandKey, _: &TaskInput) -> Result<u64, InputRefusal> {
        std::future::pending().await
    }

    async fn printed(
        &self,
        _: &CommandKey,
        _: &TaskOutput,
        _: usize,
    ) -> Result<TaskStreams, String> {
        Ok(TaskStreams::default())
    }

    async fn forget(&self, _: &CommandKey, _: OutputRetention) {}

    async fn sweep(&self, _: &str, _: &[String]) {}
}

#[async_trait]
impl FileHost for QuietPorts {
    async fn apply_patch(
        &self,
        _: CommandContext,
        _: CallId,
        _: String,
    ) -> Result<PatchResult, ToolError> {
        Ok(PatchResult::default())
    }
    async fn settle_patch(
        &self,
        _: &str,
        _: &CallId,
        _: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        None
    }
    async fn forget_patch(&self, _: &str, _: &CallId) {}
    async fn finish_patch(&self, _: &str, _: &CallId) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl PlanHost for QuietPorts {
    async fn write(
        &self,
        _: &str,
        _: &WorkItemId,
        text: String,
        _: CancellationToken,
    ) -> Result<PlanArtifact, String> {
        Ok(PlanArtifact::of_content(
            text.as_bytes(),
            Timestamp::default(),
        ))
    }
    async fn read(&self, _: &str, _: &WorkItemId) -> Option<PlanArtifact> {
        None
    }
    async fn list(&self, _: &str) -> Result<Vec<WorkItemId>, String> {
        Ok(Vec::new())
    }
    async fn remove(&self, _: &str, _: &WorkItemId) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl GuidanceHost for QuietPorts {
    fn user_home(&self) -> Option<std::path::PathBuf> {
        None
    }

    async fn read(&self, _roots: GuidanceRoots) -> Guidance {
        Guidance::default()
    }

    async fn installed_skills(&self, _agent_home: &str) -> Vec<InstalledSkill> {
        Vec::new()
    }

    async fn install_skill(
        &self,
        _agent_home: &str,
        _source: SkillSource,
    ) -> Result<SkillInstallation, SkillFault> {
        let message = "no skill can be installed here".to_owned();
        Err(SkillFault::Refused { message })
    }

    async fn uninstall_skill(
        &self,
        _agent_home: &str,
        name: &str,
    ) -> Result<Option<SkillSourceKind>, SkillFault> {
        let message = format!("skill {name:?} is not installed");
        Err(SkillFault::NotInstalled { message })
    }

    async fn skill_change(&self, _entrypoint: &str) -> Option<String> {
        None
    }
}

#[async_trait]
impl HomeHost for QuietPorts {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn seed(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn make_from_template(&self, _home: &str, _choice: &HomeChoice) -> Result<(), String> {
        Ok(())
    }
    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn workspace(
        &self,
        _choice: &WorkspaceChoice,
        home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(home))
    }
}

#[async_trait]
impl WorkspaceHost for QuietPorts {
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        Err(unknown_workspace(&order))
    }
    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure> {
        Err(unknown_workspace(&order))
    }
    async fn clean(&self, _: &dyn WorktreeUsers, _: bool) -> Result<WorktreeReport, String> {
        Ok(WorktreeReport::default())
    }
    async fn clean_one(&self, _: &dyn WorktreeUsers, _: &str) -> Result<CleanVerdict, String> {
        Ok(CleanVerdict::Removed { rescue_ref: None })
    }
    async fn changed_files(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

fn unknown_workspace(order: &WorkspaceOrder) -> WorkspaceFailure {
    let named = format!("{:?} is not there", order.request.selector);
    WorkspaceFailure::new(WorkspaceErrorKind::InvalidPath, named)
}

#[async_trait]
impl Clock for QuietPorts {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
    async fn sleep_until(&self, _elapsed: Duration) {
        std::future::pending().await
    }
}

#[derive(Debug)]
pub(super) struct Counter(u128);

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

impl EntropySource for QuietPorts {
    fn source(&self) -> Box<dyn Entropy + Send> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Box::new(Counter(u128::from(number) << 40))
    }
}
